"""The shapes of state space models' arguments: one ValueError for each that does not fit."""

from typing import Any

import numpy as np

from attention_src.shapes import real_array


def check_ssm(x: Any, dt: Any, A: Any, B: Any, C: Any) -> None:
    """Check x [..., n, d], dt [d], A, B, C [d, N].

    Raises:
        ValueError: names the argument, its shape and the shape that it should have
    """
    d = _last_axes(x, 2, "x", "[..., n, d]")[1]
    N = _last_axes(A, 2, "A", "[d, N]")[1]
    _expect("dt", dt, (d,), "[d]")
    for name, value in (("A", A), ("B", B), ("C", C)):
        _expect(name, value, (d, N), "[d, N]")


def check_scan(x: Any, dt: Any, A: Any, B: Any, C: Any) -> None:
    """Check x, dt [..., n, d], A [d, N], B, C [..., n, N].

    Raises:
        ValueError: as `check_ssm`; dt is not positive
    """
    n, d = _last_axes(x, 2, "x", "[..., n, d]")
    N = _last_axes(A, 2, "A", "[d, N]")[1]
    _expect("dt", dt, tuple(x.shape), "[..., n, d] as x")
    _expect("A", A, (d, N), "[d, N]")
    for name, value in (("B", B), ("C", C)):
        _expect(name, value, (*x.shape[:-2], n, N), "[..., n, N]")
    check_positive(dt)


def check_ssd(x: Any, dt: Any, A: Any, B: Any, C: Any) -> None:
    """Check x [..., H, n, P], dt [..., H, n], A [H], B, C [..., n, N].

    Raises:
        ValueError: as `check_ssm`; dt is not positive
    """
    n_heads, n, _ = _last_axes(x, 3, "x", "[..., H, n, P]")
    N = _last_axes(B, 2, "B", "[..., n, N]")[1]
    _expect("dt", dt, tuple(x.shape[:-1]), "[..., H, n] as x")
    _expect("A", A, (n_heads,), "[H]")
    for name, value in (("B", B), ("C", C)):
        _expect(name, value, (*x.shape[:-3], n, N), "[..., n, N]")
    check_positive(dt)


def _last_axes(x: Any, count: int, name: str, wanted: str) -> tuple[int, ...]:
    if len(x.shape) < count:
        raise ValueError(f"{name} has shape {list(x.shape)}; it should be {wanted}")
    return tuple(x.shape[-count:])


def _expect(name: str, x: Any, shape: tuple[int, ...], wanted: str) -> None:
    if tuple(x.shape) != shape:
        raise ValueError(f"{name} has shape {list(x.shape)}; it should be {wanted} = {list(shape)}")


def check_positive(dt: Any) -> None:
    """Check that step sizes are positive; a NaN is let through and shows in the result.

    Raises:
        ValueError: dt has a number that is 0 or less
    """
    if bool((dt <= 0).any()):
        raise ValueError(
            "dt holds a number that is not positive; step sizes are, after softplus for example"
        )


def start_state(initial_state: Any, shape: tuple[int, ...]) -> np.ndarray:
    """h_{-1} in float64: zeros, or what was given; it should have that shape."""
    if initial_state is None:
        return np.zeros(shape)
    h, _ = real_array(initial_state, "initial_state")
    if h.shape != shape:
        raise ValueError(f"initial_state has shape {list(h.shape)}; it should be {list(shape)}")
    return h
