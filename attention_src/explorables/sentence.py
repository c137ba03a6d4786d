"""The explorable "sentence": a model's weights over a sentence, as data and as a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention_src.explorables.drawing import (
    INK,
    KEYS,
    QUERIES,
    WEIGHTS,
    Explorable,
    rect,
    svg,
    text,
)

MOST_TOKENS = 12  # more do not fit into one picture
ROW = 26


def make(tokens: Sequence[str], heads: Mapping[str, Any]) -> Explorable:
    """A sentence and the weights that some heads give its words.

    Args:
        tokens: n words
        heads: maps a head's name to its weights [n, n], one row for each query
    Returns: what the page is made from
    Raises:
        ValueError: too few or too many tokens, no head, or weights that do not fit the tokens
    """
    n = len(tokens)
    if not 1 <= n <= MOST_TOKENS:
        raise ValueError(f"tokens holds {n} words; it should hold 1 to {MOST_TOKENS}")
    if not heads:
        raise ValueError("heads is empty; it should map at least one name to weights [n, n]")
    weights = {name: _check_weights(name, rows, n) for name, rows in heads.items()}
    query = (n - 1) // 2  # as sentence.js starts
    head, rows = next(iter(weights.items()))
    numbers = ", ".join(f"{t} {p:.2f}" for t, p in zip(tokens, rows[query], strict=True))
    return Explorable(
        {"tokens": list(tokens), "heads": weights},
        _picture(tokens, rows[query], query),
        (404, 4 + ROW * n),
        f"Weights of one head ({head}) from “{tokens[query]}” to each word, as bars: {numbers}.",
        "An interactive figure: pick a word, and see where one head of a language model looks "
        "from there. It needs JavaScript; here is its first state.",
    )


def _check_weights(name: str, rows: Any, n: int) -> list[list[float]]:
    """The weights of one head as lists, rounded to four digits.

    Args:
        name: of the head
        rows: [n, n]
        n: number of tokens
    Raises:
        ValueError: another shape, or a number that is not between 0 and 1
    """
    p = np.asarray(rows, dtype=np.float64)
    if p.shape != (n, n):
        raise ValueError(f"heads[{name!r}] has shape {list(p.shape)}; {n} tokens need [{n}, {n}]")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"heads[{name!r}] should hold weights, each between 0 and 1")
    # Two digits are shown. Those after the fourth may differ between machines.
    return np.round(p, 4).tolist()


def _picture(tokens: Sequence[str], weights: list[float], query: int) -> str:
    """A bar for each word; the query is blue."""
    parts = []
    for j, (token, weight) in enumerate(zip(tokens, weights, strict=True)):
        y = 4 + ROW * j
        parts += [
            text(0, y + 15, token, QUERIES if j == query else KEYS),
            rect(90, y, 260 * weight, 18, WEIGHTS),
            text(400, y + 15, f"{weight:.2f}", INK, "end"),
        ]
    return svg((404, 4 + ROW * len(tokens)), parts)
