"""The check of scores written by hand that read a word backwards, whatever its length."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.designing import DesignCheck

LENGTHS = (3, 2, 1, 4, 5, 8, 13, 50, 101, 300, 1000, 640)
# The least score that does gives 0.99 but for rounding.
LEAST, LARGEST = 0.99 - 1e-9, 50.0


def check_reversal(f: Any) -> Result:
    """Check f(n) -> scores [n, n] whose weights read n letters backwards.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return _REVERSAL.run(f)


def _read(answer: Any) -> list[np.ndarray]:
    return [to_array(answer, "scores [n, n]")]


def _problem(n: int, answer: np.ndarray) -> str:
    """The first thing that is wrong with the scores for n letters; "" if nothing is."""
    if answer.shape != (n, n):
        return f"  expected shape ({n}, {n}), yours has shape {answer.shape}"
    s = answer.astype(np.float64)
    if not np.isfinite(s).all() or np.abs(s).max() > LARGEST:
        return "  Scores must be finite numbers from -50 to 50."
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    here = p[np.arange(n), np.arange(n)[::-1]]
    step = int(np.argmin(here))
    if here[step] >= LEAST:
        return ""
    where = int(p[step].argmax())
    said = f"  At step {step} the weight of letter {n - 1 - step} is {here[step]:.3f}"
    if where != n - 1 - step:
        return f"{said}; the largest, {p[step, where]:.3f}, is that of letter {where}."
    others = p[step].sum() - here[step]
    return f"{said}. The {n - 1} other letters share {others:.3f}: make your score larger."


def _praise(answer: np.ndarray) -> str:
    return f". Words of up to {max(LENGTHS):,} letters are read backwards."


_REVERSAL = DesignCheck("reversal", _read, _problem, _praise, LENGTHS)
