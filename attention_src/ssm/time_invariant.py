"""State space models fixed in time, in NumPy: a recurrence that is also a convolution."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.shapes import as_float64, check_impl, check_shape
from attention_src.ssm.checks import check_ssm, check_steps

FORMS = ("recurrent", "convolution")


@own_errstate()
def discretize(
    dt: Any, A: Any, B: Any, *, method: str = "zoh"
) -> tuple[Float[np.ndarray, "*steps N"], Float[np.ndarray, "*steps N"]]:
    """From dh/dt = A h + B x to h_t = A_bar h_{t-1} + B_bar x_t, for a diagonal A.

        zoh       A_bar = exp(dt A)                        B_bar = (A_bar - 1) / A * B
        bilinear  A_bar = (1 + dt A / 2) / (1 - dt A / 2)  B_bar = dt B / (1 - dt A / 2)
        mamba     A_bar = exp(dt A)                        B_bar = dt B

    Args:
        dt: [...]  step sizes, 0 or more
        A: [..., N]  diagonal of the state matrix, negative for a state that forgets
        B: [..., N]  input matrix
        method: "zoh" (x is constant during a step), "bilinear" or "mamba" (zoh's A_bar with a
            first-order B_bar, which is what Mamba's code computes)
    Returns: A_bar, B_bar  [..., N], dt's axes broadcast against those of A and B
    Raises:
        ValueError: a negative dt; an unknown method
    Source: Gu et al. 2022, arXiv:2206.11893 (S4D), section 3.1; Gu & Dao 2023, arXiv:2312.00752,
        Eq. 4 and section 3.3.
    """
    check_impl(method, ("zoh", "bilinear", "mamba"), "method")
    dt, A, B = (as_float64(x, name)[0] for x, name in ((dt, "dt"), (A, "A"), (B, "B")))
    check_steps(dt)
    z = dt[..., None] * A
    if method == "bilinear":
        return (1 + z / 2) / (1 - z / 2), dt[..., None] * B / (1 - z / 2)
    A_bar = np.exp(z)
    if method == "mamba":
        return A_bar, np.broadcast_to(dt[..., None] * B, A_bar.shape)
    # (exp(z) - 1) / z is 1 at z = 0, where the quotient itself is 0 / 0.
    growth = np.where(z == 0, 1.0, np.expm1(z) / np.where(z == 0, 1.0, z))
    return A_bar, growth * dt[..., None] * B


@own_errstate()
def ssm(
    x: Any,
    dt: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    *,
    method: str = "zoh",
    form: str = "recurrent",
) -> Float[np.ndarray, "*batch n d"]:
    """A state space model fixed in time: each of d channels has a state of N numbers.

        h_t = A_bar h_{t-1} + B_bar x_t,  y_t = C·h_t + D x_t
            = sum_s K_s x_{t-s} + D x_t,  K_s = C·(A_bar^s B_bar)

    Args:
        x: [..., n, d]  inputs
        dt: [d]  step sizes, 0 or more
        A: [d, N]  diagonal of the state matrix
        B, C: [d, N]  input and output matrices
        D: [d]  skip connection; None = 0
        method: of `discretize`
        form: "recurrent" (step by step) or "convolution" (with K, by FFT)
    Returns: [..., n, d]  y, in x's dtype
    Raises:
        ValueError: shapes that do not fit; an unknown form or method; a negative dt
    Cost: recurrent 6 n d N FLOP and d N numbers of state; convolution O(n d (N + log n)) FLOP and
        O(n d) memory.
    Source: Gu et al. 2021, arXiv:2111.00396, Eq. 3 to 5; the diagonal form 2206.11893.
    """
    check_impl(form, FORMS, "form")
    x, dtype = as_float64(x, "x")
    dt, A, B, C = (as_float64(a, name)[0] for a, name in ((dt, "dt"), (A, "A"), (B, "B"), (C, "C")))
    check_ssm(x, dt, A, B, C)
    A_bar, B_bar = discretize(dt, A, B, method=method)
    y = _recur(x, A_bar, B_bar, C) if form == "recurrent" else _convolve(x, A_bar, B_bar, C)
    return (y + skip(x, D)).astype(dtype)


def _recur(x: np.ndarray, A_bar: np.ndarray, B_bar: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Step by step."""
    y = np.zeros(x.shape)
    h = np.zeros((*x.shape[:-2], *A_bar.shape))  # [..., d, N]
    for t in range(x.shape[-2]):
        h = A_bar * h + B_bar * x[..., t, :, None]
        y[..., t, :] = (h * C).sum(axis=-1)
    return y


def _convolve(x: np.ndarray, A_bar: np.ndarray, B_bar: np.ndarray, C: np.ndarray) -> np.ndarray:
    """As a convolution with K, by FFT."""
    n = x.shape[-2]
    if n == 0:
        return np.zeros(x.shape)
    K = np.stack([(C * A_bar**s * B_bar).sum(axis=-1) for s in range(n)])  # [n, d]
    # Padded to 2 n, so that the circular convolution does not wrap around.
    spectrum = np.fft.rfft(x, 2 * n, axis=-2) * np.fft.rfft(K, 2 * n, axis=0)
    return np.fft.irfft(spectrum, 2 * n, axis=-2)[..., :n, :]


@own_errstate()
def skip(x: np.ndarray, D: Any) -> np.ndarray | float:
    """The skip connection D x.

    Args:
        x: [..., n, d]
        D: [d]; None = 0
    Returns: [..., n, d]  D x in float64, or 0.0 if D is None
    Raises:
        ValueError: D does not hold real numbers, or is not [d]
    """
    if D is None:
        return 0.0
    D, _ = as_float64(D, "D")
    check_shape(D, "D", "[d]", x.shape[-1:])
    return D * x
