"""The ladder on what one head can do at best with a difference."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

DIFFERENCE = np.array([1.0, -1.0])


def error(w: Any, m: float, wanted: Any = DIFFERENCE) -> float:
    """The mean squared error of m * (w · v) for wanted · v, with independent v of variance 1.

    Args:
        w: [n] weights
        m: what the head's output is multiplied by
        wanted: [n] what each number should count
    Returns: sum of (wanted - m w)^2
    """
    return float(((np.asarray(wanted) - m * np.asarray(w)) ** 2).sum())


def best_m(w: Any, wanted: Any = DIFFERENCE) -> float:
    """The m at which `error` is least.

    Args:
        w, wanted: as for `error`
    Returns: (w · wanted) / (w · w)
    """
    w = np.asarray(w)
    return float(w @ np.asarray(wanted) / (w @ w))


def best_error(w: Any, wanted: Any = DIFFERENCE) -> float:
    """The least error for these weights.

    Args:
        w, wanted: as for `error`
    Returns: `error` at `best_m`
    """
    return error(w, best_m(w, wanted), wanted)


HALVES, QUARTERS = (0.5, 0.5), (0.75, 0.25)
THREE = np.array([1.0, 1.0, -1.0])  # v_a + v_b - v_c

BOUND = Ladder(
    "bound",
    [
        Rung(
            "a",
            "the error for weights 1/2, 1/2 and m = 2",
            lambda: error(HALVES, 2),
            replies=[
                Reply(lambda: 2, "That is what m = 0 leaves, an answer that says nothing."),
                Reply(lambda: 0, "So it is for the sum. Here v_b has the wrong sign."),
            ],
            hint="The answer is v_a + v_b. By how much does it miss v_a - v_b?",
        ),
        Rung(
            "b",
            "the best m for weights 1/2, 1/2",
            lambda: best_m(HALVES),
            replies=[
                Reply(lambda: 1, "With m = 1 the error is 2.5: it gets worse than saying nothing."),
                Reply(lambda: 2, "That is (a)."),
            ],
            hint="What is gained at v_a is lost at v_b.",
        ),
        Rung(
            "c",
            "the best m for weights 3/4, 1/4",
            lambda: best_m(QUARTERS),
            replies=[
                Reply(lambda: 0.5, "This is w_a - w_b. Divide by the sum of the squares."),
                Reply(lambda: 1 / 0.75, "This makes v_a count 1, and v_b a third, too much."),
            ],
            hint="Set the derivative by m of (1 - m w_a)^2 + (1 + m w_b)^2 to 0.",
        ),
        Rung(
            "d",
            "the least error for weights 3/4, 1/4",
            lambda: best_error(QUARTERS),
            replies=[
                Reply(lambda: 2 - best_error(QUARTERS), "This is what you gain. Take it from 2."),
                Reply(lambda: error(QUARTERS, 1), "This is the error for m = 1."),
                Reply(
                    lambda: best_error(QUARTERS) / 2,
                    "This is the share that is left. As a mean square it is 2 times that.",
                ),
            ],
            hint="Put the m of (c) in.",
        ),
        Rung(
            "e",
            "the least error of one head for a + b - c",
            lambda: best_error((0.5, 0.5, 0.0), THREE),
            replies=[
                Reply(
                    lambda: best_error((1 / 3, 1 / 3, 1 / 3), THREE),
                    "That is for three equal weights. Which city should get none?",
                ),
                Reply(
                    lambda: best_error((1.0, 0.0, 0.0), THREE),
                    "That is for one city alone. One head can add two up.",
                ),
                Reply(lambda: 0, "The third city still counts 1, and the head leaves it out."),
            ],
            hint="What has a plus sign, one head can add up.",
        ),
    ],
)


def check_bound(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "What one head leaves".

    Args:
        a: an error
        b: a factor
        c: a factor
        d: an error
        e: an error
    Returns: status and message, as printed
    """
    return BOUND.run(a=a, b=b, c=c, d=d, e=e)
