"""Three models with one mistake each, to be diagnosed. Whoever reads on knows the answers."""

from collections.abc import Callable

import numpy as np

from attention_src.attention.reference import attention
from attention_src.rope.reference import rotate
from attention_src.shapes import check_impl

Array = np.ndarray


def _neighbours(x: Array, positions: Array, base: float) -> Array:
    """Rotate with interleaved pairs where half-split ones are meant."""
    halves = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    pair = np.split(rotate(halves, positions, base=base), 2, axis=-1)
    return np.stack(pair, axis=-1).reshape(x.shape)


def _other_base(x: Array, positions: Array, base: float) -> Array:
    """Rotate with base 10,000, whatever is asked for."""
    return rotate(x, positions, base=10_000.0)


def _blind_to_itself(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Grouped attention in which a token does not see itself, but for the first."""
    n_q, n_k = q.shape[-2], k.shape[-2]
    itself = np.eye(n_q, n_k, n_k - n_q, dtype=bool)
    itself[:, 0] = False
    copies = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    return attention(q, *copies, mask=mask & ~itself)


# The number of each one's mistake in the exercise, and the parts that make it.
PATIENTS: dict[str, tuple[int, dict[str, Callable]]] = {
    "a": (2, {"rotate": _neighbours}),
    "b": (1, {"grouped_attention": _blind_to_itself}),
    "c": (3, {"rotate": _other_base}),
}


def patient(name: str) -> dict[str, Callable]:
    """The parts of a model that is ill.

    Args:
        name: "a", "b" or "c"
    Returns: name -> function, for `SmolLM2`
    Raises:
        ValueError: another name
    """
    check_impl(name, tuple(PATIENTS), "name")
    return dict(PATIENTS[name][1])
