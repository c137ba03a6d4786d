"""Read a learner's answer as arrays, and say in words what else it is or where it failed."""

import linecache
import numbers
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np


def to_array(value: Any, name: str = "an array of numbers") -> np.ndarray:
    """Read an answer as an array.

    Args:
        value: a number, a list, a NumPy array, or a torch tensor on any device
        name: what it should be, for the message
    Returns: an array of booleans, integers or floats, of any shape
    Raises:
        ValueError: it does not hold numbers, or an array holds them as objects
    """
    parts = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(part, np.ndarray) and part.dtype.kind == "O" for part in parts):
        raise ValueError(
            f"Your function should return {name}; it returned an array of dtype object. Give it "
            "another: .astype(float), or .astype(bool) for a mask."
        )
    try:
        array = np.asarray(_plain(value))
        real = (isinstance(x, numbers.Real | Decimal) for x in array.flat)
        if array.dtype.kind == "O" and array.size and all(real):
            array = array.astype(np.float64)
    except (ValueError, TypeError, RuntimeError, RecursionError, OverflowError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or np.ma.is_masked(value):
        raise ValueError(f"Your function should return {name}; it returned {kind(value)}.")
    return array


def _plain(value: Any) -> Any:
    """The value with NumPy arrays in place of torch tensors, in lists too."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value] if any(map(_is_tensor, value)) else value
    if not _is_tensor(value):
        return value
    tensor = value.detach().cpu()
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError):  # bfloat16, sparse, conjugated
        return (tensor.to_dense() if tensor.is_sparse else tensor).float().numpy()


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach")


def identical(a: Any, b: Any) -> bool:
    """Whether two inputs are the same bit for bit; if not, one was changed in place.

    Args:
        a, b: numbers, text, arrays, or lists, tuples or dicts of them
    Returns: False if a length, dtype, shape or bit differs
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(identical(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(identical(a[key], b[key]) for key in a)
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind == "O":
        return type(a).__eq__ is object.__eq__ or bool(np.all(a == b))
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def kind(value: Any) -> str:
    """Name the kind of a value for a message.

    Args:
        value: anything
    Returns: for example "None", "dict" or "a list of 3"
    """
    if value is None or value is ...:
        return str(value) if value is None else "..."
    if np.ma.is_masked(value):
        return "a masked array with entries left out"
    if isinstance(value, list | tuple):
        rows = [row for row in value if isinstance(row, list | tuple | np.ndarray)]
        ragged = isinstance(value, list) and len(set(map(np.size, rows))) > 1
        return f"a {type(value).__name__} of {len(value)}" + (" unequal rows" if ragged else "")
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype}"
    return f"{type(value).__name__}"


_INDEXED = (
    "A mask in [ ] must have the very shape of what it picks from. This one has fewer axes, or "
    "axes of length 1: np.where(mask, a, b) broadcasts it."
)


def where_it_failed(f: Callable, error: BaseException) -> str:
    """Show the exception, and the line of the learner's function that raised it.

    Args:
        f: the learner's function
        error: what it raised
    Returns: one or two lines, indented
    """
    try:
        text = str(error)
    except Exception:
        text = ""
    what = " ".join(f"{type(error).__name__}: {text}".rstrip(": ").split())
    if len(what) > 160:
        what = what[:157] + "..."
    if isinstance(error, SystemExit):
        return "  Your function ended Python (exit, quit or sys.exit). Let it `return` instead."
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(getattr(f, "__wrapped__", f), "__code__", None)  # a check may wrap f
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    if not own and isinstance(error, TypeError):
        return f"  Your function could not be called as the exercise says. {what}"
    if not own:
        return f"  Your function raised {what}"
    line = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    said = f"  Your function raised {what}\n  in line {own[-1].lineno}: {line}"
    return f"{said}\n  {_INDEXED}" if "boolean index did not match" in text else said
