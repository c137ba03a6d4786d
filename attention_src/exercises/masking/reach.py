"""The check of a mask whose two layers see the whole past: an open exercise, so any mask may do."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.designing import DesignCheck

N_TOKENS = 16
ENOUGH, FEWEST = 7, 5  # 4 keys serve 4 + 3 * 3 = 13 tokens at most


def check_few_keys(f: Any) -> Result:
    """Check f() -> bool [16, 16]: causal, few keys a query, the whole past in two layers.

    Args:
        f: the learner's function, without arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return _FEW_KEYS.run(f)


def _read(answer: Any) -> list[np.ndarray]:
    return [to_array(answer, "a boolean mask [16, 16]")]


def _problem(mask: np.ndarray) -> str:
    """The first thing that is wrong with a mask; "" if nothing is."""
    if mask.shape != (N_TOKENS, N_TOKENS):
        return f"  expected shape (16, 16)\n  yours    shape {mask.shape}"
    if mask.dtype != bool:
        return f"  expected dtype bool\n  yours    dtype {mask.dtype}"
    ahead = np.argwhere(np.triu(mask, 1))
    if len(ahead):
        i, j = ahead[0]
        return f"  Query {i} sees key {j}, which lies ahead: the mask is not causal."
    missing = np.argwhere(np.tri(N_TOKENS, dtype=bool) & ~(mask @ mask))
    if len(missing):
        i, j = missing[0]
        seen = ", ".join(map(str, np.flatnonzero(mask[i])))
        if not seen:
            return f"  Query {i} sees no key at all. It may see itself, and should."
        return (
            f"  Two layers do not connect token {i} to token {j}: query {i} sees {seen}, and none "
            f"of those sees {j}."
        )
    counts = mask.sum(axis=1)
    if counts.max() > ENOUGH:
        return (
            f"  Two layers see the whole past, but query {counts.argmax()} sees {counts.max()} "
            f"keys; {ENOUGH} are allowed."
        )
    return ""


def _praise(mask: np.ndarray) -> str:
    keys = int(mask.sum(axis=1).max())
    if keys == FEWEST:
        praise = "These are the fewest there are: four keys serve 13 tokens at most."
    else:
        praise = f"{FEWEST} are possible. Who sees more than they need?"
    return f", with at most {keys} keys a query. {praise}"


_FEW_KEYS = DesignCheck("few_keys", _read, _problem, _praise)
