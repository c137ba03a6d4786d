"""The ladder on rollout of uniform attention."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.maps import attention_rollout
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung


def _uniform(n: int, n_layers: int) -> np.ndarray:
    """Rollout of `n_layers` layers with one uniform head each."""
    return np.asarray(attention_rollout(np.full((n_layers, 1, n, n), 1 / n)))


def _first_even() -> int:
    """The first number of layers after which own and other shares differ by less than 1 %."""
    for n_layers in range(1, 100):
        rollout = _uniform(8, n_layers)
        if rollout[0, 0] < 1.01 * rollout[0, 1]:
            return n_layers
    raise AssertionError("rollout of uniform attention becomes even")


def _not_scaled() -> float:
    """I and U are added, but U is not scaled down."""
    return 2.0**-6 + 1 / 8


def _coarse(share: Callable[[], float]) -> Reply:
    return Reply(lambda: round(share(), 2), "Give three digits after the point, or a fraction.")


_OWN_1, _OTHER_1 = (lambda: float(_uniform(8, 1)[0, 0])), (lambda: float(_uniform(8, 1)[0, 1]))
_OWN_2, _OWN_6 = (lambda: float(_uniform(8, 2)[0, 0])), (lambda: float(_uniform(8, 6)[0, 0]))
_DIGITS: dict[str, float] = {"rtol": 0, "atol": 5.01e-4}  # three after the point

UNIFORM = Ladder(
    "uniform",
    [
        Rung(
            "a",
            "a token's own share after 1 layer",
            _OWN_1,
            replies=[
                Reply(lambda: 1 / 8, "That is the head's part. Half of the token goes round it."),
                Reply(lambda: 0.5, "Half comes round the head, and the head adds its own part."),
                Reply(lambda: 1 / 16, "That is another token's share."),
                _coarse(_OWN_1),
            ],
            hint="(1 + 1/n) / 2",
            **_DIGITS,
        ),
        Rung(
            "b",
            "the share of each other token after 1 layer",
            _OTHER_1,
            replies=[
                Reply(lambda: 1 / 8, "Halve it: the other half is the token itself."),
                _coarse(_OTHER_1),
            ],
            hint="The eight shares of a row sum to 1.",
            **_DIGITS,
        ),
        Rung(
            "c",
            "a token's own share after 2 layers",
            _OWN_2,
            replies=[
                Reply(
                    lambda: _uniform(8, 1)[0, 0] ** 2,
                    "That is the path by itself twice. The other seven hand some of it back.",
                ),
                _coarse(_OWN_2),
            ],
            hint="A A = I/4 + 3 U/4, because U U = U.",
            **_DIGITS,
        ),
        Rung(
            "d",
            "a token's own share after 6 layers",
            _OWN_6,
            replies=[
                Reply(lambda: _uniform(8, 1)[0, 0] ** 6, "That counts one path only."),
                Reply(lambda: 2.0**-6, "That is the part that never entered a head."),
                Reply(lambda: _uniform(8, 6)[0, 1], "That is another token's share."),
                Reply(_not_scaled, "That makes a row sum to more than 1: what is left for U?"),
                _coarse(_OWN_6),
            ],
            hint="R = 2^-L I + (1 - 2^-L) U",
            **_DIGITS,
        ),
        Rung(
            "e",
            "layers until a token's own share exceeds another's by less than 1 %",
            _first_even,
            replies=[
                Reply(
                    lambda: next(
                        layers
                        for layers in range(1, 100)
                        if _uniform(8, layers)[0, 0] - _uniform(8, layers)[0, 1] < 0.01
                    ),
                    "That is a difference below 0.01. Compare the two shares: their ratio is below "
                    "1.01.",
                ),
            ],
            hint="The two differ by 2^-L, and the smaller is (1 - 2^-L) / 8.",
            rtol=0,
        ),
    ],
)


def check_uniform(a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ...) -> Result:
    """Check the rungs of the exercise "Rollout of nothing".

    Args:
        a: a share
        b: a share
        c: a share
        d: a share
        e: a number of layers
    Returns: status and message, as printed
    """
    return UNIFORM.run(a=a, b=b, c=c, d=d, e=e)
