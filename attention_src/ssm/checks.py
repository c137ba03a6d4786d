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
        ValueError: as `check_ssm`
    """
    n, d = _last_axes(x, 2, "x", "[..., n, d]")
    N = _last_axes(A, 2, "A", "[d, N]")[1]
    check_shape(dt, "dt", "[..., n, d] as x", x.shape)
    check_shape(A, "A", "[d, N]", (d, N))
    for name, value in (("B", B), ("C", C)):
        check_shape(value, name, "[..., n, N]", (*x.shape[:-2], n, N))


def check_ssd(x: Any, dt: Any, A: Any, B: Any, C: Any, D: Any, z: Any) -> None:
    """Check the arguments of `ssd`.

    Args:
        x: [..., H, n, P];  dt: [..., H, n];  A: [H]
        B, C: [..., n, N], or with as many axes as x [..., G, n, N]
        D: [H] or None;  z: [..., H, n, P] or None
    Raises:
        ValueError: as `check_ssm`; G does not divide H
    """
    n_heads, n, _ = _last_axes(x, 3, "x", "[..., H, n, P]")
    N = _last_axes(B, 2, "B", "[..., n, N]")[1]
    axes, leading = "[..., n, N]", (*x.shape[:-3],)
    if len(B.shape) == len(x.shape):
        axes, leading = "[..., G, n, N]", (*leading, B.shape[-3])
        if B.shape[-3] == 0 or n_heads % B.shape[-3]:
            raise ValueError(
                f"B has G={B.shape[-3]} groups, which does not divide the H={n_heads} heads of x: "
                "each group should serve equally many heads"
            )
    check_shape(dt, "dt", "[..., H, n] as x", x.shape[:-1])
    check_shape(A, "A", "[H]", (n_heads,))
    for name, value in (("B", B), ("C", C)):
        check_shape(value, name, axes, (*leading, n, N))
    if D is not None:
        check_shape(D, "D", "[H]", (n_heads,))
    if z is not None:
        check_shape(z, "z", "[..., H, n, P] as x", x.shape)


def check_steps(dt: Any) -> None:
    """Check that no step size is negative. NaN passes, and shows in the output.

    Args:
        dt: array or tensor of any shape. A step of 0 leaves the state as it is, so padding has it;
            and softplus may underflow to it
    Raises:
        ValueError: dt has an entry below 0
    """
    if bool((dt < 0).any()):
        raise ValueError(
            "dt holds a negative number; step sizes should be 0 or more, after softplus for example"
        )


def _last_axes(x: Any, count: int, name: str, wanted: str) -> tuple[int, ...]:
    """The sizes of the last `count` axes of x."""
    if len(x.shape) < count:
        raise ValueError(f"{name} has shape {shape(x)}; it should be {wanted}")
    return tuple(x.shape[-count:])
