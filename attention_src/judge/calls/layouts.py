"""Layouts of arrays: B texts, H heads (G of keys), n tokens (q of queries, k of keys), d numbers.

A letter is an axis, letters in brackets are merged into one: "BHnd", "Bn(Hd)". `e` is the width of
values. All axes of a case have different lengths, so a shape says what an axis is.
"""

import math
import re
from itertools import permutations
from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray
Sizes: TypeAlias = dict[str, int]


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
