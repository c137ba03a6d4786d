"""The bytes of every drawing, as hashes. To write them anew: python tests/figures/hashes.py"""

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from attention_src.figures.drawings import DRAWINGS, drawing
from attention_src.figures.drawings.masks import ALT as SHOWN
from attention_src.figures.drawings.strip import GROUPS, STAGES

TABLE = Path(__file__).with_name("hashes.txt")
# The states of those that are functions of one.
STATES = {
    "masks": [{"show": show} for show in SHOWN],
    "strip": [{"part": part} for part in (*STAGES, *GROUPS)],
}
EVERY = [(name, state) for name in DRAWINGS for state in STATES.get(name, [{}])]


def table():
    """A line for each drawing and state: hashes of its two arrangements."""
    return "".join(_line(name, state) for name, state in EVERY)


def _line(name, state):
    made = drawing(name, **state)
    wide, narrow = (
        hashlib.sha256(svg.encode()).hexdigest()[:12] for svg in (made.wide, made.narrow)
    )
    return f"{wide} {narrow} {name} {' '.join(map(str, state.values()))}".strip() + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(table(), end="")
    else:
        TABLE.write_text(table(), "utf-8")
