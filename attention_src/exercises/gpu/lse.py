"""The check of a log-sum-exp of each row, by a kernel or not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _row_lse(s: Array) -> Array:
    wide = s.astype(np.float64)
    m = wide.max(axis=1)
    return np.asarray((m + np.log(np.exp(wide - m[:, None]).sum(axis=1))).astype(np.float32))


def _padded(s: Array, value: float) -> Array:
    """Rows as a program loads them: a power of two of numbers."""
    width = 1 << (s.shape[1] - 1).bit_length()
    return np.pad(s, ((0, 0), (0, width - s.shape[1])), constant_values=value)


def _neighbour(s: Array) -> Array:
    n_rows, n = s.shape
    width = 1 << (n - 1).bit_length()
    memory = np.concatenate([s.ravel(), np.full(width, -np.inf, s.dtype)])
    return _row_lse(np.stack([memory[i * n : i * n + width] for i in range(n_rows)]))


def _base_2(s: Array) -> Array:
    m = s.max(axis=1)
    return np.asarray(m + np.log2(np.exp(s - m[:, None]).sum(axis=1)))


def _of(f: Callable[[Array, Array], Array]) -> Callable[[Array], Array]:
    """A function of the table and its rows' maxima."""
    return lambda s: f(s, s.max(axis=1, keepdims=True))


_MISTAKES = [
    Mistake(
        "no maximum",
        lambda s: np.log(np.exp(s).sum(axis=1)),
        "exp of a large score overflows. Subtract the row's maximum, and add it at the end.",
    ),
    Mistake(
        "maximum not added",
        _of(lambda s, m: np.log(np.exp(s - m).sum(axis=1))),
        "You subtracted the maximum and did not add it again.",
    ),
    Mistake("maximum", lambda s: s.max(axis=1), "This is the maximum of each row."),
    Mistake(
        "sum",
        _of(lambda s, m: np.exp(s - m).sum(axis=1)),
        "This is l, the sum: take its log, add m.",
    ),
    Mistake(
        "padded by zero",
        lambda s: _row_lse(_padded(s, 0)),
        "Places behind the row were loaded as 0 and counted. Load them as -inf.",
    ),
    Mistake(
        "unmasked",
        _neighbour,
        "Your programs read into the next row: load with mask=j < n.",
    ),
    Mistake("base 2", _base_2, "tl.log2 is not tl.log."),
    Mistake("sign", lambda s: -_row_lse(s), "The sign is turned."),
    Mistake("first row", lambda s: _row_lse(s[:1].repeat(len(s), 0)), "All programs read row 0."),
    Mistake(
        "mean",
        lambda s: _row_lse(s) - np.float32(np.log(s.shape[1])),
        "This is the log of the mean of exponentials. Do not divide by n.",
    ),
]


def _draw(rng: np.random.Generator) -> tuple:
    shape = int(rng.integers(1, 4)), int(rng.choice([1, 2, 7, 31, 64]))
    return ((rng.normal(size=shape) * rng.choice([1, 30, 1000])).astype(np.float32),)


def _case(name: str, values: Any) -> Case:
    return Case(name, (np.array(values, np.float32),))


ROW_LSE = Check(
    "row_lse",
    reference=_row_lse,
    cases=[
        _case("two rows of three", [[0, 1, 2], [5, 3, 5]]),
        _case("one number", [[7]]),
        _case("large scores", [[9000, 10000, 9999], [-10000, -9999, -9998]]),
        _case("as low as announced, three columns", [[-10000, -10000, -10000]]),
        _case("five columns", np.arange(15).reshape(3, 5) - 6),
        _case("twenty rows", np.cos(np.arange(60.0)).reshape(20, 3) * 5),
        _case("64 columns", np.sin(np.arange(128.0)).reshape(2, 64)),
        _case("negative, seven columns", [[-30, -31, -32, -33, -34, -35, -36]]),
    ],
    draw=_draw,
    drawn=12,
    mistakes=_MISTAKES,
    rtol=1e-5,
    seconds=60,  # the first run on a GPU compiles
    hints=[
        "row = tl.program_id(0); the row begins at s_ptr + row * n.",
        "Load with mask=j < n and other=-float('inf'); then tl.max, tl.exp, tl.sum, tl.log.",
        "tl.store(lse_ptr + row, m + tl.log(l))",
    ],
)


def check_row_lse(f: Any) -> Result:
    """Check f(s), [n_rows, n] -> [n_rows], both float32.

    Args:
        f: the learner's function, which launches a kernel
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ROW_LSE.run(f)
