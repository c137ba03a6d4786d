"""Linear attention with gates in NumPy: for each channel of the key (GLA), or one for all."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.linear.checks import (
    check_form,
    check_log_gates,
    check_same_length,
    gate_channels,
)
from attention_src.linear.reference_parts import (
    check_qkv_arrays,
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    finish,
    run,
    start_state,
)
from attention_src.shapes import as_float64, check_shape


@own_errstate()
def gated_linear_attention(
    q: Any,
    k: Any,
    v: Any,
    log_gates: Any,
    *,
    scale: float | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
) -> (
    Float[np.ndarray, "*batch n d_v"]
    | tuple[Float[np.ndarray, "*batch n d_v"], Float[np.ndarray, "*batch d_k d_v"]]
):
    """Causal linear attention with a gate for each position and channel of the key, or position.

        S_t  = diag(g_t) S_{t−1} + k_t v_t^T,   o_t = scale S_t^T q_t,   g = exp(log_gates)
        w_ij = scale Σ_c q_ic k_jc Π_{t=j+1..i} g_tc   for j <= i,   o = w v

    Args:
        q: [..., n, d_k]  queries, without a feature map
        k: [..., n, d_k]  keys
        v: [..., n, d_v]  values
        log_gates: [..., n, d_k]  log g, at most 0; −inf forgets everything. Or [..., n, 1]: one
            gate for all channels, as in Mamba-2 and gated RetNet
        scale: factor on q; None = 1 (not d_k ** -0.5)
        form: "parallel", "recurrent" or "chunkwise"; they differ in cost and in rounding only
        chunk: positions in a chunk, for "chunkwise"
        initial_state: [..., d_k, d_v]  the state after earlier positions; None = 0
        return_state: whether to return the state after the last position too
    Returns: [..., n, d_v]  o, in q's dtype; with return_state (o, state), the state in float64
    Raises:
        ValueError: shapes that do not fit; an unknown form; a chunk below 1; a log gate above 0;
            a scale that is not a finite number; return_state is neither True nor False
    Cost: parallel O(n² d_k) memory; recurrent 4 n d_k d_v FLOP; chunkwise about
        2 n (chunk (2 d_k + d_v) + 2 d_k d_v) FLOP, O(chunk² d_k) memory. With one gate the memory
        does not depend on d_k.
    Source: Yang et al. 2023, arXiv:2312.06635, section 4 (their α_t is our g_t). They divide by
        products of gates, which may underflow; here nothing is divided. One gate: Dao & Gu 2024,
        arXiv:2405.21060, section 5 (their a_t is our g_t).
    """
    chunk = check_form(form, chunk, return_state=return_state)
    (q, k, v), dtype = check_qkv_arrays(q, k, v, scale)
    check_same_length(q, k)
    log_gates, _ = as_float64(log_gates, "log_gates")
    wanted = (*k.shape[:-1], gate_channels(log_gates, k.shape[-1]))
    check_shape(log_gates, "log_gates", "[..., n, d_k] or [..., n, 1]", wanted)
    check_log_gates(float(log_gates.max(initial=0)))
    state = start_state(initial_state, "[..., d_k, d_v]", (*k.shape[:-2], k.shape[-1], v.shape[-1]))
    o, state = run(form, chunk, _token, _block, [q, k, v, log_gates], state)
    return finish(o, state, dtype, return_state)


def _token(q, k, v, log_gates, state: np.ndarray):
    """One position: q, k [..., d_k], v [..., d_v], log_gates [..., d_k] or [..., 1]."""
    state = np.exp(log_gates)[..., :, None] * state + k[..., :, None] * v[..., None, :]
    return np.einsum("...k,...kv->...v", q, state), state


def _block(q, k, v, log_gates, state: np.ndarray):
    """n positions at once: q, k [..., n, d_k], v [..., n, d_v], log_gates [..., n, d_k or 1]."""
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # as log_gates
    between, whole = decay_between(log_gates), decay_whole(log_gates)
    if log_gates.shape[-1] == 1:
        w = (q @ k.swapaxes(-1, -2)) * between[..., 0]  # [..., n, n]
    else:
        w = np.einsum("...ic,...jc,...ijc->...ij", q, k, between)  # [..., n, n]
    o = w @ v + (q * from_start) @ state
    return o, whole[..., :, None] * state + (k * to_end).swapaxes(-1, -2) @ v
