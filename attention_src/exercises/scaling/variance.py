"""The ladder on the variance of a score when the theorem's assumptions bend."""

from typing import Any

from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.exercises.engine.messages import Result

D_K = 64

VARIANCE = Ladder(
    "variance",
    [
        Rung(
            "a",
            "the standard deviation for entries between -1 and 1",
            lambda: (D_K / 9) ** 0.5,
            replies=[
                Reply(lambda: D_K / 9, "This is the variance. Its root is asked for."),
                Reply(lambda: D_K**0.5, "So it is for entries of variance 1. Theirs is 1/3."),
                Reply(lambda: (D_K / 3) ** 0.5, "Both factors of each product have variance 1/3."),
            ],
            hint="The uniform distribution between -1 and 1 has variance 1/3.",
        ),
        Rung(
            "b",
            "the variance if the keys' entries have mean 1/2",
            lambda: D_K * 1.25,
            replies=[
                Reply(lambda: (D_K * 1.25) ** 0.5, "This is the root. The variance is asked for."),
                Reply(lambda: D_K, "E[k²] is not the variance: it is variance plus mean²."),
                Reply(lambda: D_K * 1.5, "The mean is to be squared: E[k²] = 1 + (1/2)²."),
            ],
            hint="Each product has mean 0 and variance E[q²] E[k²].",
        ),
        Rung(
            "c",
            "the variance if the queries' entries have mean 1/2 too",
            lambda: D_K * (1.25**2 - 0.25**2),
            replies=[
                Reply(lambda: D_K * 1.25**2, "The product has a mean now: subtract its square."),
                Reply(lambda: D_K * 1.25, "That is the variance with the queries at mean 0."),
            ],
            hint="Var(qk) = E[q²] E[k²] - (E[q] E[k])².",
        ),
        Rung(
            "d",
            "the variance within a row, on average",
            lambda: D_K * 1.25,
            replies=[
                Reply(
                    lambda: D_K * (1.25**2 - 0.25**2),
                    "This is the variance over all pairs. In a row q stays as it is.",
                ),
                Reply(lambda: D_K, "E[q²] is 1 + (1/2)², as the queries have a mean."),
            ],
            hint="For a fixed q the variance over keys is the sum of q_m² Var(k_m).",
        ),
        Rung(
            "e",
            "the standard deviation of the scaled score of constant vectors",
            lambda: D_K**0.5,
            replies=[
                Reply(lambda: 1.0, "So it is for independent entries. Here all are equal."),
                Reply(lambda: D_K, "That is without the scale."),
                Reply(lambda: D_K**2, "This is the unscaled variance."),
            ],
            hint="q · k = d_k a b, with one a and one b.",
        ),
    ],
)


def check_variance(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "When the assumptions bend".

    Args:
        a: a standard deviation
        b: a variance
        c: a variance
        d: a variance
        e: a standard deviation
    Returns: status and message, as printed
    """
    return VARIANCE.run(a=a, b=b, c=c, d=d, e=e)
