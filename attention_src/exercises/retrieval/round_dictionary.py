"""The check of an exact dictionary in two dimensions: any keys and any temperature may do."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.designing import DesignCheck

SIZES = range(1, 101)
ALLOWED = 1e-6


def check_round_dictionary(f: Any) -> Result:
    """Check f(n) -> keys [n, 2] of length 1 and a temperature: each key finds itself alone.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return _ROUND_DICTIONARY.run(f)


def _read(answer: Any) -> list[np.ndarray]:
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise ValueError("Your function should return two things: keys and temperature.")
    return [to_array(answer[0], "keys"), to_array(answer[1], "temperature")]


def _problem(n: int, keys: np.ndarray, temperature: np.ndarray) -> str:
    """The first thing that is wrong; "" if nothing is."""
    if keys.shape != (n, 2):
        return f"  expected keys of shape ({n}, 2)\n  yours have shape {keys.shape}"
    if temperature.shape != () or not 0 < temperature < np.inf:
        return f"  The temperature should be one positive number; yours is {temperature}."
    keys = keys.astype(np.float64)
    lengths = np.linalg.norm(keys, axis=1)
    off = np.flatnonzero(~(np.abs(lengths - 1) < 1e-6))
    if len(off):
        return f"  Key {off[0]} has length {lengths[off[0]]:.6g}; each should have length 1."
    s = keys @ keys.T / float(temperature)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    lost = 1 - np.diag(e / e.sum(axis=1, keepdims=True))
    if not np.isfinite(lost).all():
        return "  The scores overflow: this temperature is too small to compute with."
    worst = int(lost.argmax())
    if lost[worst] > ALLOWED:
        return (
            f"  The query of key {worst} gives other keys {lost[worst]:.2g} of the weight; "
            f"{ALLOWED:g} is allowed. Are the keys apart, and is it cold enough?"
        )
    return ""


def _praise(keys: np.ndarray, temperature: np.ndarray) -> str:
    return f", up to n = {len(keys)}. Two dimensions hold them all; the price is the temperature."


_ROUND_DICTIONARY = DesignCheck("round_dictionary", _read, _problem, _praise, SIZES)
