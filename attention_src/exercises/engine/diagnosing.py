"""Which declared mistake explains a wrong answer: only one that does so on every case.

A named cause that is not the cause sends a learner the wrong way. So a mistake is named if

- it gives the learner's answer in the reported case, much more closely than the right answer, and
- wherever it gives finite numbers the learner gave the same ones, or no finite ones at all (there
  may be a second fault); where it fails, the learner is wrong too; and
- if the learner's answer in the reported case is NaN, inf or an exception, which have many causes:
  it does the same as the learner on every case.

What did not end in time says nothing, on a slow machine even less: it never explains anything.
Cases in float16 or float32 count only if one of them is reported: there, two ways to write the same
mistake may overflow at different scores.
"""

from collections.abc import Callable

import numpy as np

from attention_src.exercises.engine.comparing import close, tolerance
from attention_src.exercises.engine.running import Outcome


def explains(
    reported: int,
    cases: list[tuple],
    learner: list[Outcome],
    right: list[list[np.ndarray]],
    wrong: Callable[[int], Outcome],
    rtols: list[float | None],
) -> bool:
    """Whether a mistake is the cause of what the learner's function does.

    Args:
        reported: index of the case that is reported
        cases: the inputs of each case
        learner: what the learner's function did in each case
        right: the right answers
        wrong: wrong(i) is what the mistake does in case i
        rtols: for each case; None = as the dtypes allow
    Returns: True if the mistake may be named
    """
    order = [reported, *(i for i in range(len(cases)) if i != reported)]
    strict = not learner[reported].finite
    by_values = _differs(learner[reported], right[reported], cases[reported], rtols[reported])
    for i in order:
        yours, low, rtol = learner[i], tolerance(cases[i])[0] > 1e-6, rtols[i]
        if low and i != reported:
            continue
        made = wrong(i)
        if yours.timed_out or made.timed_out:  # nobody knows what the answer would have been
            return False
        if i == reported and by_values and not _differs(made, right[i], cases[i], rtol):
            return False
        same_effects = (made.changed, made.too_big) == (yours.changed, yours.too_big)
        if i == reported and not by_values and not same_effects:
            return False
        if i != reported and not strict and not (made.finite and yours.finite):
            is_right = not _differs(yours, right[i], cases[i], rtol)
            if is_right and _differs(made, right[i], cases[i], rtol):  # the mistake fails here
                return False
            continue
        if not _same(yours, made, right[i], cases[i], rtol):
            return False
    return True


def _differs(outcome: Outcome, right: list[np.ndarray], inputs: tuple, rtol: float | None) -> bool:
    """Whether an outcome is wrong by its values, not by memory or a changed input."""
    return outcome.failed or not all(
        x.shape == y.shape and close(x, y, rtol, inputs).all()
        for x, y in zip(outcome.parts, right, strict=True)
    )


def _same(
    a: Outcome, b: Outcome, right: list[np.ndarray], inputs: tuple, rtol: float | None
) -> bool:
    """Whether two functions did the same on a case, seen from the right answer."""
    if a.failed or b.failed:
        return a.failed and b.failed and a.error is b.error
    relative = max(rtol or tolerance(inputs)[0], 1e-5)
    parts = zip(a.parts, b.parts, right, strict=True)
    return all(_same_part(x, y, z, relative) for x, y, z in parts)


def _same_part(a: np.ndarray, b: np.ndarray, right: np.ndarray, relative: float) -> bool:
    if a.shape != b.shape or (a.dtype == bool) != (b.dtype == bool):
        return False
    a, b = a.astype(np.float64), b.astype(np.float64)
    # Tiny entries may differ by rounding, but the two must lie far nearer to each other than the
    # mistake lies to the right answer; with a fixed tolerance anything tiny would fit.
    miss = np.abs(b - right) if b.shape == right.shape else np.abs(b)
    slack = 1e-3 * miss[np.isfinite(miss)].max(initial=0.0)
    return bool(np.isclose(a, b, rtol=relative, atol=max(slack, 1e-12), equal_nan=True).all())
