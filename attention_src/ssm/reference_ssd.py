"""Mamba-2 in NumPy: a recurrence with one decay for each head, which is also a masked product."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.linear.reference_parts import (
    answer,
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    start_state,
)
from attention_src.shapes import check_impl, check_size, real_array
from attention_src.ssm.checks import check_ssd

FORMS = ("recurrent", "parallel", "chunkwise")


def ssd(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
) -> (
    Float[np.ndarray, "*batch H n P"]
    | tuple[Float[np.ndarray, "*batch H n P"], Float[np.ndarray, "*batch H P N"]]
):
    """Mamba-2's state space duality: a recurrence, and a causal attention without softmax.

        h_t = exp(dt_t A) h_{t-1} + dt_t x_t B_t^T,  y_t = h_t C_t
        y = (L * C B^T) (dt x),  L_ts = exp(A sum_{r=s+1..t} dt_r) for s <= t, else 0

    Args:
        x: [..., H, n, P]  inputs, P channels for each head
        dt: [..., H, n]  step sizes, already positive
        A: [H]  one decay rate for each head, negative
        B, C: [..., n, N]  input and output matrices, shared by all heads: keys and queries
        form: "recurrent" (a state of P N numbers for each head), "parallel" (the n x n matrix) or
            "chunkwise" (the matrix within a chunk, the state between chunks)
        chunk: tokens in a chunk
        initial_state: [..., H, P, N]  h_{-1}; None = 0
        return_state: whether to return the last state too
    Returns: [..., H, n, P]  y, in x's dtype; with return_state (y, h_{n-1}), the state in float64
    Raises:
        ValueError: shapes that do not fit; dt not positive; an unknown form; a chunk below 1
    Cost: for each head: recurrent 5 n P N FLOP, token by token; parallel 2 n² (N + P) FLOP;
        chunkwise 2 n chunk (N + P) + 4 n P N FLOP.
    Source: Dao & Gu 2024, arXiv:2405.21060, Eq. 5 to 7 and section 6 (their a_t is exp(dt_t A),
        their X is dt x).
    """
    check_impl(form, FORMS, "form")
    chunk = check_size(chunk, "chunk", at_least=1)
    x, dtype = real_array(x, "x")
    dt, A, B, C = (real_array(a, name)[0] for a, name in ((dt, "dt"), (A, "A"), (B, "B"), (C, "C")))
    check_ssd(x, dt, A, B, C)
    n, size = x.shape[-2], (*x.shape[:-2], x.shape[-1], B.shape[-1])
    h = start_state(initial_state, "[..., H, P, N]", size)
    log_gates = (dt * A[:, None])[..., None]  # [..., H, n, 1]
    u = dt[..., None] * x  # [..., H, n, P]
    B, C = B[..., None, :, :], C[..., None, :, :]  # [..., 1, n, N]: one for all heads
    step = {"recurrent": 1, "parallel": max(n, 1), "chunkwise": chunk}[form]
    y = np.zeros(x.shape)
    for start in range(0, n, step):
        part = slice(start, start + step)
        pieces = (a[..., part, :] for a in (u, log_gates, B, C))
        y[..., part, :], h = _chunk(h, *pieces)
    return answer(y, h, dtype, return_state)


def _chunk(
    h: np.ndarray, u: np.ndarray, log_gates: np.ndarray, B: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """c tokens: what they write themselves, and what the state adds.

    With c = 1 this is the recurrence, with c = n the matrix form.
    """
    L = decay_between(log_gates)[..., 0]  # [..., H, c, c]
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # [..., H, c, 1]
    y = (L * (C @ B.swapaxes(-1, -2))) @ u + from_start * (C @ h.swapaxes(-1, -2))
    h = decay_whole(log_gates)[..., None] * h + (to_end * u).swapaxes(-1, -2) @ B
    return y, h
