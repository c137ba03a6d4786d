"""What a part's answer must be: real numbers of one shape, finite."""

from collections.abc import Callable
from typing import Any

import numpy as np


class PartError(ValueError):
    """A part raised an error, or gave an answer that cannot be right."""


def checked(who: str, answer: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Check a part's answer.

    Args:
        who: the part, in the error's words
        answer: what it returned
        shape: that it should have
    Returns: the answer as an array
    Raises:
        PartError: other numbers or another shape; NaN, or what is infinite in float32
    """
    x = answer if isinstance(answer, np.ndarray) else np.asarray(answer)
    if x.dtype.kind != "f" or x.shape != shape:
        raise PartError(
            f"{who} returned {kind(answer)}; it should return real numbers of shape {list(shape)}"
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(x.astype(np.float32, copy=False))  # as the rest of the model is
    if not finite.all():
        n_bad = x.size - int(finite.sum())
        raise PartError(f"{who} returned {n_bad} of {x.size} numbers that are NaN or infinite")
    return x


def name_of(f: Callable) -> str:
    """The name of a function.

    Args:
        f: a function
    Returns: its name
    """
    return str(getattr(f, "__name__", repr(f)))


def kind(answer: Any) -> str:
    """Say what an answer is, in a few words.

    Args:
        answer: anything
    Returns: such as "an array of float32, shape [1, 9, 5, 1]"
    """
    if isinstance(answer, np.ndarray):
        return f"an array of {answer.dtype}, shape {list(answer.shape)}"
    if isinstance(answer, tuple | list):
        return f"a {type(answer).__name__} of {len(answer)}"
    return f"{type(answer).__name__} {answer!r:.40}"
