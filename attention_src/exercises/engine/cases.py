"""What a check tries: named cases, drawn cases, and the mistakes that it knows."""

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
    """

    name: str
    args: tuple
    max_bytes: int | None = None


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
