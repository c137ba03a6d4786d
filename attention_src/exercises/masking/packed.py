"""The check of the causal mask of packed documents. True means "may attend"."""

import math
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.exercises.masking.window import ADDITIVE


def _packed_causal_mask(document_ids: np.ndarray) -> np.ndarray:
    """Causal within each document."""
    ids = np.asarray(document_ids)
    n = len(ids)
    return (ids[:, None] == ids[None, :]) & np.tri(n, dtype=bool)


def _tri(ids: np.ndarray) -> np.ndarray:
    return np.tri(len(ids), dtype=bool)


def _pieces(ids: np.ndarray) -> np.ndarray:
    """The number of its piece, for each token; a new one begins where the id changes."""
    return np.cumsum(np.append(0, ids[1:] != ids[:-1]))


# Apart, though equal modulo 1000, 2^16, 997, 10^9 + 7 and so on, or to Python's hash.
_FAR = (math.factorial(20), 997 * 1009 * 10007 * 65537, 10**9 + 7, 2**61 - 1)


def _draw(rng: np.random.Generator) -> tuple:
    """Documents in one piece or in many, with ids of every kind that an int64 holds."""
    n = int(rng.integers(1, 10) if rng.random() < 0.9 else rng.integers(65, 150))
    which = rng.integers(0, max(1, n // int(rng.integers(1, 4))), n)
    if rng.random() < 0.5:
        which = rng.permutation(n)[np.sort(which)]  # in one piece each, names in no order
    which = which.astype(np.int64)  # in the page NumPy's own integers have 32 bits
    step = int(rng.choice([1, 1, 10, 256, 2**32, *_FAR]))
    if step in _FAR:
        return (-(2**62) + step * (which % 4),)
    first = int(rng.choice([0, -step, -(n // 2) * step, 2**61]))
    if first + step * n > 5000:  # a table with a row for each id up to this one: too large by far
        first = 2**61
    return (first + step * which,)


PACKED_CAUSAL_MASK = Check(
    "packed_causal_mask",
    reference=_packed_causal_mask,
    cases=[
        Case("two documents", (np.array([0, 0, 0, 1, 1]),)),
        Case("three documents, ids in no order", (np.array([7, 7, -2, 5, 5, 5]),)),
        Case("two documents that take turns", (np.array([4, 4, 9, 4, 9, 9]),)),
        Case("one document", (np.array([4, 4, 4]),)),
        Case("every token its own document", (np.array([3, 1, 2, 0]),)),
        Case(
            "ids that float64 cannot tell apart", (np.array([2**60, 2**60 + 1, 2**60, -(2**60)]),)
        ),
        Case("ids 2^31 - 1 apart", (np.array([5, 5 + 2**31 - 1, 5]),)),
        Case("one token", (np.array([6]),)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "reversed polarity",
            lambda ids: ~_packed_causal_mask(ids),
            "True and False are swapped. Here True means: may attend.",
        ),
        Mistake(
            "same document, not causal",
            lambda ids: ids[:, None] == ids[None, :],
            "You compare the ids, but a query still sees later tokens of its own document. "
            "Compose with the causal mask.",
        ),
        Mistake(
            "causal, documents ignored",
            _tri,
            "You built the causal mask, but a query still reads the documents packed before "
            "its own. Compare the ids as well.",
        ),
        Mistake(
            "upside down",
            lambda ids: _packed_causal_mask(ids).T,
            "Rows are queries and columns are keys. Yours is transposed: each query sees the "
            "future and not the past.",
        ),
        Mistake(
            "own key hidden",
            lambda ids: _packed_causal_mask(ids) & ~np.eye(len(ids), dtype=bool),
            "You hid the diagonal, off by one: a query may see its own key, so j <= i and not "
            "j < i. The first token of a document would see nothing.",
        ),
        Mistake(
            "or instead of and",
            lambda ids: (ids[:, None] == ids[None, :]) | _tri(ids),
            "You joined the two rules with OR. A key must pass both: use &.",
        ),
        Mistake(
            "ids ordered",
            lambda ids: (ids[:, None] >= ids[None, :]) & _tri(ids),
            "You compare ids with >=. Earlier documents then stay visible; ids are names, only "
            "== means anything.",
        ),
        Mistake(
            "pieces, not documents",
            lambda ids: _packed_causal_mask(_pieces(ids)),
            "You start a new document wherever the id changes. A document that comes back is the "
            "same one: compare the ids themselves.",
        ),
        Mistake(
            "additive mask",
            lambda ids: np.where(_packed_causal_mask(ids), 0.0, -np.inf),
            ADDITIVE,
        ),
    ],
    hints=[
        "Two rules, and a key must pass both. What are they?",
        "ids[:, None] == ids[None, :] compares each query's document with each key's.",
        "np.tri(n, dtype=bool) is the causal mask. Join the two with &.",
    ],
)


def check_packed_causal_mask(f: Any) -> Result:
    """Check f(document_ids [n]) -> bool [n, n]: causal within each document.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return PACKED_CAUSAL_MASK.run(f)
