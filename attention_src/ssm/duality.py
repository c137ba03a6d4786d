"""Mamba-2 in NumPy: the recurrence with one decay a head, which is also a masked matrix product."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.shapes import check_impl, check_size, real_array
from attention_src.ssm.checks import check_ssd, start_state

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
) -> Float[np.ndarray, "*batch H n P"]:
    """Mamba-2's state space duality: a recurrence, and a causal attention without softmax.

        h_t = exp(dt_t A) h_{t-1} + dt_t x_t B_t^T,  y_t = h_t C_t
        y = (L * C B^T) (dt x),  L_ts = exp(A sum_{r=s+1..t} dt_r) for s <= t, else 0

    Args:
        x: [..., H, n, P]  inputs, P channels a head
        dt: [..., H, n]  step sizes, already positive
        A: [H]  one decay rate a head, negative
        B, C: [..., n, N]  input and output matrices, shared by all heads: keys and queries
        form: "recurrent" (a state of P N numbers a head), "parallel" (the n x n matrix) or
            "chunkwise" (the matrix within a chunk, the state between chunks)
        chunk: tokens of a chunk
        initial_state: [..., H, P, N]  h_{-1}; None = 0
    Returns: [..., H, n, P]  y, in x's dtype
    Raises:
        ValueError: shapes that do not fit; dt not positive; an unknown form
    Cost, a head: recurrent 5 n P N FLOP one step after the other; parallel 2 n² (N + P);
        chunkwise 2 n chunk (N + P) + 4 n P N.
    Source: Dao & Gu 2024, arXiv:2405.21060, Eq. 5 to 7 and section 6 (their a_t is exp(dt_t A),
        their X is dt x).
    """
    y, _ = ssd_with_state(x, dt, A, B, C, form=form, chunk=chunk, initial_state=initial_state)
    return y


def ssd_with_state(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
) -> tuple[Float[np.ndarray, "*batch H n P"], Float[np.ndarray, "*batch H P N"]]:
    """`ssd`, and the last state, from which the next token goes on.

    Args: as for `ssd`
    Returns: y [..., H, n, P] and h_{n-1} [..., H, P, N], in x's dtype
    Raises:
        ValueError: as `ssd`
    """
    check_impl(form, FORMS, "form")
    chunk = check_size(chunk, "chunk", at_least=1)
    x, dtype = real_array(x, "x")
    dt, A, B, C = (real_array(a, name)[0] for a, name in ((dt, "dt"), (A, "A"), (B, "B"), (C, "C")))
    check_ssd(x, dt, A, B, C)
    n = x.shape[-2]
    h = start_state(initial_state, (*x.shape[:-2], x.shape[-1], B.shape[-1]))  # [..., H, P, N]
    log_decay = dt * A[:, None]  # [..., H, n]
    u = dt[..., None] * x  # [..., H, n, P]
    B, C = B[..., None, :, :], C[..., None, :, :]  # [..., 1, n, N]: one for all heads
    size = {"recurrent": 1, "parallel": max(n, 1), "chunkwise": chunk}[form]
    y = np.zeros(x.shape)
    for start in range(0, n, size):
        part = slice(start, start + size)
        y[..., part, :], h = _ssd_chunk(
            u[..., part, :], log_decay[..., part], B[..., part, :], C[..., part, :], h
        )
    return y.astype(dtype), h.astype(dtype)


def _ssd_chunk(
    u: np.ndarray, log_decay: np.ndarray, B: np.ndarray, C: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One chunk of c tokens: what its own tokens write, and what the state brings along.

    With c = 1 this is the recurrence, with c = n the matrix form.
    """
    total = log_decay.cumsum(axis=-1)  # [..., H, c]
    gap = total[..., :, None] - total[..., None, :]  # [..., H, c, c]  log L
    causal = np.tril(np.ones(gap.shape[-2:], dtype=bool))
    L = np.exp(np.where(causal, gap, -np.inf))
    scores = L * (C @ B.swapaxes(-1, -2))  # [..., H, c, c]
    y = scores @ u + np.exp(total)[..., None] * (C @ h.swapaxes(-1, -2))  # [..., H, c, P]
    left = np.exp(total[..., -1:] - total)  # [..., H, c]  what is left of each at the chunk's end
    h = np.exp(total[..., -1])[..., None, None] * h + (left[..., None] * u).swapaxes(-1, -2) @ B
    return y, h
