"""The check of the least times of a chain of steps, apart and fused."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _chain_time(flops: Array, sizes: Array, peak: float, bandwidth: float) -> tuple[Any, Any]:
    moved = sizes[:-1] + sizes[1:]
    apart = np.maximum(flops / peak, moved / bandwidth).sum()
    return apart, max(flops.sum() / peak, (sizes[0] + sizes[-1]) / bandwidth)


def _with(
    apart: Callable = lambda a, b: np.maximum(a, b).sum(),
    fused: Callable = lambda a, ends, all_: max(a.sum(), ends),
    moved: Callable = lambda s: s[:-1] + s[1:],
    exchange: bool = False,
) -> Callable:
    """The two times with something else about them; a and b are seconds of each step."""

    def chain_time(flops: Array, sizes: Array, peak: float, bandwidth: float) -> tuple[Any, Any]:
        a, b = flops / peak, moved(sizes) / bandwidth
        ends, all_ = (sizes[0] + sizes[-1]) / bandwidth, b.sum()
        both = apart(a, b), fused(a, ends, all_)
        return both[::-1] if exchange else both

    return chain_time


_MISTAKES = [
    Mistake(
        "total instead of each",
        _with(apart=lambda a, b: max(a.sum(), b.sum())),
        "You took one maximum of two totals for the separate steps. Each waits for its own: a "
        "step that computes does not overlap with the next one's reading.",
    ),
    Mistake(
        "arithmetic and memory added",
        _with(apart=lambda a, b: (a + b).sum(), fused=lambda a, ends, all_: a.sum() + ends),
        "You added the two times. They overlap: take the longer one.",
    ),
    Mistake(
        "the shorter time",
        _with(
            apart=lambda a, b: np.minimum(a, b).sum(),
            fused=lambda a, ends, all_: min(a.sum(), ends),
        ),
        "You took the shorter of the two times; a step is done when both are.",
    ),
    Mistake(
        "each array moved once",
        _with(moved=lambda s: s[1:] + s[:1].repeat(len(s) - 1) * (np.arange(len(s) - 1) == 0)),
        "Between two steps an array is moved twice: written by one, read by the next.",
    ),
    Mistake(
        "only reads",
        _with(moved=lambda s: s[:-1]),
        "A step writes its result too.",
    ),
    Mistake(
        "only writes",
        _with(moved=lambda s: s[1:]),
        "A step reads its input too.",
    ),
    Mistake(
        "fused still moves everything",
        _with(fused=lambda a, ends, all_: max(a.sum(), all_)),
        "Your fused kernel still moves what lies between the steps. It keeps that on the chip.",
    ),
    Mistake(
        "fused, longest step",
        _with(fused=lambda a, ends, all_: max(a.max(), ends)),
        "The fused kernel makes the operations of all steps, not only of the longest.",
    ),
    Mistake(
        "exchanged",
        _with(exchange=True),
        "The two are exchanged: first apart, then fused.",
    ),
]


def _draw(rng: np.random.Generator) -> tuple:
    n_steps = int(rng.integers(1, 7))
    flops = 10 ** rng.uniform(6, 12, n_steps) * (rng.random(n_steps) < 0.9)
    sizes = 10 ** rng.uniform(5, 10, n_steps + 1) * (rng.random(n_steps + 1) < 0.9)
    return flops, sizes, 10 ** rng.uniform(11, 15), 10 ** rng.uniform(10, 13)


def _case(name: str, flops: list, sizes: list, peak: float, bandwidth: float) -> Case:
    return Case(name, (np.array(flops, float), np.array(sizes, float), peak, bandwidth))


CHAIN_TIME = Check(
    "chain_time",
    reference=_chain_time,
    cases=[
        _case("two steps, memory decides", [10, 20], [400, 800, 200], 100.0, 10.0),
        _case("one step", [50], [100, 300], 10.0, 200.0),
        _case("one computes, one moves", [9000, 10], [40, 8, 4000], 100.0, 10.0),
        _case("arithmetic decides", [700, 900, 500], [2, 4, 8, 16], 100.0, 10.0),
        _case("no operations", [0, 0], [10, 50, 30], 100.0, 10.0),
        _case(
            "nine steps",
            [10, 90, 20, 80, 30, 70, 40, 60, 50],
            [4, 1, 7, 2, 9, 3, 8, 5, 6, 4],
            10.0,
            1.0,
        ),
        _case("nothing is moved", [30, 70], [0, 0, 0], 100.0, 10.0),
    ],
    draw=_draw,
    mistakes=_MISTAKES,
    returns=("apart", "fused"),
    hints=[
        "Which bytes does step 0 move? sizes[0] and sizes[1].",
        "moved = sizes[:-1] + sizes[1:]; what is the bound of each step?",
        "apart = maximum(flops / peak, moved / bandwidth).sum()",
    ],
)


def check_chain_time(f: Any) -> Result:
    """Check f(flops, sizes, peak, bandwidth) -> (apart, fused), in seconds.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return CHAIN_TIME.run(f)
