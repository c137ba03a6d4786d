"""What rotary positions check: widths, numbers and dtypes. NumPy only."""

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
    first_gap = {"float16": 2048, "<f2": 2048, ">f2": 2048, "bfloat16": 256}.get(kind)
    if first_gap:
        raise ValueError(
            f"positions has dtype {dtype}, which cannot tell {first_gap} from {first_gap + 1}; "
            "it should hold whole numbers, float32 or float64"
        )


def check_placement(positions: Any, x: Any, name: str = "x") -> None:
    """Check that there is a position for each row of x, and no doubt for which.

    Args:
        positions: [n] or [..., n]
        x: [..., n, d]
        name: of the argument x
    Raises:
        ValueError: another shape; leading axes that may be the first ones of x as well as the last
            ones, such as [B, n] where B = H
    """
    if len(x.shape) < 2:
        raise ValueError(f"{name} has shape {shape(x)}; it should be [..., n, d]")
    rows, given = tuple(x.shape[:-1]), tuple(positions.shape)
    pairs = list(zip(reversed(given), reversed(rows), strict=False))
    if len(given) > len(rows) or given[-1] != rows[-1] or any(a not in (1, b) for a, b in pairs):
        raise ValueError(
            f"positions has shape {shape(positions)} but {name} has shape {shape(x)}; positions "
            f"should be [n] = [{rows[-1]}], or broadcast to {list(rows)}"
        )
    first = given[:-1]
    if len(given) < len(rows) and first == rows[: len(first)] and max(first, default=1) > 1:
        raise ValueError(
            f"positions has shape {shape(positions)} and {name} has shape {shape(x)}, so the first "
            f"axis of positions may be either axis of size {first[0]}; it should have "
            f"{len(rows)} axes. A row for each sequence, [B, n]? positions[:, None]. One for each "
            "head, [H, n]? positions[None]"
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
