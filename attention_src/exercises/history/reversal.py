"""The check of scores written by hand that read a word backwards, whatever its length."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.messages import report
from attention_src.exercises.engine.running import attempt

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
    if not callable(f):
        raise ValueError(
            f"f is {type(f).__name__}, it should be a function: pass its name without calling it, "
            "as in check_reversal(my_reversal)"
        )
    for n in LENGTHS:
        outcome = attempt(f, (n,), lambda answer: [to_array(answer, "scores [n, n]")])
        if outcome.nothing:
            return report("not started", ["reversal: not started. Fill in the cell above."])
        problem = outcome.where or _problem(outcome.parts[0], n)
        if problem:
            return report("wrong", [f"reversal: wrong, for n = {n}.", f"  {problem}"])
    return report("passed", ["reversal: passed. Words of up to 1,000 letters are read backwards."])


def _problem(answer: np.ndarray, n: int) -> str:
    """The first thing that is wrong with the scores for n letters; "" if nothing is."""
    if answer.shape != (n, n):
        return f"expected shape ({n}, {n}), yours has shape {answer.shape}"
    s = answer.astype(np.float64)
    if not np.isfinite(s).all() or np.abs(s).max() > LARGEST:
        return "Scores must be finite numbers from -50 to 50."
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    here = p[np.arange(n), np.arange(n)[::-1]]
    step = int(np.argmin(here))
    if here[step] >= LEAST:
        return ""
    where = int(p[step].argmax())
    said = f"At step {step} the weight of letter {n - 1 - step} is {here[step]:.3f}"
    if where != n - 1 - step:
        return f"{said}; the largest, {p[step, where]:.3f}, is that of letter {where}."
    others = p[step].sum() - here[step]
    return f"{said}. The {n - 1} other letters share {others:.3f}: make your score larger."
