"""Arrays of NumPy, torch and jax. None is imported here: whoever uses it has imported it."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from attention_src.judge.report import Draft

Array = np.ndarray
Convert = tuple[str, Callable[[Array], Any], Callable[[Any], Array]]  # name, from NumPy, to NumPy


def frameworks(code: Callable | None, only: str | None = "") -> Iterator[Convert]:
    """What arrays a function may want, likeliest first: what its file imports, then NumPy."""
    space = getattr(inspect.unwrap(code), "__globals__", {}) if code else {}
    values = list(space.values())
    roots = {str(getattr(x, "__module__", None) or getattr(x, "__name__", "")) for x in values}
    used = [name for name in LIBRARIES if any(root.split(".")[0] == name for root in roots)]
    for name in dict.fromkeys([only] if only else [*used, *([] if space else LIBRARIES), "numpy"]):
        if name == "numpy" or name in sys.modules:
            yield (name, *LIBRARIES[name])
    if "torch" in (only, *used) and "torch" in sys.modules:  # for who makes float32 weights inside
        yield "torch float32", lambda x: tensor(x.astype("f4") if x.dtype == float else x), numbers


def tensor(x: Array) -> Any:
    """A torch tensor of its own memory."""
    return sys.modules["torch"].from_numpy(np.array(x))


def numbers(y: Any) -> Array:
    """A torch tensor's numbers, in float64 if they are floats."""
    return (y.double() if y.is_floating_point() else y).detach().cpu().numpy()


def first(y: Any) -> Any:
    """The answer, where more may be returned beside it."""
    return y[0] if isinstance(y, tuple | list) else y


def said(error: BaseException | None) -> str:
    """An error in one line, not too long."""
    return f"{type(error).__name__}: {error!s:.160}"


def running(draft: Draft, ways: Iterable[tuple], call: Callable) -> Iterator[tuple[tuple, Any]]:
    """Each way in which a call runs, and what it gives; if there is none, why not."""
    ran = False
    for way in ways:
        try:
            y = call(*way)
        except Exception as error:
            draft.why = "" if ran else f"It never ran; the last time: {said(error)}"
            continue
        ran, draft.why = True, ""
        yield way, y


LIBRARIES: dict[str, tuple[Callable, Callable]] = {
    "torch": (tensor, numbers),
    "jax": (lambda x: sys.modules["jax"].numpy.asarray(x), np.asarray),
    "numpy": (np.array, np.asarray),
}
