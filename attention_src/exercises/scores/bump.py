"""The check of weights written by hand: an additive score that picks one number of nine."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.designing import DesignCheck

NUMBERS = np.arange(-4.0, 5.0)  # of the queries and of the keys
LEAD, MOST, FEWEST = 0.1, 4, 2
_INPUTS = np.stack([np.ones(9), NUMBERS], axis=1)  # [9, 2]: the constant 1, then the number


def scores(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The additive scores of the nine queries and the nine keys.

    Args:
        a, b: [2, d_a]
        w: [d_a]
    Returns: [9, 9]
    """
    return np.asarray(np.tanh((_INPUTS @ a)[:, None] + (_INPUTS @ b)[None]) @ w)


def check_bump(f: Any) -> Result:
    """Check f() -> a [2, d_a], b [2, d_a], w [d_a]: each number prefers itself, by 0.1.

    Args:
        f: the learner's function, without arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return _BUMP.run(f)


def _parts(answer: Any) -> list[np.ndarray]:
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise ValueError("expected three arrays: a, b and w")
    return [to_array(part, "an array of numbers").astype(np.float64) for part in answer]


def _leads(s: np.ndarray) -> np.ndarray:
    """By how much each query's own key leads its best rival, [9]."""
    return np.diag(s) - np.where(np.eye(9, dtype=bool), -np.inf, s).max(axis=1)


def _praise(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> str:
    lead = _leads(scores(a, b, w)).min()
    fewer = " Can you do it with fewer?" if len(w) > FEWEST else ""
    word = "unit" if len(w) == 1 else "units"
    return f", with {len(w)} hidden {word} and a lead of {lead:.2f}.{fewer}"


def _problem(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> str:
    """The first thing that is wrong with the three arrays; "" if nothing is."""
    if w.ndim != 1 or not 1 <= len(w) <= MOST:
        return f"  w should have shape [d_a], with d_a from 1 to {MOST}; yours has {list(w.shape)}."
    if a.shape == b.shape != (2, len(w)) and a.shape[:1] == (2,) and a.ndim == 2:
        return (
            f"  w should have one number for each column of a and b, which have shape "
            f"{list(a.shape)}; it has {len(w)}."
        )
    for name, x in (("a", a), ("b", b)):
        if x.shape != (2, len(w)):
            return f"  {name} should have shape [2, {len(w)}]; yours has {list(x.shape)}."
    if not all(np.isfinite(part).all() for part in (a, b, w)):
        return "  All numbers should be finite."
    s = scores(a, b, w)
    lead = _leads(s)
    if (lead >= LEAD).all():
        return ""
    i = int(np.argmax(lead < LEAD))
    rival = int(np.where(np.arange(9) == i, -np.inf, s[i]).argmax())
    return (
        f"  Query {NUMBERS[i]:.0f} gives its own key {s[i, i]:.3f} and key {NUMBERS[rival]:.0f} "
        f"{s[i, rival]:.3f}; its own should lead by {LEAD}."
    )


_BUMP = DesignCheck("bump", _parts, _problem, _praise)
