"""The chapters' drawings, a function each; `draw(name)` shows one.

To add one, write drawings/<name>.py with a function of that name that returns a `Drawing`, and put
its name into DRAWINGS. A drawing is imported when it is drawn: so a chapter depends on those that
it shows, and not on all.
"""

import inspect
from importlib import import_module
from typing import Any

from attention_src.figures.drawing import Drawing

DRAWINGS = (
    "cache",
    "equation",
    "groups",
    "look_back",
    "masks",
    "multihead",
    "one_vector",
    "pages",
    "projections",
    "score_area",
    "score_table",
    "sizes",
    "strip",
    "turned_keys",
)


def drawing(name: str, **state: Any) -> Drawing:
    """A drawing of the course.

    Args:
        name: one of DRAWINGS
        **state: what the drawing is a function of; without it, what the drawing shows by itself
    Returns: both arrangements and the alt text
    Raises:
        ValueError: there is no drawing of that name, or no such state
    """
    if name not in DRAWINGS:
        raise ValueError(f"name={name!r}: it should be one of {', '.join(map(repr, DRAWINGS))}")
    function = getattr(import_module(f"{__name__}.{name}"), name)
    takes = list(inspect.signature(function).parameters)
    for key, value in state.items():
        if key not in takes:
            known = ", ".join(takes) or "nothing"
            raise ValueError(f"{key}={value!r}: the drawing {name!r} is a function of {known}")
    made: Drawing = function(**state)
    return made
