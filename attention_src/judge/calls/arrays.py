"""Arrays of NumPy, torch and jax, in any layout. The libraries are imported by whoever uses them.

In a layout B is texts, H heads (G of keys), n tokens (q of queries, k of keys), d numbers. A letter
is an axis, letters in brackets are merged into one: "BHnd", "Bn(Hd)". `e` is the width of values.
All axes of a case have different lengths, so a shape says what an axis is.
"""

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import Any

import numpy as np

from attention_src.judge.report import Draft

Array = np.ndarray
Sizes = dict[str, int]
Convert = tuple[str, Callable[[Array], Any], Callable[[Any], Array]]  # name, from NumPy, to NumPy


def frameworks(code: Callable | None, only: str | None = "") -> Iterator[Convert]:
    """What arrays a function may want, likeliest first: what its file imports, then NumPy."""
    space = getattr(inspect.unwrap(code), "__globals__", {}) if code else {}
    values = list(space.values())
    roots = {str(getattr(x, "__module__", None) or getattr(x, "__name__", "")) for x in values}
    roots |= {*getattr(getattr(code, "__code__", None), "co_names", ())}  # imported inside it
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


def parts(layout: str) -> list[str]:
    """ "Bn(Hd)" -> B, n, Hd: the axes, each with the letters that were merged into it."""
    return [part.strip("()") for part in re.findall(r"\(\w+\)|\w", layout)]


def encode(x: Array, axes: str, layout: str) -> Array:
    """A new array, in another layout; where that lacks an axis, its first entry is taken."""
    sizes = dict(zip(axes, x.shape, strict=True)) | {"1": 1}
    for a in axes:
        if a not in layout:
            x, axes = x.take(0, axis=axes.index(a)), axes.replace(a, "")
    x = x.transpose([axes.index(a) for a in layout if a in axes])
    shape = [math.prod(sizes[a] for a in part) for part in parts(layout)]
    return np.array(x.reshape(shape), order="C")


def decode(
    y: Array, axes: str, sizes: Sizes, layout: str, known: str = ""
) -> tuple[Array, str] | None:
    """An answer with our axes, such as "BHqe", and its layout; None if no layout has its shape.

    B or H may be missing in `layout`, that of the arguments, and then in the answer; `known` is the
    answer's, if it is known already.
    """
    absent = [a for a in "BH" if a not in layout]
    here = [a for a in axes if a not in absent]
    for order in map("".join, permutations(here)):
        merged = order[:-2] + f"({order[-2:]})" if order[-2:-1] == "H" else order
        for found in (order, merged):
            shape = tuple(math.prod(sizes[a] for a in part) for part in parts(found))
            if known in ("", found) and shape == y.shape:
                y = y.reshape([sizes[a] for a in order])
                y = y.transpose([order.index(a) for a in here])
                return y.reshape([1 if a in absent else sizes[a] for a in axes]), found
    return None


def in_words(layout: str) -> str:
    """A layout as people write it: "[B, n_q, H·d]"."""
    names = {"q": "n_q", "k": "n_k", "e": "d", "G": "H_kv"}
    return "[" + ", ".join("·".join(names.get(a, a) for a in part) for part in parts(layout)) + "]"


def absent(layout: str) -> Sizes:
    """Axes that a layout lacks have length 1."""
    return {a: 1 for a in "BHG" if a.replace("G", "H") not in layout}


def placed(layout: str, axes: str) -> str:
    """A layout for one array: "BHnd" for keys, whose axes are "BGkd", is "BGkd"."""
    return layout.replace("n", axes[2]).replace("d", axes[3]).replace("H", axes[1])
