"""Checks of the arguments of state space models, for references and layers."""

from typing import Any

from attention_src.shapes import check_shape, shape


def check_ssm(x: Any, dt: Any, A: Any, B: Any, C: Any) -> None:
    """Check the arguments of `ssm`.

    Args:
        x: [..., n, d];  dt: [d];  A, B, C: [d, N]
    Raises:
        ValueError: names the argument, its shape and the shape that it should have
    """
    d = _last_axes(x, 2, "x", "[..., n, d]")[1]
    N = _last_axes(A, 2, "A", "[d, N]")[1]
    check_shape(dt, "dt", "[d]", (d,))
    for name, value in (("A", A), ("B", B), ("C", C)):
        check_shape(value, name, "[d, N]", (d, N))


def check_scan(x: Any, dt: Any, A: Any, B: Any, C: Any) -> None:
    """Check the arguments of `selective_scan`.

    Args:
        x, dt: [..., n, d];  A: [d, N];  B, C: [..., n, N]
    Raises:
        ValueError: as `check_ssm`; dt is not positive
    """
    n, d = _last_axes(x, 2, "x", "[..., n, d]")
    N = _last_axes(A, 2, "A", "[d, N]")[1]
    check_shape(dt, "dt", "[..., n, d] as x", x.shape)
    check_shape(A, "A", "[d, N]", (d, N))
    for name, value in (("B", B), ("C", C)):
        check_shape(value, name, "[..., n, N]", (*x.shape[:-2], n, N))
    check_positive(dt)


def check_ssd(x: Any, dt: Any, A: Any, B: Any, C: Any) -> None:
    """Check the arguments of `ssd`.

    Args:
        x: [..., H, n, P];  dt: [..., H, n];  A: [H];  B, C: [..., n, N]
    Raises:
        ValueError: as `check_ssm`; dt is not positive
    """
    n_heads, n, _ = _last_axes(x, 3, "x", "[..., H, n, P]")
    N = _last_axes(B, 2, "B", "[..., n, N]")[1]
    check_shape(dt, "dt", "[..., H, n] as x", x.shape[:-1])
    check_shape(A, "A", "[H]", (n_heads,))
    for name, value in (("B", B), ("C", C)):
        check_shape(value, name, "[..., n, N]", (*x.shape[:-3], n, N))
    check_positive(dt)


def check_positive(dt: Any) -> None:
    """Check that step sizes are positive. NaN passes, and shows in the output.

    Args:
        dt: array or tensor of any shape
    Raises:
        ValueError: dt has an entry that is 0 or less
    """
    if bool((dt <= 0).any()):
        raise ValueError(
            "dt holds a number that is not positive; step sizes are, after softplus for example"
        )


def _last_axes(x: Any, count: int, name: str, wanted: str) -> tuple[int, ...]:
    """The sizes of the last `count` axes of x."""
    if len(x.shape) < count:
        raise ValueError(f"{name} has shape {shape(x)}; it should be {wanted}")
    return tuple(x.shape[-count:])
