"""Mamba-2 in NumPy: a recurrence with one decay for each head, which is also a masked product."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.linear.reference_parts import (
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    finish,
    start_state,
)
from attention_src.shapes import as_float64, check_flags, check_impl, check_size
from attention_src.ssm.checks import check_ssd, check_steps

FORMS = ("recurrent", "parallel", "chunkwise")


@own_errstate()
def ssd(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    *,
    z: Any = None,
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
        then y + D x, and with z the result times silu(z) = z / (1 + exp(-z))

    Args:
        x: [..., H, n, P]  inputs, P channels for each head
        dt: [..., H, n]  step sizes, 0 or more; 0 leaves the state as it is, so padding has it
        A: [H]  one decay rate for each head, negative
        B, C: [..., n, N]  input and output matrices, shared by all heads: keys and queries. With as
            many axes as x they are [..., G, n, N]: G groups, and head h uses group h // (H / G)
        D: [H]  skip connection; None = 0
        z: [..., H, n, P]  gate on the output; None = no gate
        form: "recurrent" (a state of P N numbers for each head), "parallel" (the n x n matrix) or
            "chunkwise" (the matrix within a chunk, the state between chunks)
        chunk: tokens in a chunk
        initial_state: [..., H, P, N]  h_{-1}; None = 0
        return_state: whether to return the last state too
    Returns: [..., H, n, P]  y, in x's dtype; with return_state (y, h_{n-1}), the state in float64
    Raises:
        ValueError: shapes that do not fit; G does not divide H; a negative dt; an unknown form; a
            chunk below 1; return_state is neither True nor False
    Cost: for each head: recurrent 5 n P N FLOP, token by token; parallel 2 n² (N + P) FLOP;
        chunkwise 2 n chunk (N + P) + 4 n P N FLOP.
    Source: Dao & Gu 2024, arXiv:2405.21060, Eq. 5 to 7 and section 6 (their a_t is exp(dt_t A),
        their X is dt x); groups section 7.2, D and z section 7.1. The code mamba_ssm has
        positions before heads: its x and z [B, n, H, P], dt [B, n, H], B and C [B, n, G, N] are
        ours with axes 1 and 2 swapped; A, D and the states [B, H, P, N] are the same.
    """
    check_flags(return_state=return_state)
    check_impl(form, FORMS, "form")
    chunk = check_size(chunk, "chunk", at_least=1)
    x, dtype = as_float64(x, "x")
    dt, A, B, C = (as_float64(a, name)[0] for a, name in ((dt, "dt"), (A, "A"), (B, "B"), (C, "C")))
    D, z = (None if a is None else as_float64(a, name)[0] for a, name in ((D, "D"), (z, "z")))
    check_ssd(x, dt, A, B, C, D, z)
    check_steps(dt)
    n, size = x.shape[-2], (*x.shape[:-2], x.shape[-1], B.shape[-1])
    G = B.shape[-3] if B.ndim == x.ndim else 1
    h = _grouped(start_state(initial_state, "[..., H, P, N]", size), G)
    log_gates = _grouped((dt * A[:, None])[..., None], G)  # [..., G, H / G, n, 1]
    u = _grouped(dt[..., None] * x, G)  # [..., G, H / G, n, P]
    B, C = (m.reshape(*x.shape[:-3], G, 1, *m.shape[-2:]) for m in (B, C))  # [..., G, 1, n, N]
    step = {"recurrent": 1, "parallel": max(n, 1), "chunkwise": chunk}[form]
    y = np.zeros(u.shape)
    for start in range(0, n, step):
        part = slice(start, start + step)
        pieces = (a[..., part, :] for a in (u, log_gates, B, C))
        y[..., part, :], h = _chunk(h, *pieces)
    y, h = y.reshape(x.shape), h.reshape(size)
    if D is not None:
        y = y + D[:, None, None] * x
    if z is not None:
        y = y * z * np.exp(-np.logaddexp(0, -z))  # the sigmoid of z, without overflow
    return finish(y, h, dtype, return_state)


def _grouped(a: np.ndarray, G: int) -> np.ndarray:
    """Heads that share a group side by side: [..., H, *, *] -> [..., G, H / G, *, *]."""
    return a.reshape(*a.shape[:-3], G, a.shape[-3] // G, *a.shape[-2:])


def _chunk(
    h: np.ndarray, u: np.ndarray, log_gates: np.ndarray, B: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """c tokens: what they write themselves, and what the state adds.

    With c = 1 this is the recurrence, with c = n the matrix form.
    """
    L = decay_between(log_gates)[..., 0]  # [..., G, H / G, c, c]
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # [..., c, 1]
    y = (L * (C @ B.swapaxes(-1, -2))) @ u + from_start * (C @ h.swapaxes(-1, -2))
    h = decay_whole(log_gates)[..., None] * h + (to_end * u).swapaxes(-1, -2) @ B
    return y, h
