"""Checks of shapes: ValueErrors that name the argument, the sizes and the fix.

Works on NumPy arrays and torch tensors alike, and imports NumPy only.
"""

import math
import numbers
import operator
import re
from typing import Any

import numpy as np

# As str writes their names: torch.bfloat16, float32; >f4 is NumPy's float32 in another byte order.
FLOAT = re.compile(r"(torch\.)?b?float(16|32|64|96|128)|[<>]f(2|4|8|12|16)")


def check_dense(x: Any, name: str) -> None:
    """Check that a tensor or array holds all of its numbers, one beside the other.

    Args:
        x: tensor or array, or nested lists
        name: of the argument
    Raises:
        ValueError: a sparse or nested tensor, or an array of np.ma with masked entries, which
            np.asarray would unmask; says how to make it dense
    """
    if _has_masked(x):
        raise ValueError(
            f"{name} has masked entries of np.ma, and a plain array has none; it should hold "
            f"numbers only: {name}.filled(0), say. To hide keys pass mask="
        )
    if getattr(x, "is_nested", False):
        raise ValueError(
            f"{name} is a nested tensor; it should be dense: {name}.to_padded_tensor(0), and what "
            "it fills up should be hidden"
        )
    layout = str(getattr(x, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise ValueError(f"{name} has layout {layout}; it should be dense: {name}.to_dense()")


def _has_masked(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(_has_masked(row) for row in x if isinstance(row, list | tuple | np.ndarray))
    return isinstance(x, np.ndarray) and bool(np.ma.is_masked(x))


def is_float(dtype: Any) -> bool:
    """Whether a dtype is floating point with at least 16 bits, so that sums can be computed in it.

    Args:
        dtype: of NumPy or torch
    Returns: True for float16, bfloat16, float32, float64 and NumPy's longer ones
    """
    return FLOAT.fullmatch(str(dtype)) is not None


def as_array(x: Any, name: str) -> np.ndarray:
    """As np.asarray, but what is masked stays no number.

    Args:
        x: array or nested lists; a tensor on a CPU
        name: of the argument
    Returns: a plain array, without a copy if x is one
    Raises:
        ValueError: as `check_dense`; rows of different lengths
    """
    check_dense(x, name)
    try:
        return np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; pad them first") from None


def as_float64(x: Any, name: str) -> tuple[np.ndarray, np.dtype]:
    """Return x in float64, and the dtype of a reference's output for it.

    References compute in float64 and round once at the end.

    Args:
        x: NumPy array of any shape, or nested lists
        name: of the argument
    Returns:
        array: float64 (longdouble stays), not copied if it already is
        dtype: the output's: that of x, or float64 for integers
    Raises:
        ValueError: x is a torch tensor, is ragged, has masked entries, or does not hold real
            numbers
    """
    if hasattr(x, "detach"):
        raise ValueError(
            f"{name} is a torch tensor; this function is NumPy: pass {name}.detach().numpy(), "
            "or import the same function from layer instead of reference"
        )
    array = as_array(x, name)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} has dtype {array.dtype}; it should hold real numbers")
    answer = array.dtype if array.dtype.kind == "f" else np.dtype(np.float64)
    return array.astype(np.promote_types(array.dtype, np.float64), copy=False), answer


def check_shape(x: Any, name: str, axes: str, wanted: tuple[int, ...]) -> None:
    """Check that x has the one shape that is right.

    Args:
        x: array or tensor
        name: of the argument
        axes: what its axes are called, as in "[..., n]"
        wanted: the sizes they should have
    Raises:
        ValueError: "beta has shape [7]; it should be [..., n] = [2, 3, 7]"
    """
    if tuple(x.shape) != tuple(wanted):
        raise ValueError(f"{name} has shape {shape(x)}; it should be {axes} = {list(wanted)}")


def check_qkv(q: Any, k: Any, v: Any = None) -> None:
    """Check that the last two axes of queries, keys and values fit each other.

    Args:
        q: [..., n_q, d_k]
        k: [..., n_k, d_k]
        v: [..., n_k, d_v], or None where there are no values
    Raises:
        ValueError: names the axis that does not fit, e.g. "k has d_k=32 but q has d_k=64: ..."
    """
    for name, x, axes in (("q", q, "n_q, d_k"), ("k", k, "n_k, d_k"), ("v", v, "n_k, d_v")):
        if x is not None and len(x.shape) < 2:
            raise ValueError(f"{name} has shape {shape(x)}; it should be [..., {axes}]")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"k has d_k={k.shape[-1]} but q has d_k={q.shape[-1]}: queries and keys meet in a "
            "dot product, so their last axes should be equal. Project one of them, or look for a "
            "transposed argument"
        )
    if q.shape[-1] == 0:
        raise ValueError("q has d_k=0; a query should have at least one component")
    if v is not None and v.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"v has n_k={v.shape[-2]} but k has n_k={k.shape[-2]}: each key carries one value, so "
            "axis -2 of both should be equal"
        )


def check_leading(q: Any, k: Any, v: Any = None) -> None:
    """Check that the axes before [n, d] broadcast against each other.

    Args:
        q: [..., n_q, d_k]
        k: [..., n_k, d_k]
        v: [..., n_k, d_v], or None
    Raises:
        ValueError: names the shapes; for grouped heads it says how to repeat k and v
    """
    leading = [tuple(x.shape[:-2]) for x in (q, k, v) if x is not None]
    try:
        np.broadcast_shapes(*leading)
    except ValueError:
        names = "q, k and v" if v is not None else "q and k"
        shown = ", ".join(str(list(axes)) for axes in leading)
        raise ValueError(
            f"{names} have leading axes {shown}, which do not broadcast. Grouped key/value heads? "
            "Here, repeat them first: np.repeat(k, H // H_kv, axis=-3), and v too"
        ) from None


def check_heads(q: Any, k: Any, v: Any) -> None:
    """Check the four axes that layers take, with grouped key/value heads.

    Args:
        q: [B, H, n_q, d_k]
        k: [B, H_kv, n_k, d_k]; H_kv divides H
        v: [B, H_kv, n_k, d_v]
    Raises:
        ValueError: names the axis that does not fit
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        if len(x.shape) != 4:
            raise ValueError(
                f"{name} has shape {shape(x)}; it should have the four axes [B, H, n, d]. "
                f"Add axes of size 1: {name}[None, None] makes [n, d] one batch and one head"
            )
    check_qkv(q, k, v)
    for name, x in (("k", k), ("v", v)):
        if x.shape[0] != q.shape[0]:
            raise ValueError(f"{name} has B={x.shape[0]} but q has B={q.shape[0]}")
    if k.shape[1] != v.shape[1]:
        raise ValueError(f"v has H_kv={v.shape[1]} heads but k has H_kv={k.shape[1]}")
    check_groups(q.shape[1], k.shape[1])


def check_groups(n_heads: int, n_kv_heads: int) -> int:
    """Return how many query heads share one key/value head.

    Args:
        n_heads: H, of q
        n_kv_heads: H_kv, of k and v
    Returns: H / H_kv
    Raises:
        ValueError: H_kv does not divide H
    """
    if n_kv_heads == 0 or n_heads % n_kv_heads:
        raise ValueError(
            f"k has H_kv={n_kv_heads} heads, which does not divide the H={n_heads} heads of q: "
            "each key/value head should serve equally many query heads"
        )
    return n_heads // n_kv_heads


def check_mask(mask: Any, target: tuple[int, ...], name: str = "mask") -> None:
    """Check that mask is boolean and broadcasts to the shape of the scores.

    Args:
        mask: bool, True = may attend
        target: shape of the scores, [..., n_q, n_k]
        name: of the argument
    Raises:
        ValueError: an additive or integer mask, or a shape that does not broadcast; a square
            batch, B = n_q, and a mask of two axes, which may mean [n_q, n_k] or [B, n_k]
    """
    check_boolean(mask, name)
    check_broadcast(mask, target, name)


def check_broadcast(x: Any, target: tuple[int, ...], name: str) -> None:
    """Check that a mask or a bias broadcasts to the scores, and that it is clear how.

    Args:
        x: a mask or a bias
        target: shape of the scores, [..., n_q, n_k]
        name: of the argument
    Raises:
        ValueError: a shape that does not broadcast; a square batch, B = n_q, and two axes, which
            may mean [n_q, n_k] or [B, n_k]
    """
    if len(target) == 4 and len(x.shape) == 2 and x.shape[0] == target[0] == target[2] > 1:
        raise ValueError(
            f"{name} has shape {shape(x)} and B = n_q = {target[0]}, so its first axis may be "
            f"either; it should have four axes. One row for each query? {name}[None, None]. One "
            f"for each sequence, as padding? {name}[:, None, None]"
        )
    try:
        fits = np.broadcast_shapes(tuple(x.shape), tuple(target)) == tuple(target)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} has shape {shape(x)}, which does not broadcast to [..., n_q, n_k] = "
            f"{list(target)}. One row for each sequence, [B, n_k]? {name}[:, None, None]"
        )


def check_boolean(mask: Any, name: str = "mask") -> None:
    """Check that mask is boolean.

    Args:
        mask: array or tensor of any shape
        name: of the argument
    Raises:
        ValueError: says how to turn an additive or a 0/1 mask into a boolean one; a sparse or
            nested tensor
    """
    check_dense(mask, name)
    if str(mask.dtype) in ("bool", "torch.bool"):
        return
    raise ValueError(
        f"{name} has dtype {mask.dtype}; it should be boolean with True = may attend. "
        f"{_hint_for_numbers(mask, name)}"
    )


def _hint_for_numbers(mask: Any, name: str) -> str:
    """What to do instead: an additive mask holds 0 and −inf or very low numbers, a bias others."""
    ones = mask == 1
    if not is_float(mask.dtype) or bool(ones.any() and (ones | (mask == 0)).all()):
        return f"A 0/1 mask where 1 = may attend? Pass {name} == 1. Where 1 = padding? {name} == 0"
    if bool(((mask != 0) & (mask > -1e4)).any()):
        return (
            "Its numbers are not only 0 and -inf, so it changes the scores of visible keys: that "
            "is a bias, not a mask. Functions that take one call it bias=, with -inf where hidden"
        )
    return f"An additive mask (0 = may attend, -inf = hidden)? Pass {name} == 0"


def check_scale(scale: Any, d_k: int) -> float:
    """Return the scale to use.

    Args:
        scale: a number, or None for d_k ** -0.5
        d_k: width of a query
    Returns: the scale as a float
    Raises:
        ValueError: not a finite number
    """
    if scale is None:
        return d_k**-0.5
    return check_number(scale, "scale", none=", or None for d_k ** -0.5")


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number, of Python or NumPy; True and False are none.

    Args:
        value: anything
    Returns: True for 1, 0.5, np.float32(0.5) and Fraction(1, 2); False for "1", NaN, arrays, and
        whole numbers that no float can hold
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_number(
    value: Any,
    name: str,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    none: str = "",
) -> float:
    """Check a real number.

    Args:
        value: of Python or NumPy
        name: of the argument
        at_least, above, below: its range
        none: for the message: what None means, where the caller takes it
    Returns: value as a float
    Raises:
        ValueError: value is not a finite number in range
    """
    number = float(value) if is_number(value) else math.nan
    if not (at_least <= number < below and number > above):
        bounds = (("of at least", at_least), ("above", above), ("below", below))
        limits = " and ".join(f"{word} {bound:g}" for word, bound in bounds if math.isfinite(bound))
        wanted = f"a finite number {limits}".rstrip() + none
        raise ValueError(f"{name} is {value!r}; it should be {wanted}")
    return number


def check_size(value: Any, name: str, *, at_least: int = 0) -> int:
    """Return value as an int.

    Args:
        value: an int or a NumPy integer
        name: of the argument
        at_least: the smallest value that is allowed
    Returns: the same number as an int
    Raises:
        ValueError: not a whole number, or below `at_least`
    """
    try:
        size = operator.index(value)
    except TypeError:
        size = None
    if size is None or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; it should be a whole number")
    if size < at_least:
        raise ValueError(f"{name} is {size}; it should be at least {at_least}")
    return size


def check_whole(x: Any, name: str, low: int, high: int) -> np.ndarray:
    """Return an array of lengths or of indices, all of them in range.

    Args:
        x: array or nested lists of whole numbers
        name: of the argument
        low, high: the smallest and the largest value that is allowed
    Returns: int64, of x's shape
    Raises:
        ValueError: not whole numbers, or one that is out of range
    """
    array = as_array(x, name)
    if array.dtype.kind not in "iu" and array.size:
        raise ValueError(f"{name} has dtype {array.dtype}; it should hold whole numbers")
    wrong = array[(array < low) | (array > high)]
    if wrong.size:
        limits = f"from {low} to {high}" if low <= high else "empty: there is nothing to choose"
        raise ValueError(f"{name} holds {wrong.flat[0]}; {name} should be {limits}")
    return array.astype(np.int64)


def check_flags(**flags: Any) -> None:
    """Check that each argument is True or False.

    Python takes the text "false" for true, so anything but a boolean is refused.

    Args:
        flags: by the names that a message should use
    Raises:
        ValueError: names the one that is neither
    """
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} is {value!r}; it should be True or False")


def check_impl(impl: str, choices: tuple[str, ...], name: str = "impl") -> None:
    """Check that impl, or another argument of that kind, is one of the choices.

    Args:
        impl: what the caller asks for; it is never replaced by another choice
        choices: the names allowed
        name: of the argument
    Raises:
        ValueError: lists the choices
    """
    if impl not in choices:
        raise ValueError(f"{name} is {impl!r}; it should be one of {', '.join(map(repr, choices))}")


def shape(x: Any) -> str:
    """The shape as the course writes it.

    Args:
        x: array or tensor
    Returns: "[2, 3]"
    """
    return str(list(x.shape))
