"""State space models in NumPy: a linear recurrence, and the other ways to compute the same.

    ssm             fixed in time (S4D): a recurrence that is also a convolution
    selective_scan  Mamba: step, input and output matrices depend on the token
    ssd             Mamba-2: one decay a head, so the recurrence is also a masked matrix product

Everything is computed in float64 and answered in x's floating dtype (integers: float64). A state
starts at zero, h_{-1} = 0, unless `initial_state` says otherwise.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.shapes import check_impl, real_array
from attention_src.ssm.checks import check_scan, start_state
from attention_src.ssm.duality import ssd, ssd_with_state
from attention_src.ssm.time_invariant import discretize, skip, ssm

__all__ = [
    "associative_scan",
    "discretize",
    "selective_scan",
    "selective_scan_with_state",
    "ssd",
    "ssd_with_state",
    "ssm",
]

SCAN_FORMS = ("recurrent", "associative")


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
) -> Float[np.ndarray, "*batch n d"]:
    """Mamba's recurrence: what is written, kept and read depends on the token.

        h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t,  y_t = C_t·h_t + D x_t

    Args:
        x: [..., n, d]  inputs
        dt: [..., n, d]  step sizes, already positive (after softplus)
        A: [d, N]  diagonal of the state matrix, negative
        B, C: [..., n, N]  input and output matrices, shared by all channels
        D: [d]  skip connection; None = 0
        form: "recurrent" (one step after the other) or "associative" (all steps at once, in
            log2(n) rounds)
        initial_state: [..., d, N]  h_{-1}; None = 0
    Returns: [..., n, d]  y, in x's dtype
    Raises:
        ValueError: shapes that do not fit; dt not positive
    Cost: recurrent about 7 n d N FLOP, one step after the other, and a state of d N numbers
        whatever n is; associative O(n d N log n) FLOP in log2(n) rounds, and O(n d N) memory.
    Source: Gu & Dao 2023, arXiv:2312.00752, Algorithm 2 (their Δ is our dt; its B_bar is dt B).
    """
    y, _ = selective_scan_with_state(x, dt, A, B, C, D, form=form, initial_state=initial_state)
    return y


def selective_scan_with_state(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    *,
    form: str = "recurrent",
    initial_state: Any = None,
) -> tuple[Float[np.ndarray, "*batch n d"], Float[np.ndarray, "*batch d N"]]:
    """`selective_scan`, and the last state, from which the next token goes on.

    Args: as for `selective_scan`
    Returns: y [..., n, d] and h_{n-1} [..., d, N], in x's dtype
    Raises:
        ValueError: as `selective_scan`
    """
    check_impl(form, SCAN_FORMS, "form")
    x, dtype = real_array(x, "x")
    dt, A, B, C = (real_array(a, name)[0] for a, name in ((dt, "dt"), (A, "A"), (B, "B"), (C, "C")))
    check_scan(x, dt, A, B, C)
    h = start_state(initial_state, (*x.shape[:-2], *A.shape))  # [..., d, N]
    if form == "recurrent":
        y, h = _recur(x, dt, A, B, C, h)
    else:
        y, h = _associate(x, dt, A, B, C, h)
    return (y + skip(x, D)).astype(dtype), h.astype(dtype)


def _recur(
    x: np.ndarray, dt: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    y = np.zeros(x.shape)
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]  # [..., d, 1]
        h = np.exp(step * A) * h + step * B[..., t, None, :] * x[..., t, :, None]
        y[..., t, :] = (h * C[..., t, None, :]).sum(axis=-1)
    return y, h


def _associate(
    x: np.ndarray, dt: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    a = np.exp(dt[..., None] * A)  # [..., n, d, N]  what each step keeps
    b = (dt * x)[..., None] * B[..., :, None, :]  # [..., n, d, N]  what each step writes
    a, b = associative_scan(a, b)
    states = a * h[..., None, :, :] + b  # [..., n, d, N]
    y = (states * C[..., :, None, :]).sum(axis=-1)
    return y, states[..., -1, :, :] if x.shape[-2] else h


def associative_scan(
    a: Float[np.ndarray, "*batch n d N"], b: Float[np.ndarray, "*batch n d N"]
) -> tuple[Float[np.ndarray, "*batch n d N"], Float[np.ndarray, "*batch n d N"]]:
    """All prefixes of the recurrence h_t = a_t h_{t-1} + b_t, in log2(n) rounds.

        (a, b) then (a', b') is (a' a, a' b + b'), which is associative: any grouping will do

    Args:
        a, b: [..., n, d, N]  what each step keeps and writes
    Returns: a, b  [..., n, d, N]: entry t takes the first state to h_t = a_t h_{-1} + b_t
    Cost: 3 n d N log2(n) FLOP, each round in parallel.
    Source: Hillis & Steele 1986; Blelloch 1990, section 1.4.1 for the operator.
    """
    n, reach = a.shape[-3], 1
    while reach < n:
        # Entry t covers the last `reach` steps up to t. Put the `reach` steps before them in front.
        before_a, before_b = a[..., :-reach, :, :], b[..., :-reach, :, :]
        after_a, after_b = a[..., reach:, :, :], b[..., reach:, :, :]
        joined_a, joined_b = after_a * before_a, after_a * before_b + after_b
        a = np.concatenate([a[..., :reach, :, :], joined_a], axis=-3)
        b = np.concatenate([b[..., :reach, :, :], joined_b], axis=-3)
        reach *= 2
    return a, b
