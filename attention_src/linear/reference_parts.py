"""What the references of this topic share: checks, the three forms, features and decays.

A mechanism is two functions, one for a single position and one for a block of n positions:

    token(q_t, k_t, v_t, ..., state) -> o_t, state       the arguments before state: [..., d]
    block(q,   k,   v,   ..., state) -> o,   state       the arguments before state: [..., n, d]

`run` makes the parallel, the recurrent and the chunkwise form out of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.linear.checks import check_feature_map, check_query_scale
from attention_src.shapes import as_float64, check_leading, check_qkv, check_shape

Step = Callable[..., tuple[np.ndarray, np.ndarray]]


def run(
    form: str, chunk: int, token: Step, block: Step, sequences: list[np.ndarray], state: np.ndarray
) -> tuple[Float[np.ndarray, "*batch n d_v"], Float[np.ndarray, "*batch d_s d_r"]]:
    """The outputs of a causal mechanism, and its state after the last position.

    Args:
        form: "parallel": one block; "chunkwise": blocks of `chunk`; "recurrent": token by token
        chunk: positions in a block; the last block may be shorter
        token, block: the mechanism
        sequences: q, k, v and other arguments with a row for each position, all [..., n, *]
        state: [..., d_k, d_v]  the state before the first position
    Returns: o [..., n, d_v], state [..., d_k, d_v]
    """
    if form == "parallel":
        return block(*sequences, state)
    n, o = sequences[0].shape[-2], np.empty(sequences[2].shape)
    if form == "recurrent":
        for t in range(n):
            o[..., t, :], state = token(*(x[..., t, :] for x in sequences), state)
    else:
        for start in range(0, n, chunk):
            here = slice(start, start + chunk)
            o[..., here, :], state = block(*(x[..., here, :] for x in sequences), state)
    return o, state


def check_qkv_arrays(q: Any, k: Any, v: Any, scale: Any) -> tuple[list[np.ndarray], np.dtype]:
    """Validate q, k, v and scale.

    Args:
        q: [..., n_q, d_k]
        k, v: [..., n_k, d_k], [..., n_k, d_v]
        scale: a number, or None for 1
    Returns: scale * q, k and v in float64, with their leading axes broadcast; the output's dtype
    Raises:
        ValueError: not numbers, or shapes that do not fit
    """
    q, dtype = as_float64(q, "q")
    k, v = as_float64(k, "k")[0], as_float64(v, "v")[0]
    check_qkv(q, k, v)
    check_leading(q, k, v)
    q = check_query_scale(scale) * q
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    return [np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (q, k, v)], dtype


def start_state(initial_state: Any, axes: str, wanted: tuple[int, ...]) -> np.ndarray:
    """The state before the first position, in float64: zeros if initial_state is None.

    Args:
        initial_state: array or None
        axes: what its axes are called, as in "[..., d_k, d_v]"
        wanted: the sizes they should have
    Returns: the state, of shape `wanted`
    Raises:
        ValueError: not numbers, or another shape
    """
    if initial_state is None:
        return np.zeros(wanted)
    state, _ = as_float64(initial_state, "initial_state")
    check_shape(state, "initial_state", axes, wanted)
    return state


def finish(o: np.ndarray, state: np.ndarray, dtype: np.dtype, return_state: bool) -> Any:
    """What a function of this topic returns.

    Args:
        o, state: computed in float64
        dtype: of the output
        return_state: whether the caller wants the state too
    Returns: o in dtype; with return_state (o, state)
    """
    return (o.astype(dtype), state) if return_state else o.astype(dtype)


def features(
    x: Float[np.ndarray, "*batch n d"], feature_map: str | None
) -> Float[np.ndarray, "*batch n d_phi"]:
    """The features of queries or keys.

        None      φ(x) = x
        "elu"     φ(x) = elu(x) + 1:  x + 1 above 0, exp(x) below
        "relu"    φ(x) = max(x, 0)
        "taylor"  φ(x) = (1, x, x⊗x / sqrt(2)),  so that φ(q)·φ(k) = 1 + q·k + (q·k)²/2

    Args:
        x: [..., n, d]  queries or keys
        feature_map: one of the above
    Returns: [..., n, d_phi]  with d_phi = d, or 1 + d + d² for "taylor"
    Raises:
        ValueError: there is no such feature map
    Cost: O(n d_phi).
    Source: elu: Katharopoulos et al. 2020, arXiv:2006.16236, Eq. 7. taylor: Arora et al. 2024,
        arXiv:2402.18668 (they divide q·k by sqrt(d); here nothing is scaled).
    """
    check_feature_map(feature_map)
    if feature_map == "elu":
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    if feature_map == "relu":
        return np.maximum(x, 0)
    if feature_map == "taylor":
        pairs = x[..., :, None] * x[..., None, :] / np.sqrt(2)  # [..., n, d, d]
        pairs = pairs.reshape(*x.shape[:-1], x.shape[-1] ** 2)
        return np.concatenate([np.ones_like(x[..., :1]), x, pairs], axis=-1)
    return x


# The decays of a chunk: products of gates, as exp of sums of their logs. Each range is summed
# separately. Cumulative sums are never subtracted: near a zero gate that loses all digits.


def decay_from_start(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch n c"]:
    """The decay from the chunk's start to position i: Π_{t=0..i} g_t.

    Args:
        log_gates: [..., n, c]  log g of a chunk
    Returns: [..., n, c]  for each i
    """
    return np.exp(np.cumsum(log_gates, axis=-2))


def decay_to_end(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch n c"]:
    """The decay from position j to the chunk's end: Π_{t=j+1..n−1} g_t.

    Args:
        log_gates: as for `decay_from_start`
    Returns: [..., n, c]  for each j
    """
    later = np.roll(log_gates, -1, axis=-2)  # each position's successor
    later[..., -1:, :] = 0  # the last has none
    return np.exp(np.flip(np.cumsum(np.flip(later, axis=-2), axis=-2), axis=-2))


def decay_between(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch n n c"]:
    """The decay from position j to position i: Π_{t=j+1..i} g_t for j <= i, and 0 for j > i.

    Args:
        log_gates: as for `decay_from_start`
    Returns: [..., n, n, c]  for each i, j
    """
    i = np.arange(log_gates.shape[-2])[:, None, None]
    j = i.swapaxes(0, 1)
    gate_i = np.where(j < i, log_gates[..., :, None, :], 0)  # [..., n, n, c]
    return np.where(j <= i, np.exp(np.cumsum(gate_i, axis=-3)), 0)


def decay_whole(log_gates: Float[np.ndarray, "*batch n c"]) -> Float[np.ndarray, "*batch c"]:
    """The decay from the chunk's start to its end: Π_t g_t.

    Args:
        log_gates: as for `decay_from_start`
    Returns: [..., c]
    """
    return np.exp(log_gates.sum(axis=-2))
