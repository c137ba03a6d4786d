"""State space models in NumPy: a linear recurrence, and other ways to compute it.

    ssm             fixed in time (S4D): a recurrence that is also a convolution
    selective_scan  Mamba: step, input and output matrices depend on the token
    ssd             Mamba-2: one decay for each head, so that it is also a masked matrix product

Everything is computed in float64; outputs have x's dtype (float64 for integers), states float64.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.linear.reference_parts import finish, start_state
from attention_src.shapes import as_float64, check_flags, check_impl
from attention_src.ssm.checks import check_scan, check_steps
from attention_src.ssm.reference_ssd import ssd
from attention_src.ssm.time_invariant import discretize, skip, ssm

__all__ = ["associative_scan", "discretize", "selective_scan", "ssd", "ssm"]

SCAN_FORMS = ("recurrent", "associative")


@own_errstate()
def selective_scan(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    *,
    form: str = "recurrent",
    initial_state: Any = None,
    return_state: bool = False,
) -> (
    Float[np.ndarray, "*batch n d"]
    | tuple[Float[np.ndarray, "*batch n d"], Float[np.ndarray, "*batch d N"]]
):
    """Mamba's recurrence: what the state keeps, writes and reads depends on the token.

        h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t,  y_t = C_t·h_t + D x_t

    Args:
        x: [..., n, d]  inputs
        dt: [..., n, d]  step sizes, 0 or more (after softplus); 0 leaves the state as it is, which
            makes it the dt of padding
        A: [d, N]  diagonal of the state matrix, negative
        B, C: [..., n, N]  input and output matrices, shared by all channels
        D: [d]  skip connection; None = 0
        form: "recurrent" (step by step) or "associative" (all steps at once, in log2(n) rounds)
        initial_state: [..., d, N]  h_{-1}; None = 0
        return_state: whether to return the last state too, from which the next token continues
    Returns: [..., n, d]  y, in x's dtype; with return_state (y, h_{n-1}), the state in float64
    Raises:
        ValueError: shapes that do not fit; a negative dt; an unknown form; return_state is
            neither True nor False
    Cost: recurrent about 7 n d N FLOP, step by step, and d N numbers of state for any n;
        associative O(n d N log n) FLOP in log2(n) rounds, and O(n d N) memory.
    Source: Gu & Dao 2023, arXiv:2312.00752, Algorithm 2 (their Δ is our dt; its B_bar is dt B).
    """
    check_flags(return_state=return_state)
    check_impl(form, SCAN_FORMS, "form")
    x, dtype = as_float64(x, "x")
    dt, A, B, C = (as_float64(a, name)[0] for a, name in ((dt, "dt"), (A, "A"), (B, "B"), (C, "C")))
    check_scan(x, dt, A, B, C)
    check_steps(dt)
    h = start_state(initial_state, "[..., d, N]", (*x.shape[:-2], *A.shape))
    y, h = (_recur if form == "recurrent" else _associate)(x, dt, A, B, C, h)
    return finish(y + skip(x, D), h, dtype, return_state)


def _recur(
    x: np.ndarray, dt: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Step by step."""
    y = np.zeros(x.shape)
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]  # [..., d, 1]
        h = np.exp(step * A) * h + step * B[..., t, None, :] * x[..., t, :, None]
        y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)
    return y, h


def _associate(
    x: np.ndarray, dt: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All steps at once."""
    a = np.exp(dt[..., None] * A)  # [..., n, d, N]  what each step keeps
    b = (dt * x)[..., None] * B[..., :, None, :]  # [..., n, d, N]  what each step writes
    a, b = associative_scan(a, b)
    states = a * h[..., None, :, :] + b  # [..., n, d, N]
    y = (states * C[..., :, None, :]).sum(axis=-1)
    return y, states[..., -1, :, :] if x.shape[-2] else h


@own_errstate()
def associative_scan(
    a: Float[np.ndarray, "*batch n d N"], b: Float[np.ndarray, "*batch n d N"]
) -> tuple[Float[np.ndarray, "*batch n d N"], Float[np.ndarray, "*batch n d N"]]:
    """All prefixes of the recurrence h_t = a_t h_{t-1} + b_t, in log2(n) rounds.

        (a, b) then (a', b') is (a' a, a' b + b'), which is associative: any grouping works

    Args:
        a, b: [..., n, d, N]  what each step keeps and writes
    Returns: a, b  [..., n, d, N]: entry t maps the first state to h_t = a_t h_{-1} + b_t
    Cost: 3 n d N log2(n) FLOP, each round in parallel.
    Source: Hillis & Steele 1986; Blelloch 1990, section 1.4.1 for the operator.
    """
    n, reach = a.shape[-3], 1
    while reach < n:
        # Entry t covers the last `reach` steps up to t: prepend the `reach` steps before those.
        before_a, before_b = a[..., :-reach, :, :], b[..., :-reach, :, :]
        after_a, after_b = a[..., reach:, :, :], b[..., reach:, :, :]
        joined_a, joined_b = after_a * before_a, after_a * before_b + after_b
        a = np.concatenate([a[..., :reach, :, :], joined_a], axis=-3)
        b = np.concatenate([b[..., :reach, :, :], joined_b], axis=-3)
        reach *= 2
    return a, b
