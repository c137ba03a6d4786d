"""Show one of the course's drawings in a notebook."""

from typing import Any

from attention_src.figures.drawings import drawing


def draw(name: str, **state: Any) -> None:
    """Show a drawing as the output of a notebook's cell.

    A notebook shows the wide arrangement; a page shows the narrow one where there is less room.

    Args:
        name: one of drawings.DRAWINGS, such as "equation"
        **state: what the drawing is a function of, such as part="words" for "strip"; without it,
            the state that the drawing shows by itself
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
