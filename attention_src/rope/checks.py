"""What rotary positions check: widths, numbers and dtypes. NumPy only."""

import math
import numbers
from typing import Any

from attention_src.shapes import check_size, shape


def check_width(d: Any) -> int:
    """Check the width of a query or key.

    Args:
        d: the width
    Returns: d as an int
    Raises:
        ValueError: d is not a whole number, is odd or is below 2
    """
    d = check_size(d, "d", at_least=2)
    if d % 2:
        raise ValueError(f"d is {d}; it should be even: rotary positions turn pairs of components")
    return d


def check_number(
    value: Any, name: str, *, at_least: float = -math.inf, above: float = -math.inf
) -> float:
    """Check a real number.

    Args:
        value: the number
        name: of the argument
        at_least, above: its range
    Returns: value as a float
    Raises:
        ValueError: value is not a finite number in range
    """
    limit = f"at least {at_least:g}" if at_least > above else f"above {above:g}"
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or value < at_least or value <= above:
        raise ValueError(f"{name} is {value!r}; it should be a finite number, {limit}")
    return float(value)


def check_precision(dtype: Any) -> None:
    """Check that a dtype is precise enough for positions.

    Args:
        dtype: of NumPy or torch
    Raises:
        ValueError: float16, bfloat16 or narrower
    """
    kind = str(dtype).removeprefix("torch.")
    if kind.startswith(("float8", "float4")):
        raise ValueError(
            f"positions has dtype {dtype}; it should hold whole numbers, float32 or float64"
        )
    first_gap = {"float16": 2048, "bfloat16": 256}.get(kind)
    if first_gap:
        raise ValueError(
            f"positions has dtype {dtype}, which cannot tell {first_gap} from {first_gap + 1}; "
            "it should hold whole numbers, float32 or float64"
        )


def check_rotation(q: Any, k: Any, cos: Any, sin: Any) -> None:
    """Check that queries and keys fit the cosines and sines that rotate them.

    Args:
        q, k: [B, H, n, d], [B, H_kv, n, d]
        cos, sin: [n, d/2] or [B, n, d/2]
    Raises:
        ValueError: names the axis that does not fit
    """
    for name, x in (("q", q), ("k", k)):
        if len(x.shape) != 4:
            raise ValueError(f"{name} has shape {shape(x)}; it should be [B, H, n, d]")
    B, _, n, d = q.shape
    check_width(d)
    for axis, at in (("B", 0), ("n", 2), ("d", 3)):
        if k.shape[at] != q.shape[at]:
            raise ValueError(
                f"k has {axis}={k.shape[at]} but q has {axis}={q.shape[at]}; they are rotated "
                "together, so only their numbers of heads may differ"
            )
    for name, x in (("cos", cos), ("sin", sin)):
        if tuple(x.shape) not in ((n, d // 2), (B, n, d // 2)):
            raise ValueError(
                f"{name} has shape {shape(x)}; it should be [n, d/2] = [{n}, {d // 2}] or "
                f"[B, n, d/2] = [{B}, {n}, {d // 2}]"
            )
    if cos.shape != sin.shape:
        raise ValueError(f"sin has shape {shape(sin)} but cos has shape {shape(cos)}")
