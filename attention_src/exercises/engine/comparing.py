"""Compare a learner's answer with the right one, and describe the first difference."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.messages import is_large, labelled, text_of

# What an answer of this dtype, or to an input of this dtype, can be expected to hold: relative and
# absolute tolerance. The absolute one grows with the largest entry above 1.
PRECISION = {2: (2e-2, 1e-6), 4: (2e-5, 1e-6), 8: (1e-9, 1e-10)}

_NEARLY = "digits are judged. Was anything rounded, added, or did it pass through float32?"


def tolerance(inputs: Any = ()) -> tuple[float, float]:
    """How close an answer must be: as its inputs allow.

    Args:
        inputs: of the case, nested lists and tuples of numbers and arrays
    Returns: relative and absolute tolerance
    """
    return PRECISION[max(min([8, *_float_sizes(inputs)]), 2)]


def _float_sizes(inputs: Any) -> list[int]:
    """The bytes of each NumPy float among the inputs."""
    if isinstance(inputs, list | tuple):
        return [size for item in inputs for size in _float_sizes(item)]
    if isinstance(inputs, np.ndarray | np.generic) and inputs.dtype.kind == "f":
        return [min(inputs.dtype.itemsize, 8)]
    return []


def close(
    answer: np.ndarray, expected: np.ndarray, rtol: float | None = None, inputs: Any = ()
) -> np.ndarray:
    """Compare entry by entry; NaN equals NaN.

    Args:
        answer, expected: arrays of one shape
        rtol: relative tolerance; None = as the dtypes of the inputs allow; 0 = to the last bit
        inputs: of the case
    Returns: bool, of the same shape
    """
    if rtol == 0:
        return np.asarray((answer == expected) | (np.isnan(answer) & np.isnan(expected)))
    relative, absolute = tolerance(inputs)
    if rtol:
        relative, absolute = rtol, min(absolute, rtol)
    closely = relative < PRECISION[8][0]  # then of the largest entry, however small it is
    a, b = answer.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    # In float16 a long row of weights lies near the absolute tolerance: shrink that with the row.
    least = 0.0 if closely else 0.1 if tolerance(inputs) == PRECISION[2] else 1.0
    scale = max(least, finite.max(initial=0.0))
    absolute *= scale
    if expected.dtype.kind in "iu":  # a large whole number has no digits to spare
        absolute = min(absolute, 1e-3)
    return np.asarray(np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True))


def compare(
    expected: list[np.ndarray],
    answer: list[np.ndarray],
    names: tuple[str, ...] = (),
    rtol: float | None = None,
    inputs: Any = (),
) -> tuple[str, tuple[int, ...]]:
    """Describe the first difference: of shape, then of dtype, then of values.

    Args:
        expected, answer: lists of arrays, of one length
        names: of the arrays, if there are several
        rtol, inputs: as for `close`
    Returns: lines to print, "" when there is no difference; and the indices of the row shown,
        () if all is shown
    """
    for i, (right, yours) in enumerate(zip(expected, answer, strict=True)):
        part = f"{names[i]} " if names else ""
        if right.shape != yours.shape:
            return (
                f"  expected {part}of shape {right.shape}\n  yours    {part}of shape {yours.shape}"
            ), ()
        if right.dtype == bool and yours.dtype != bool:
            return _not_boolean(part, yours), ()
        agrees = close(yours, right, rtol, inputs)
        double = right.dtype.kind == "f" and tolerance(inputs) == PRECISION[8]
        nine = double and (rtol is None or rtol < PRECISION[8][0])
        if agrees.all():
            continue
        least = min(4, *_float_sizes(inputs), 8)
        holds_digits = yours.dtype.kind == "f" and yours.dtype.itemsize >= least
        whole_number = yours.ndim == 0 and yours.dtype.kind in "biu"  # Python's own int: fine
        if right.dtype.kind == "f" and not (holds_digits or whole_number):
            origin = " Was it made from the input, as zeros_like does?" if yours.ndim else ""
            return (
                f"  expected {part}of dtype float64{' (or float32)' * (not nine)}\n"
                f"  yours    {part}of dtype {yours.dtype}, which cannot hold the digits.{origin}"
            ), ()
        lines, row = _values(part, right, yours, agrees)
        rounding = 2e-7 * np.abs(right[np.isfinite(right)]).max(initial=0.0)  # float32's
        if nine and np.allclose(yours, right, 2e-5, rounding, equal_nan=True):
            lines += f"\n  {'Nine' if rtol is None else 'Twelve' if rtol else 'All'} {_NEARLY}"
        return lines, row
    return "", ()


def _not_boolean(part: str, yours: np.ndarray) -> str:
    only_01 = yours.size and np.isin(yours, (0, 1)).all()
    hint = ", zeros and ones. Make it boolean: a comparison, or .astype(bool)" if only_01 else ""
    return f"  expected {part}of dtype bool\n  yours    {part}of dtype {yours.dtype}{hint}"


def _values(
    part: str, right: np.ndarray, yours: np.ndarray, agrees: np.ndarray
) -> tuple[str, tuple[int, ...]]:
    """Both answers, or their first row that differs if they are large; what else can be said."""
    row: tuple[int, ...] = ()
    if is_large(right):
        row = tuple(int(i) for i in np.argwhere(~agrees)[0][:-1])
        part = f"{part}{list(row)} "
    shown = [labelled(f"expected {part}=", right[row]), labelled(f"yours    {part}=", yours[row])]
    if np.isnan(yours[row]).any() and not np.isnan(right[row]).any():
        shown.append('  nan is "not a number": inf - inf, 0 / 0 or inf / inf makes one.')
    elif text_of(right[row]) == text_of(yours[row]):
        difference = np.abs(right[row].astype(float) - yours[row])[~agrees[row]].max()
        shown.append(f"  The largest difference is {difference:.2g}.")
    return "\n".join(shown), row
