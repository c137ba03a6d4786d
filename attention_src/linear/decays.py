"""What is left of a state after some gates: products of gates, from their logarithms.

Every exponent here is a sum of log gates, which are at most 0, so nothing overflows. None is the
difference of two such sums: beside a gate near 0 that difference would have no correct digits.
"""

import numpy as np
from jaxtyping import Float


def from_start(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch n c"]:
    """What position i still sees of the state before the first: Π_{t=0..i} g_t."""
    return np.exp(np.cumsum(log_gates, axis=-2))


def to_end(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch n c"]:
    """What the state after the last position still holds of position j: Π_{t=j+1..n−1} g_t."""
    later = np.roll(log_gates, -1, axis=-2)  # each position's successor
    later[..., -1:, :] = 0  # the last has none
    return np.exp(np.flip(np.cumsum(np.flip(later, axis=-2), axis=-2), axis=-2))


def between(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch n n c"]:
    """What position i still sees of position j: Π_{t=j+1..i} g_t for j <= i, and 0 for j > i."""
    i = np.arange(log_gates.shape[-2])[:, None, None]
    j = i.swapaxes(0, 1)
    gate_i = np.where(j < i, log_gates[..., :, None, :], 0)  # [..., n, n, c]
    return np.where(j <= i, np.exp(np.cumsum(gate_i, axis=-3)), 0)


def of_all(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch c"]:
    """What the state after the last position holds of the state before the first: Π_t g_t."""
    return np.exp(log_gates.sum(axis=-2))
