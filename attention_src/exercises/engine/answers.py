"""Read a learner's answer as arrays, compare it with the right one, and print it."""

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np


def to_array(value: Any, name: str = "an array of numbers") -> np.ndarray:
    """Read an answer as an array.

    Args:
        value: a number, a list, a NumPy array, or a torch tensor on any device
        name: what it should be, for the message
    Returns: an array of booleans, integers or floats, of any shape
    Raises:
        ValueError: it does not hold numbers
    """
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except (ValueError, TypeError, RuntimeError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"Your function should return {name}; it returned {kind(value)}.")
    return array


def compare(
    expected: list[np.ndarray],
    answer: list[np.ndarray],
    names: tuple[str, ...] = (),
    rtol: float | None = None,
) -> str:
    """Describe the first difference: of shape, then of dtype, then of values.

    Args:
        expected, answer: lists of arrays, of one length
        names: of the arrays, if there are several
        rtol: as for `close`
    Returns: lines to print; "" when there is no difference
    """
    for i, (right, yours) in enumerate(zip(expected, answer, strict=True)):
        part = f"{names[i]} " if names else ""
        if right.shape != yours.shape:
            return (
                f"  expected {part}of shape {right.shape}\n  yours    {part}of shape {yours.shape}"
            )
        if right.dtype == bool and yours.dtype != bool:
            return f"  expected {part}of dtype bool\n  yours    {part}of dtype {yours.dtype}"
        if close(yours, right, rtol).all():
            continue
        holds_digits = yours.dtype.kind == "f" and yours.dtype.itemsize >= 4
        if right.dtype.kind == "f" and not holds_digits:
            return (
                f"  expected {part}of dtype float64 (or float32)\n"
                f"  yours    {part}of dtype {yours.dtype}, which cannot hold the digits. "
                "Was it made from the input, as zeros_like does?"
            )
        shown = [
            labelled(f"expected {part}=", right),
            labelled(f"yours    {part}=", yours),
        ]
        if np.isnan(yours).any() and not np.isnan(right).any():
            shown.append('  nan is "not a number": inf - inf, 0 / 0 or inf / inf makes one.')
        elif _text(right) == _text(yours):
            shown.append(f"  The largest difference is {np.abs(right - yours).max():.2g}.")
        return "\n".join(shown)
    return ""


def close(answer: np.ndarray, expected: np.ndarray, rtol: float | None = None) -> np.ndarray:
    """Compare entry by entry, as closely as the answer's dtype allows; NaN equals NaN.

    Args:
        answer, expected: arrays of one shape
        rtol: relative tolerance; None = 1e-5 for float32, 1e-7 otherwise
    Returns: bool, of the same shape
    """
    if rtol is None:
        rtol = 1e-5 if answer.dtype == np.float32 else 1e-7
    a, b = answer.astype(np.float64), expected.astype(np.float64)
    return np.asarray(np.isclose(a, b, rtol=rtol, atol=rtol / 10, equal_nan=True))


def identical(a: Any, b: Any) -> bool:
    """Whether two inputs are the same bit for bit; if not, one was changed in place.

    Args:
        a, b: numbers, arrays, or lists or tuples of them
    Returns: False if a length, dtype, shape or bit differs
    """
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(identical(x, y) for x, y in zip(a, b, strict=True))
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _text(value: Any) -> str:
    """A number, array or list of arrays with four decimals, shortened if it is long."""
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.4g}"
    return np.array2string(array, precision=4, suppress_small=True, threshold=40, edgeitems=3)


def labelled(label: str, value: Any) -> str:
    """Format `label value`, with the lines of a matrix aligned.

    Args:
        label: printed before the value
        value: a number, an array or a list of arrays
    Returns: one or more lines, indented
    """
    first = f"  {label} "
    return first + _text(value).replace("\n", "\n" + " " * len(first))


def kind(value: Any) -> str:
    """Name the kind of a value for a message.

    Args:
        value: anything
    Returns: for example "None", "dict" or "a list of 3"
    """
    if value is None or value is ...:
        return str(value) if value is None else "..."
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{type(value).__name__}"


def how_to_start(error: Exception | None) -> str:
    """Tell a learner what to do with an unfinished function.

    Args:
        error: what the function raised; None = nothing
    Returns: one or two sentences
    """
    if isinstance(error, NotImplementedError):
        return "Fill in the cell above, then run both."
    return "Your function returns nothing yet. If you have written it, end it with `return`."


def where_it_failed(f: Callable, error: Exception) -> str:
    """Show the exception, and the line of the learner's function that raised it.

    Args:
        f: the learner's function
        error: what it raised
    Returns: one or two lines, indented
    """
    what = f"{type(error).__name__}: {error}".rstrip()
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(f, "__code__", None)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    if not own:
        return f"  Your function could not be called as the exercise says. {what}"
    line = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    return f"  Your function raised {what}\n  in line {own[-1].lineno}: {line}"
