"""Call a learner's function and observe it: answer, exception, changed inputs, memory."""

import copy
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import identical


@dataclass(frozen=True)
class Outcome:
    """What one call did.

    Args:
        answer: what it returned; None if it raised
        error: what it raised; None if it returned
        changed: indices of the inputs that it changed in place
        peak_bytes: the most memory that it held at once; 0 if not measured
        too_big: whether that exceeds the case's max_bytes
    """

    answer: Any = None
    error: Exception | None = None
    changed: tuple[int, ...] = ()
    peak_bytes: int = 0
    too_big: bool = False

    @property
    def blank(self) -> bool:
        """True if unfinished: f raised NotImplementedError, or returned only None or `...`."""
        parts = self.answer if isinstance(self.answer, tuple) else (self.answer,)
        return isinstance(self.error, NotImplementedError) or (
            self.error is None and all(part is None or part is ... for part in parts)
        )


def attempt(f: Callable, inputs: tuple, max_bytes: int | None = None) -> Outcome:
    """Call f on a copy of the inputs and record what happened.

    Args:
        f: a function of the inputs
        inputs: its positional arguments
        max_bytes: how much memory it may hold at once; None = any, not measured
    Returns: what happened; an exception of f is recorded, not raised
    """
    args = copy.deepcopy(inputs)
    measure = max_bytes is not None and not tracemalloc.is_tracing()
    if measure:
        tracemalloc.start()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer, error = f(*args), None
    except Exception as raised:
        answer, error = None, raised
    finally:
        peak = tracemalloc.get_traced_memory()[1] if measure else 0
        if measure:
            tracemalloc.stop()
    changed = tuple(i for i, arg in enumerate(args) if not identical(arg, inputs[i]))
    return Outcome(answer, error, changed, peak, measure and peak > (max_bytes or 0))
