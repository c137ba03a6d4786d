"""What a check tries: named cases, drawn cases and their inputs, and the mistakes that it knows.

Inputs are drawn by a seeded generator, so that a learner who runs a check again meets the same
cases: shapes with axes of length 1, scores of every size, rows of weights. Few lengths are used:
many cases then share a shape and differ in values, which an answer that was kept by shape does not
survive.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src.exercises.engine.messages import describe, text_of


@dataclass(frozen=True)
class Case:
    """One input of an exercise.

    Args:
        name: what is particular about it
        args: the positional arguments
        max_bytes: how much memory the function may hold at once; None = any
        rtol: how close an answer must be, if the check's own tolerance is too wide to see what is
            tried: a small number in a sum, say; None = as the check says
    """

    name: str
    args: tuple
    max_bytes: int | None = None
    rtol: float | None = None


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give.

    Args:
        name: a few words, shown before the message
        wrong: a function that makes it
        message: what to tell the learner
    """

    name: str
    wrong: Callable
    message: str


@functools.lru_cache(maxsize=64)  # a check draws the same ones at each run
def drawn_cases(
    draw: Callable[[np.random.Generator], Any], count: int, inputs: tuple[str, ...]
) -> list[Case]:
    """Draw cases from seeded generators, the same at each call; the smallest come first.

    Args:
        draw: draw(generator) -> a case's arguments, or a Case
        count: how many
        inputs: the names of the arguments
    Returns: the cases; one without a name is called by the values of its numbers or, if it begins
        with an array, by that array's shape
    """
    cases = []
    for index in range(count):
        made = draw(np.random.default_rng([2026, index]))
        if not isinstance(made, Case):
            made = Case(f"drawn, {_called(made, inputs)}", made)
        cases.append(made)
    return sorted(cases, key=lambda case: _size(case.args))


def _called(args: tuple, inputs: tuple[str, ...]) -> str:
    """What tells a drawn case from others: its numbers, or the shape of its first argument."""
    if not isinstance(args[0], int | float | np.generic):
        return f"{inputs[0]}: {describe(args[0])}"
    pairs = zip(inputs, args, strict=True)
    return ", ".join(f"{name} = {text_of(value)}" for name, value in pairs if not np.ndim(value))


def _size(value: Any) -> int:
    """How many numbers an input holds."""
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return int(np.size(value))


def any_shape(
    rng: np.random.Generator, fewest: int = 1, most: int = 4, longest: int = 5
) -> tuple[int, ...]:
    """Draw a shape; a quarter of the axes have length 1.

    Args:
        rng: the generator
        fewest, most: how many axes
        longest: the longest axis; of three or more axes, one may be longer than 3
    Returns: the shape
    """
    n = int(rng.integers(fewest, most + 1))
    lengths = rng.integers(1, longest + 1, n)
    if n > 2:
        lengths = np.minimum(lengths, rng.permutation([longest] + [3] * (n - 1)))
    lengths[rng.random(n) < 0.1] = 1
    return tuple(int(length) for length in lengths)


def any_scores(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: type = np.float64
) -> np.ndarray:
    """Draw scores of one spread, from 0.1 to 3,000, around 0 or up to ±10^4.

    The rows may lie far apart, and the digits after the point do not fit in float32.

    Args:
        rng: the generator
        shape: of the array
        dtype: of the array; scores stay within ±300 in float16
    Returns: the scores
    """
    small = dtype == np.float16
    spread = rng.choice([0.1, 1.0, 5.0, 40.0 if small else 3000.0])
    centre = rng.choice([0.0, 0.0, -200.0, 200.0] if small else [0.0, 0.0, -9e3, 9e3])
    x = centre + spread * rng.uniform(-1, 1, shape) / 3
    if len(shape) > 1 and rng.random() < 0.3:  # rows far apart
        x = x + rng.choice([-100.0, 0.0, 50.0] if small else [-900.0, 0.0, 500.0], (*shape[:-1], 1))
    return np.asarray(x, dtype=dtype)


def any_weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw rows of weights over the last axis: sharp ones, flat ones, some with exact zeros.

    Args:
        rng: the generator
        shape: of the array
    Returns: the weights; each row sums to 1
    """
    s = rng.normal(0, rng.choice([0.3, 1.0, 4.0]), shape)
    if rng.random() < 0.3:
        s = np.where((rng.random(shape) < 0.3) & (s < s.max(axis=-1, keepdims=True)), -np.inf, s)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))
