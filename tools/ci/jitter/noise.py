"""Noise as between processors, in what NumPy computes; `noise_torch` adds torch.

The variable JITTER_SEED names an imaginary processor, 1, 2, …, which differs from this one as real
ones differ:

- A product or a sum over k terms is cut in two, at a place that depends on the seed and the shapes,
  and the results of the parts are added: another order of the same sum. What is exact stays exact.
- exp and its like give the float above or below for half of their values, chosen by a hash of value
  and seed. Values with a short mantissa (0, 1, a half) are taken for exact and kept.

The same call gives the same twice. Seed 0 has no noise: what fails then fails anyway. More noise,
or noise on the results of sums, would break what is exact on every processor (a rank, a cosine of
1): false alarms.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import random
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

SEED = int(os.environ.get("JITTER_SEED", 0))
# NumPy's functions and .methods, by what happens to them.
PRODUCTS = {"@", "matmul", "dot", ".dot"}
SUMS = {"sum", "mean", ".sum", ".mean"}
_ROUNDED = """exp exp2 expm1 log log2 log10 log1p logaddexp sin cos tan tanh arccos arctan2
    std var .std .var linalg.norm linalg.solve linalg.inv polyfit corrcoef"""
ROUNDED = set(_ROUNDED.split())
NAMES = PRODUCTS | SUMS | ROUNDED | {"einsum"}


def quiet() -> bool:
    """Whether there is no noise now: it would be counted where memory is measured."""
    return SEED == 0 or tracemalloc.is_tracing()


def halves(f: Callable, arrays: Sequence[Any], axes: Sequence[int | None]) -> Any:
    """Add what f gives for two parts of arrays, of NumPy or torch.

    Args:
        f: sums over the axes
        axes: one for each array, counted from the end; None for an array that is not cut
    """
    pairs = list(zip(arrays, axes, strict=True))
    (k, *others) = {x.shape[axis] for x, axis in pairs if axis is not None}
    if others or k < 2:  # f knows what to do, or to say
        return f(*arrays)
    cut = 1 + hash((SEED, *(n for x in arrays for n in x.shape))) % (k - 1)

    def part(piece: slice) -> Any:
        return f(
            *(
                x if axis is None else x[(..., piece, *[slice(None)] * (-1 - axis))]
                for x, axis in pairs
            )
        )

    return part(slice(cut)) + part(slice(cut, k))


def product(f: Callable, a: Any, b: Any) -> Any:
    """The matrix product f(a, b), its terms added in another order."""
    return halves(f, (a, b), (-1, -min(b.ndim, 2)))


def total(f: Callable, x: Any, axes: int | Sequence[int] | None, mean: bool) -> Any:
    """The sum f(x) over axes (None: all), or from it the mean."""
    axes = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    if not axes:
        return f(x)
    longest = max(axes, key=lambda axis: x.shape[axis])
    y = halves(f, [x], [longest % x.ndim - x.ndim])
    return y / math.prod(x.shape[axis] for axis in axes) if mean else y


def shake(bits: Any, size: int) -> None:
    """Move floats, given as integers of so many bytes, by a unit of their last place, in place."""
    odd = random.Random(SEED).getrandbits(8 * size - 2) | 1
    top = (bits * odd) >> (8 * size - 2)  # the hash: -2, -1, 0 or 1
    long = (bits & (2 ** (2 * size) - 1)) != 0
    bits += ((top == 1) * 1 - (top == -1) * 1) * long


@functools.cache
def in_numpy(name: str) -> Callable:
    """What stands for a function of NumPy, for a .method, or for @."""
    import numpy as np

    f = operator.matmul if name == "@" else _method(name) or operator.attrgetter(name)(np)

    def noisy(*arguments: Any, **options: Any) -> Any:
        arrays = [x for x in arguments if isinstance(x, (np.ndarray, np.generic))]
        if quiet() or not arrays or not all(map(_is_rounded, arrays)):
            return f(*arguments, **options)
        if name in ROUNDED:
            return (
                f(*arguments, **options) if "out" in options else _shaken(f(*arguments, **options))
            )
        if name in SUMS:
            return _sum(f, *arguments, mean=name.endswith("mean"), **options)
        if name == "einsum" and not options:
            return _einsum(f, *arguments)
        if not options and len(arrays) == 2 and all(x.ndim for x in arrays):
            return product(f, *arrays)
        return f(*arguments, **options)

    return noisy


def _method(name: str) -> Callable | None:
    """The function of an array that its .method is; None if this is no method's name."""
    if not name.startswith("."):
        return None
    return lambda x, *others, **options: getattr(x, name[1:])(*others, **options)


def _is_rounded(x: Any) -> bool:
    """Whether this is float32 or float64 of NumPy, and not of a subclass."""
    import numpy as np

    return type(x) in (np.ndarray, np.float32, np.float64) and x.dtype in ("f4", "f8")


def _shaken(y: Any) -> Any:
    """A result of NumPy, moved."""
    import numpy as np

    if not _is_rounded(y):
        return y
    moved = np.array(y, order="C")
    shake(moved.reshape(-1).view(f"i{moved.itemsize}"), moved.itemsize)
    return moved if y.ndim else moved[()]


def _sum(f: Callable, x: Any, *others: Any, mean: bool, **options: Any) -> Any:
    """NumPy's sum or mean f of an array."""
    import numpy as np

    if (
        not getattr(x, "size", 0)
        or not x.ndim
        or others[1:]
        or not options.keys() <= {"axis", "keepdims"}
    ):
        return f(x, *others, **options)
    options |= dict(zip(["axis"], others, strict=False))
    return total(lambda x: np.sum(x, **options), x, options.get("axis"), mean)


def _einsum(f: Callable, letters: str, *arrays: Any) -> Any:
    """NumPy's einsum f, cut along the first letter that is summed."""
    terms, _, kept = letters.replace(" ", "").partition("->")
    summed = sorted(set(terms) - set(f"{kept}.,"))
    if not summed:
        return f(letters, *arrays)
    axes = [t.index(summed[0]) - len(t) if summed[0] in t else None for t in terms.split(",")]
    return halves(functools.partial(f, letters), arrays, axes)
