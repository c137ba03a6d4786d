"""What is computed at each step, with a cache and without."""

from attention_src.figures.drawing import (
    BODY,
    LIT,
    NAME,
    PALE,
    Drawing,
    Part,
    Scene,
    both,
    cells,
    column,
    grid,
    label,
    note,
    row,
    stand,
    tensor,
)
from attention_src.figures.drawing.sentence import TOKENS

SHOWN = 3  # steps that are shown at once


def cache(step: int = len(TOKENS)) -> Drawing:
    """The rows of q, k and v that are computed at a step and at the two before it.

    Caption: Full colour is computed in this step, pale was kept. With a cache a step computes one
    row of each table, and old queries are not needed; without one, every row again.

    Args:
        step: tokens so far, 1 to 5
    Returns: the drawing
    Raises:
        ValueError: step is not such a number
    """
    if step not in range(1, len(TOKENS) + 1):
        raise ValueError(f"step={step!r}: it should be 1 to {len(TOKENS)}")
    alt = (
        f"At token {step} a model with a cache computes one row each of q, k and v and keeps the "
        "other keys and values; "
        f"without a cache it computes {step} of {step} rows."
    )
    return both(lambda narrow: _arrange(narrow, step), alt)


def _arrange(narrow: bool, step: int) -> Scene:
    steps = range(max(1, step - SHOWN + 1), step + 1)
    lanes = [
        _lane("with a cache: rows computed in a step", steps, True, narrow),
        _lane("without a cache", steps, False, narrow),
    ]
    return Scene(column(*lanes, gap=26, align="left"))


def _lane(said: str, steps: range, keeps: bool, narrow: bool) -> Part:
    """The steps of one of the two ways, and how many rows each computes."""
    counts = [_count(1 if keeps else n) for n in steps]
    tables = [_step(n, keeps, narrow) for n in steps]
    shown = grid([tables, counts], gap=(16 if narrow else 43, 8))
    return column(label(said, BODY, bold=True, align="start"), shown, gap=6, align="left")


def _count(rows: int) -> Part:
    return label(f"{rows} each", NAME, bold=True)


def _step(n: int, keeps: bool, narrow: bool) -> Part:
    """The n tokens so far; what this step computes has the full colour."""

    def table(hue: str) -> Part:
        old = LIT if not keeps else None if hue == "q" else PALE  # earlier queries are not needed
        shade = lambda i, j: LIT if i == n - 1 else old  # noqa: E731
        return cells(n, 2 if narrow else 3, hue, 14 if narrow else 15, shade=shade)

    parts = [tensor(f"${hue}$", table(hue), hue=hue, gap=2) for hue in "qkv"]
    return stand(row(*([] if narrow else [_names(n)]), *parts, gap=8), 0)


def _names(n: int) -> Part:
    said = (
        note(TOKENS[t], "ink" if t == n - 1 else "soft", bold=t == n - 1, align="end")
        for t in range(n)
    )
    return column(*said, gap=0, pitch=15, align="right")
