"""What a check tries: named cases, drawn cases, and the mistakes that it knows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src.exercises.engine.messages import describe


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


def drawn_cases(
    draw: Callable[[np.random.Generator], Any], count: int, inputs: list[str]
) -> list[Case]:
    """Draw cases from seeded generators, the same at each call; the smallest come first.

    Args:
        draw: draw(generator) -> a case's arguments, or a Case
        count: how many
        inputs: the names of the arguments
    Returns: the cases; one without a name is called by the shape of its first argument
    """
    cases = []
    for index in range(count):
        made = draw(np.random.default_rng([2026, index]))
        if not isinstance(made, Case):
            made = Case(f"drawn, {inputs[0]}: {describe(made[0])}", made)
        cases.append(made)
    return sorted(cases, key=lambda case: _size(case.args))


def _size(value: Any) -> int:
    """How many numbers an input holds."""
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return int(np.size(value))
