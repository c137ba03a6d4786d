"""The ladders of the chapter on softmax: why the exponential, and the log-sum-exp.

Every right value is computed from its definition by another way than the one the learner derives.
"""

import math
from typing import Any

import numpy as np

from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.exercises.engine.messages import Result
from attention_src.softmax import reference

_THREE = 1.5e-3  # relative tolerance: these values are right to this when rounded to three digits
_FRUIT = np.array([4.2, 3.8, 0.6, -0.9])  # the chapter's scores


def _f(x: float) -> float:
    """A positive f with f(x + 1) = 3 f(x), and f(0) = 5."""
    return 5 * math.exp(x * math.log(3))


WHY_EXPONENTIAL = Ladder(
    "why_exponential",
    [
        Rung(
            "a",
            "g(2)",
            lambda: _f(2) / _f(0),
            [
                Reply(lambda: 6.0, "You doubled g(1). Two steps of 1 multiply twice by g(1)."),
                Reply(lambda: 5.0, "You added the steps. They multiply: g(c + d) = g(c) g(d)."),
            ],
            rtol=_THREE,
        ),
        Rung(
            "b",
            "g(-1)",
            lambda: _f(-1) / _f(0),
            [
                Reply(lambda: -3.0, "g is a ratio of positive numbers: it cannot be negative."),
                Reply(lambda: 3.0, "g(1) g(-1) = g(0). What is g(0)?"),
            ],
            hint="g(1) g(-1) = g(0) = 1.",
            rtol=_THREE,
        ),
        Rung(
            "c",
            "g(1/2)",
            lambda: _f(0.5) / _f(0),
            [Reply(lambda: 1.5, "Half of g(1) is 1.5, but two half steps MULTIPLY to g(1) = 3.")],
            hint="g(1/2) g(1/2) = g(1).",
            rtol=_THREE,
        ),
        Rung(
            "d",
            "g(2/3)",
            lambda: _f(2 / 3) / _f(0),
            [Reply(lambda: 2.0, "g is not proportional to its argument. g(1/3)^3 = 3 first.")],
            hint="g(1/3) is the cube root of 3; two such steps make g(2/3).",
            rtol=_THREE,
        ),
        Rung(
            "e",
            "the temperature",
            lambda: 1 / math.log(_f(1) / _f(0)),
            [
                Reply(lambda: math.log(3), "This is b = log 3. The temperature is 1 / b."),
                Reply(lambda: 1 / math.log10(3), "Use the natural logarithm."),
                Reply(lambda: 1 / 3, "b is not 3: exp(b) is."),
            ],
            hint="g(x) = exp(b x) with g(1) = 3, and b = 1 / temperature.",
            rtol=_THREE,
        ),
        Rung(
            "f",
            "the weight of the leading key",
            lambda: _f(1) / (_f(1) + _f(0)),
            [
                Reply(lambda: 1 / (1 + math.exp(-1)), "That is for b = 1. Here g(1) = 3, not e."),
                Reply(lambda: _f(0) / (_f(1) + _f(0)), "That is the other key's weight."),
                Reply(lambda: 3.0, "That is the ratio of the two weights. They sum to 1."),
            ],
            rtol=_THREE,
        ),
    ],
)


def _slope(i: int) -> float:
    """The derivative of lse by score i, by differences."""
    step = np.zeros(4)
    step[i] = 1e-5
    return float(
        (reference.log_sum_exp(_FRUIT + step) - reference.log_sum_exp(_FRUIT - step)) / 2e-5
    )


def _merged(lse: tuple[float, float], outputs: tuple[float, float]) -> float:
    """The output over two blocks, from each block's lse and output."""
    total = np.logaddexp(*lse)
    return float(sum(math.exp(a - total) * o for a, o in zip(lse, outputs, strict=True)))


LOG_SUM_EXP = Ladder(
    "log_sum_exp",
    [
        Rung(
            "a",
            "lse of the four scores",
            lambda: math.log(sum(math.exp(x) for x in _FRUIT)),
            [
                Reply(lambda: sum(math.exp(x) for x in _FRUIT), "Now take the logarithm."),
                Reply(lambda: _FRUIT.sum(), "This is the sum of the scores, without exp and log."),
                Reply(lambda: math.log2(sum(map(math.exp, _FRUIT))), "Use the natural logarithm."),
                Reply(lambda: max(_FRUIT), "This is the largest score. lse lies a little above."),
            ],
            rtol=1e-3,
        ),
        Rung(
            "b",
            "slope of lse by banana's score",
            lambda: _slope(1),
            [
                Reply(lambda: _slope(0), "This is apple's. Banana's score is the second, 3.8."),
                Reply(lambda: math.exp(3.8), "The chain rule also divides by the sum."),
                Reply(lambda: 1.0, "1 is what all four slopes sum to."),
            ],
            hint="The derivative of log z is 1/z; what is z here, and its slope?",
            rtol=_THREE,
        ),
        Rung(
            "c",
            "lse after 1,000 is added to each score",
            lambda: reference.log_sum_exp(_FRUIT + 1000),
            [
                Reply(lambda: math.inf, "exp(1004.2) overflows. Shift first, on paper."),
                Reply(
                    lambda: reference.log_sum_exp(_FRUIT), "Weights don't see a shift; lse does."
                ),
                Reply(lambda: math.log(1000) + reference.log_sum_exp(_FRUIT), "Add 1000 itself."),
            ],
            hint="exp(s + c) = exp(c) exp(s): take exp(c) out of the sum.",
            rtol=0.0,
            atol=0.05,  # one digit after the point, rounded or cut to it
        ),
        Rung(
            "d",
            "lse of 1,000 blocks with lse 5 each",
            lambda: np.logaddexp.reduce(np.full(1000, 5.0)),
            [
                Reply(lambda: 5000.0, "lse values don't add. Their exponentials do."),
                Reply(lambda: 5.0, "Then 999 blocks would count for nothing."),
                Reply(lambda: 1000 * math.exp(5), "Now take the logarithm."),
            ],
            hint="exp(lse) of a block is its part of the sum.",
            rtol=_THREE,
        ),
        Rung(
            "e",
            "the merged output",
            lambda: _merged((2.0, 1.0), (10.0, 20.0)),
            [
                Reply(lambda: 15.0, "Both blocks count alike in this mean. The first has more."),
                Reply(lambda: 40 / 3, "You weighted by lse. Weight by exp(lse)."),
                Reply(lambda: _merged((1.0, 2.0), (10.0, 20.0)), "You swapped the two weights."),
            ],
            hint="Block A holds exp(2) / (exp(2) + exp(1)) of the whole weight.",
            rtol=_THREE,
        ),
        Rung(
            "f",
            "log p of the second key, scores 0 and -1000",
            lambda: -1000.0 - np.logaddexp(0.0, -1000.0),
            [
                Reply(lambda: -math.inf, "The weight underflows to 0, its logarithm need not."),
                Reply(lambda: 0.0, "This is the first key's."),
                Reply(lambda: 1000.0, "A weight is below 1, so its logarithm is negative."),
            ],
            hint="log p_j = s_j - lse. No weight needs to be computed.",
            rtol=0.0,
            atol=0.1,
        ),
        Rung(
            "g",
            "the largest lse of 4 scores whose maximum is 8",
            lambda: max(math.log(4 * math.exp(8.0)), 8.0),
            [
                Reply(lambda: 8.0, "This is the lower bound. When are all terms largest?"),
                Reply(lambda: 12.0, "n terms of exp(8) make n exp(8), and log turns n into log n."),
                Reply(lambda: 10.0, "You took log2 of 4. Use the natural logarithm."),
            ],
            hint="Each of the n terms is at most exp(max).",
            rtol=1e-3,
        ),
        Rung(
            "h",
            "how far above the maximum, at most",
            lambda: 0.1 * (math.log(1024 * math.exp(3.0 / 0.1)) - 3.0 / 0.1),
            [
                Reply(lambda: math.log(1024), "That is for temperature 1. Multiply by 0.1."),
                Reply(lambda: 1.0, "You took log2 of 1,024. Use the natural logarithm."),
                Reply(lambda: math.log(1024) / 0.1, "You divided by the temperature. Multiply."),
            ],
            hint="Put s / temperature into the bound of (g), then multiply by the temperature.",
            rtol=_THREE,
        ),
    ],
)


def check_why_exponential(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "Why the exponential".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return WHY_EXPONENTIAL.run(a=a, b=b, c=c, d=d, e=e, f=f)


def check_log_sum_exp(
    a: Any = ...,
    b: Any = ...,
    c: Any = ...,
    d: Any = ...,
    e: Any = ...,
    f: Any = ...,
    g: Any = ...,
    h: Any = ...,
) -> Result:
    """Check the rungs of "The log-sum-exp, step by step".

    Args:
        a, b, c, d, e, f, g, h: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return LOG_SUM_EXP.run(a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h)
