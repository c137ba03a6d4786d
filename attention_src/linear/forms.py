"""Three forms out of two functions, in NumPy: what each mechanism of this topic is run by.

A mechanism says how one position is added (`token`) and how many at once are (`block`):

    token(q_t, k_t, v_t, ..., state) -> o_t, state       each of the first [..., d]
    block(q,   k,   v,   ..., state) -> o,   state       each of the first [..., n, d]
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.linear.checks import check_shape
from attention_src.shapes import check_leading, check_qkv, real_array

Step = Callable[..., tuple[np.ndarray, np.ndarray]]


def run(
    form: str, chunk: int, token: Step, block: Step, sequences: list[np.ndarray], state: np.ndarray
) -> tuple[Float[np.ndarray, "*batch n d_v"], Float[np.ndarray, "*batch d_s d_r"]]:
    """The outputs of a causal mechanism, and its state after the last position.

    Args:
        form: "parallel": one block; "chunkwise": blocks of `chunk`; "recurrent": token by token
        chunk: positions in a block; the last block may be shorter
        token, block: the mechanism
        sequences: q, k, v and whatever else has a row for each position, all [..., n, *]
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


def arrays(q: Any, k: Any, v: Any) -> tuple[list[np.ndarray], np.dtype]:
    """q, k and v checked, in float64, with the same leading axes; and the dtype of the answer.

    Raises:
        ValueError: not numbers, or shapes that do not belong together
    """
    q, dtype = real_array(q, "q")
    k, v = real_array(k, "k")[0], real_array(v, "v")[0]
    check_qkv(q, k, v)
    check_leading(q, k, v)
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    return [np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (q, k, v)], dtype


def initial(state: Any, leading: tuple[int, ...], d_k: int, d_v: int) -> np.ndarray:
    """The state to start from, in float64: zeros if none is given.

    Raises:
        ValueError: not numbers, or not [..., d_k, d_v]
    """
    wanted = (*leading, d_k, d_v)
    if state is None:
        return np.zeros(wanted)
    state, _ = real_array(state, "initial_state")
    check_shape(state, "initial_state", "[..., d_k, d_v]", wanted)
    return state


def answer(o: np.ndarray, state: np.ndarray, dtype: np.dtype, return_state: bool) -> Any:
    """o in its dtype, and the state if it was asked for."""
    return (o.astype(dtype), state) if return_state else o.astype(dtype)
