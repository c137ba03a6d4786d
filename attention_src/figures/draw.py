"""Show one of the course's drawings in a notebook."""

import inspect
from typing import Any

from attention_src.figures.drawing import Drawing
from attention_src.figures.drawings import DRAWINGS


def draw(name: str, **state: Any) -> None:
    """Show a drawing as the output of a notebook's cell.

    A notebook shows the wide arrangement; a page shows the narrow one, too, where it is narrow.

    Args:
        name: one of drawings.DRAWINGS, such as "equation"
        **state: what the drawing is a function of, such as step=3 for "cache"; without it, the
            state that the drawing shows by itself
    Raises:
        ValueError: there is no drawing of that name, or no such state
    """
    from IPython.display import display

    made = drawing(name, **state)
    display(
        {"image/svg+xml": made.wide, "text/plain": made.alt},
        metadata={"image/svg+xml": {"narrow": made.narrow}},
        raw=True,
    )


def drawing(name: str, **state: Any) -> Drawing:
    """A drawing of the course.

    Args:
        name, state: as for `draw`
    Returns: both arrangements and the alt text
    Raises:
        ValueError: there is no drawing of that name, or no such state
    """
    if name not in DRAWINGS:
        raise ValueError(f"name={name!r}: it should be one of {', '.join(map(repr, DRAWINGS))}")
    takes = list(inspect.signature(DRAWINGS[name]).parameters)
    if unknown := [key for key in state if key not in takes]:
        known = f"takes {', '.join(takes)}" if takes else "takes no state"
        raise ValueError(f"{unknown[0]}={state[unknown[0]]!r}: the drawing {name!r} {known}")
    return DRAWINGS[name](**state)
