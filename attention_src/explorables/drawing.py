"""What an explorable consists of, and its still."""

import re
from dataclasses import dataclass
from pathlib import Path

STILLS = Path(__file__).parent / "stills"
# Words; or several, one for each view that a script can show: it sets data-view to 0, 1, …
Line = str | tuple[str, ...]


@dataclass(frozen=True)
class Explorable:
    """The first state of an explorable.

    Args:
        given: the data that its script starts from
        alt: what the picture shows
        sentence: what the reader can do with it
        question: what it answers, above the picture; or nothing
        tries: what to try, a line each, below the picture
            (both: words, or several where the script has several views)
        state: which of its states this is, "" for the usual one; each has a still of its own
    """

    given: dict
    alt: str
    sentence: str
    question: Line = ""
    tries: tuple[Line, ...] = ()
    state: str = ""


def file_of(name: str, state: str = "") -> Path:
    """Where a still is.

    Args:
        name: of the explorable
        state: which of its states, "" for the usual one
    Returns: the file's path
    """
    return STILLS / (f"{name}-{state}.svg" if state else f"{name}.svg")


def still(name: str, state: str = "") -> tuple[str, tuple[int, int]]:
    """The still of an explorable, shown where no script runs.

    Args:
        name: of the explorable
        state: which of its states, "" for the usual one
    Returns:
        picture: SVG
        size: width and height of the picture, in pixels
    """
    picture = file_of(name, state).read_text(encoding="utf-8")
    width, height = re.findall(r' (?:width|height)="(\d+)"', picture)[:2]
    return picture, (int(width), int(height))
