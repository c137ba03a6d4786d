"""The exercise in which the learner writes a gradient check: pairs to try it on."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.messages import Result
from attention_src.exercises.gradients import pairs

GRADIENT_CHECK = TestCheck(
    "my_gradient_check",
    right=[
        Implementation("five lines", pairs.pair_of(), "it is this chapter's own"),
        Implementation(
            "query by query", pairs.by_query, "a loop over the queries adds up the same"
        ),
        Implementation("whole Jacobian", pairs.by_jacobian, "it is the long way round"),
        Implementation(
            "no scale at all",
            pairs.pair_of(scale=1.0),
            "neither forward nor backward divides by sqrt(d_k): they belong together",
        ),
        Implementation(
            "a temperature",
            pairs.pair_of(scale=1.5),
            "forward and backward use the same factor, which is not 1/sqrt(d_k)",
        ),
        Implementation(
            "sigmoid",
            pairs.by_sigmoid,
            "it is no softmax attention, and the gradient is that of its own forward",
        ),
        Implementation(
            "rounded to float32",
            pairs.rounded,
            "its forward keeps seven digits, so a tiny nudge measures rounding: take h near 5e-3 "
            "and allow for 1 % of the largest entry",
        ),
    ],
    wrong=[
        Implementation("no scale", pairs.pair_of("no scale"), "its backward knows no scale"),
        Implementation("scale twice", pairs.pair_of("scale twice"), "dq and dk are scaled twice"),
        Implementation(
            "scale by d_v",
            pairs.pair_of("d_v"),
            "it divides by the root of d_v instead of d_k. Do your sizes differ?",
        ),
        Implementation("dk not scaled", pairs.pair_of("dk not scaled"), "dk alone lacks its scale"),
        Implementation(
            "dq too long",
            pairs.pair_of("dq too long"),
            "its dq alone is wrong, 3 % too long. Do you compare dq, and to 1 %?",
        ),
        Implementation(
            "no delta",
            pairs.pair_of("no delta"),
            "it leaves the mean of dp out; dv is right. Do you look at all three?",
        ),
        Implementation("plain mean", pairs.pair_of("plain mean"), "its delta is not weighted by p"),
        Implementation(
            "one delta",
            pairs.pair_of("one delta"),
            "all queries share a delta. Do you take several?",
        ),
        Implementation(
            "not transposed",
            pairs.pair_of("not transposed"),
            "dk is made from ds without its transpose where n_q = n_k lets that pass. Do you try "
            "such sizes?",
        ),
        Implementation(
            "dq and dk swapped",
            pairs.pair_of("dq and dk swapped"),
            "it swaps dq and dk where their shapes agree. Do you try such sizes?",
        ),
        Implementation(
            "dv reshaped", pairs.pair_of("dv reshaped"), "dv is made from p, regrouped; check dv"
        ),
        Implementation(
            "ones for do",
            pairs.pair_of("ones for do"),
            "it never looks at do, so it is right if do is all ones",
        ),
        Implementation(
            "last key",
            pairs.pair_of("last key"),
            "it forgets the last key's gradient. Do you compare each entry?",
        ),
        Implementation(
            "mask ignored", pairs.pair_of("mask ignored"), "its backward ignores the mask: pass one"
        ),
        Implementation(
            "polarity", pairs.pair_of("polarity"), "its backward reads the mask the other way round"
        ),
        Implementation(
            "zeroed after",
            pairs.pair_of("zeroed after"),
            "hidden keys still count in its sum. Do you hide some keys of a row, and not all?",
        ),
        Implementation(
            "empty row",
            pairs.pair_of("nan"),
            "it is right until a row of the mask is empty; then it is NaN. Is your comparison "
            "false for NaN?",
        ),
    ],
    hints=[
        "Loss: np.sum(do * forward(q, k, v, mask)). Nudge each entry of q, of k and of v by h.",
        "h = 5e-3, central differences, and a tolerance of 1 % of the largest nudged slope.",
        "Sizes (3, 5, 4, 2) and (4, 4, 4, 4); no mask, and one with an empty row; a random do.",
    ],
)


def check_gradient_check(test: Any) -> Result:
    """Check test(forward, backward), which raises AssertionError if the gradient is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return GRADIENT_CHECK.run(_Tried(test) if callable(test) else test)


class _Tried:
    """A learner's test as a function of one pair; messages show the test's own lines."""

    def __init__(self, test: Any) -> None:
        self.test = test
        self.__code__ = getattr(test, "__code__", None)

    def __call__(self, pair: Any) -> Any:
        def forward(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
            return pair("forward", q, k, v, _visible(q, k, mask))

        def backward(q: Any, k: Any, v: Any, do: Any, mask: Any = None) -> Any:
            return pair("backward", q, k, v, do, _visible(q, k, mask))

        return self.test(forward, backward)


def _visible(q: Any, k: Any, mask: Any) -> Any:
    return np.ones((len(q), len(k)), dtype=bool) if mask is None else mask
