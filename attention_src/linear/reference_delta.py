"""The delta rule in NumPy: a state that corrects what it holds instead of adding to it."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.linear.checks import (
    check_form,
    check_log_gates,
    check_same_length,
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
def delta_rule(
    q: Any,
    k: Any,
    v: Any,
    beta: Any,
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
    """Replace a fraction β of the value that the state holds for a key.

        S_t = S_{t−1} + β_t (v_t − S_{t−1} k_t) k_t^T,   o_t = scale S_t q_t

    Args:
        q: [..., n, d_k]  queries
        k: [..., n, d_k]  keys. Normalise them first: with β |k|² above 2 the state grows without
            bound
        v: [..., n, d_v]  values
        beta: [..., n]  β, the fraction of the old value to replace: 0 none, 1 all (if |k| = 1)
        scale: factor on q; None = 1 (not d_k ** -0.5)
        form: "parallel", "recurrent" or "chunkwise"; they differ in cost and in rounding only
        chunk: positions in a chunk, for "chunkwise"
        initial_state: [..., d_k, d_v]  S^T after earlier positions; None = 0. Transposed, because a
            state of this topic has a row for each channel of the key
        return_state: whether to return the state S^T after the last position too
    Returns: [..., n, d_v]  o, in q's dtype; with return_state (o, state), the state in float64
    Raises:
        ValueError: shapes that do not fit; an unknown form; a chunk below 1; a scale that is not a
            finite number; return_state is neither True nor False
    Cost: parallel O(n²) memory and a triangular solve, n² (5 d_k + 3 d_v) FLOP; recurrent
        6 n d_k d_v FLOP; chunkwise n (chunk (5 d_k + 3 d_v) + 6 d_k d_v) FLOP.
    Source: Yang et al. 2024, arXiv:2406.06484, sections 2.2 and 3 (their UT transform is our
        triangular solve, their W and U our `erase` and `write`).
    """
    (q, k, v), dtype = check_qkv_arrays(q, k, v, scale)
    ungated = np.zeros(k.shape[:-1])
    return _delta((q, k, v), dtype, beta, ungated, form, chunk, initial_state, return_state)


@own_errstate()
def gated_delta_rule(
    q: Any,
    k: Any,
    v: Any,
    beta: Any,
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
    """The delta rule on a state that first decays, by one gate for each position.

        S_t = g_t S_{t−1} + β_t (v_t − g_t S_{t−1} k_t) k_t^T,   g = exp(log_gates)
        o_t = scale S_t q_t

    Args:
        q, k, v, beta: as for `delta_rule`
        log_gates: [..., n]  log g, at most 0; −inf forgets everything
        scale, form, chunk, initial_state, return_state: as for `delta_rule`
    Returns: as `delta_rule`
    Raises:
        ValueError: as `delta_rule`; a log gate above 0
    Cost: as `delta_rule`.
    Source: Yang, Kautz & Hatamizadeh 2024, arXiv:2412.06464, section 3.1 (their α_t is our g_t).
    """
    (q, k, v), dtype = check_qkv_arrays(q, k, v, scale)
    log_gates, _ = as_float64(log_gates, "log_gates")
    return _delta((q, k, v), dtype, beta, log_gates, form, chunk, initial_state, return_state)


def _delta(qkv, dtype, beta, log_gates, form, chunk, initial_state, return_state):
    """Both functions, once q, k and v are arrays; the ungated rule has log gates of 0."""
    chunk = check_form(form, chunk, return_state=return_state)
    q, k, v = qkv
    check_same_length(q, k)
    beta, _ = as_float64(beta, "beta")
    for x, name in ((beta, "beta"), (log_gates, "log_gates")):
        check_shape(x, name, "[..., n]", k.shape[:-1])
    check_log_gates(float(log_gates.max(initial=0)))
    state = start_state(initial_state, "[..., d_k, d_v]", (*k.shape[:-2], k.shape[-1], v.shape[-1]))
    sequences = [q, k, v, beta[..., None], log_gates[..., None]]
    o, state = run(form, chunk, _token, _block, sequences, state)
    return finish(o, state, dtype, return_state)


def _token(q, k, v, beta, log_gates, state: np.ndarray):
    """One position: q, k [..., d_k], v [..., d_v], beta, log_gates [..., 1]."""
    state = np.exp(log_gates)[..., None] * state  # [..., d_k, d_v]
    held = np.einsum("...k,...kv->...v", k, state)  # [..., d_v]  the value held for this key
    state = state + k[..., :, None] * (beta * (v - held))[..., None, :]
    return np.einsum("...k,...kv->...v", q, state), state


def _block(q, k, v, beta, log_gates, state: np.ndarray):
    """n positions at once: q, k [..., n, d_k], v [..., n, d_v], beta, log_gates [..., n, 1].

    added_i depends on what the earlier positions j of the block added: a triangular system

        added_i = β_i (v_i − F_i state^T k_i − Σ_{j<i} G_ij (k_i·k_j) added_j)

    with F = from_start and G = between. Its solution is linear in the state, write − erase state.
    Neither write nor erase depends on the state, so all blocks can be computed in parallel.
    """
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # [..., n, 1]
    between, whole = decay_between(log_gates)[..., 0], decay_whole(log_gates)
    overlap = beta * (k @ k.swapaxes(-1, -2)) * between  # [..., n, n]
    write = solve(overlap, beta * v)  # [..., n, d_v]
    erase = solve(overlap, beta * from_start * k)  # [..., n, d_k]
    added = write - erase @ state  # [..., n, d_v]
    o = ((q @ k.swapaxes(-1, -2)) * between) @ added + from_start * (q @ state)
    return o, whole[..., None] * state + (k * to_end).swapaxes(-1, -2) @ added


@own_errstate()
def solve(
    lower: Float[np.ndarray, "*batch n n"], b: Float[np.ndarray, "*batch n d"]
) -> Float[np.ndarray, "*batch n d"]:
    """Solve (I + lower) x = b for a strictly lower triangular matrix, row by row.

        x_i = b_i − Σ_{j<i} lower_ij x_j

    Args:
        lower: [..., n, n]; only entries below the diagonal are read
        b: [..., n, d]
    Returns: [..., n, d]  x
    """
    x = np.array(b)
    for i in range(x.shape[-2]):
        x[..., i, :] -= np.einsum("...j,...jd->...d", lower[..., i, :i], x[..., :i, :])
    return x
