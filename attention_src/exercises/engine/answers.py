"""What a learner's function returned: read it as arrays, compare it, show it in few digits."""

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
    """The first difference in words: shape, then dtype, then values.

    Args:
        expected, answer: the parts of either
        names: of the parts, if there are several
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
    """Where the two agree, as far as the answer's dtype allows; NaN agrees with NaN.

    Args:
        answer, expected: of one shape
        rtol: relative tolerance; None = 1e-5 for float32, 1e-7 otherwise
    Returns: bool, of their shape
    """
    if rtol is None:
        rtol = 1e-5 if answer.dtype == np.float32 else 1e-7
    a, b = answer.astype(np.float64), expected.astype(np.float64)
    return np.asarray(np.isclose(a, b, rtol=rtol, atol=rtol / 10, equal_nan=True))


def identical(a: Any, b: Any) -> bool:
    """Whether two inputs are the same bit for bit; if not, one was changed in place."""
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
    """`label value`, with the further lines of a matrix aligned under its first."""
    first = f"  {label} "
    return first + _text(value).replace("\n", "\n" + " " * len(first))


def kind(value: Any) -> str:
    """The kind of a value for a message, as in "None", "dict" or "a list of 3"."""
    if value is None or value is ...:
        return str(value) if value is None else "..."
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{type(value).__name__}"


def how_to_start(error: Exception | None) -> str:
    """What a learner should do with an unfinished function."""
    if isinstance(error, NotImplementedError):
        return "Fill in the cell above, then run both."
    return "Your function returns nothing yet. If you have written it, end it with `return`."


def where_it_failed(f: Callable, error: Exception) -> str:
    """The exception, and the line of the learner's function that raised it."""
    what = f"{type(error).__name__}: {error}".rstrip()
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(f, "__code__", None)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    if not own:
        return f"  Your function could not be called as the exercise says. {what}"
    line = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    return f"  Your function raised {what}\n  in line {own[-1].lineno}: {line}"
