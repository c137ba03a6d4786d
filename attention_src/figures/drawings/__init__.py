"""The chapters' drawings, a function each; `draw(name)` shows one.

To add one, write drawings/<name>.py with a function of that name that returns a `Drawing`, and give
it a line in DRAWINGS.
"""

import inspect
from collections.abc import Callable
from typing import Any

from attention_src.figures.drawing import Drawing
from attention_src.figures.drawings.cache import cache
from attention_src.figures.drawings.equation import equation
from attention_src.figures.drawings.groups import groups
from attention_src.figures.drawings.layer import layer
from attention_src.figures.drawings.multihead import multihead
from attention_src.figures.drawings.pages import pages
from attention_src.figures.drawings.score_area import score_area
from attention_src.figures.drawings.sizes import sizes
from attention_src.figures.drawings.spine import spine
from attention_src.figures.drawings.split_heads import split_heads
from attention_src.figures.drawings.strip import strip
from attention_src.figures.drawings.turned_keys import turned_keys

DRAWINGS: dict[str, Callable[..., Drawing]] = {
    "cache": cache,
    "equation": equation,
    "groups": groups,
    "layer": layer,
    "multihead": multihead,
    "pages": pages,
    "score_area": score_area,
    "sizes": sizes,
    "spine": spine,
    "split_heads": split_heads,
    "strip": strip,
    "turned_keys": turned_keys,
}


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
    takes = list(inspect.signature(DRAWINGS[name]).parameters)
    for key, value in state.items():
        if key not in takes:
            known = ", ".join(takes) or "nothing"
            raise ValueError(f"{key}={value!r}: the drawing {name!r} is a function of {known}")
    return DRAWINGS[name](**state)
