"""The ladder of the chapter on gradients: one query, two keys, all gradients by hand.

The right values are differences of the loss where a gradient is asked for, so that they come by
another way than the learner's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.exercises.engine.messages import Result

_THREE = 2e-3  # three significant digits
_KEYS = np.array([[np.log(3.0), 0, 0, 0], [0.0, 0, 0, 0]])
_VALUES = np.array([0.0, 8.0])
_Q, _FAR = np.array([2.0, 0, 0, 0]), np.array([20.0, 0, 0, 0])


def _weights(q: np.ndarray, k: np.ndarray = _KEYS) -> np.ndarray:
    e = np.exp(k @ q / 2)
    return np.asarray(e / e.sum())


def _loss(q: np.ndarray, k: np.ndarray = _KEYS, v: np.ndarray = _VALUES) -> float:
    return float(0.5 * (_weights(q, k) @ v - 6) ** 2)


def _nudged(f: Callable, x: np.ndarray, *at: Any) -> np.ndarray:
    """The derivatives of f by the entries `at` of x."""
    slopes = []
    for place in at:
        step = np.zeros_like(x)
        step[place] = 1e-5
        slopes.append((f(x + step) - f(x - step)) / 2e-5)
    return np.array(slopes)


def _by_scores(s: np.ndarray) -> float:
    e = np.exp(s)
    return float(0.5 * (e @ _VALUES / e.sum() - 6) ** 2)


def _dq(q: np.ndarray = _Q) -> float:
    return float(_nudged(_loss, q, 0)[0])


def _dk() -> np.ndarray:
    return _nudged(lambda k: _loss(_Q, k), _KEYS, (0, 0), (1, 0))


def _dv(q: np.ndarray) -> np.ndarray:
    return _nudged(lambda v: _loss(q, v=v), _VALUES, 0, 1)


def _ds() -> np.ndarray:
    return _nudged(_by_scores, np.array([np.log(3.0), 0.0]), 0, 1)


BY_HAND = Ladder(
    "by_hand",
    [
        Rung(
            "a",
            "the two weights",
            lambda: _weights(_Q),
            [
                Reply(lambda: _weights(2 * _Q), "The scores are divided by the root of d_k = 4."),
                Reply(lambda: _weights(_Q / 2), "You divided by d_k. Divide by its root, 2."),
                Reply(lambda: _weights(_Q)[::-1], "The first key has the higher score."),
            ],
            hint="exp(log 3) = 3 and exp(0) = 1.",
            rtol=_THREE,
        ),
        Rung(
            "b",
            "do",
            lambda: _weights(_Q) @ _VALUES - 6,
            [
                Reply(lambda: 2.0, "This is o. do is the slope of the loss by o."),
                Reply(lambda: 4.0, "The sign: o is too small, so the loss falls as o grows."),
                Reply(lambda: -8.0, "The factor 1/2 cancels the 2 of the square."),
                Reply(lambda: 8.0, "This is the loss. do is its slope by o."),
            ],
            rtol=_THREE,
        ),
        Rung(
            "c",
            "dv of both values",
            lambda: _dv(_Q),
            [
                Reply(lambda: -_dv(_Q), "The sign is that of do."),
                Reply(lambda: np.array([-4.0, -4.0]), "Each value counts with its weight."),
                Reply(lambda: _dv(_Q)[::-1], "The first key has the larger weight."),
                Reply(lambda: np.array([0.0, -8.0]), "This is p v do. o = sum p v: by v it is p."),
            ],
            hint="o = p_1 v_1 + p_2 v_2.",
            rtol=_THREE,
        ),
        Rung(
            "d",
            "delta",
            lambda: _weights(_Q) @ (_VALUES * -4.0),
            [
                Reply(lambda: 8.0, "do is negative."),
                Reply(lambda: -32.0, "This is the plain sum of dp. Each counts with its weight."),
                Reply(lambda: -16.0, "This is the plain mean of dp. Weigh it by p."),
            ],
            hint="o times do, or the mean of dp = do v_j under the weights.",
            rtol=_THREE,
        ),
        Rung(
            "e",
            "ds of both scores",
            _ds,
            [
                Reply(lambda: -_ds(), "The sign: dp minus delta, not delta minus dp."),
                Reply(lambda: np.array([0.0, -8.0]), "This is p dp. Subtract delta from dp first."),
                Reply(lambda: np.array([8.0, -24.0]), "This is dp minus delta. Multiply by p."),
                Reply(lambda: np.array([-6.0, -14.0]), "You added delta. Subtract it."),
            ],
            hint="dp = do v_j, so (0, -32). They must sum to 0.",
            rtol=_THREE,
        ),
        Rung(
            "f",
            "the first entry of dq",
            lambda: _dq(),
            [
                Reply(lambda: 2 * _dq(), "The factor 1/sqrt(d_k) = 1/2 is missing."),
                Reply(lambda: _dq() / 2, "You divided by d_k. Divide by its root."),
                Reply(lambda: -_dq(), "This is the push. The gradient is its opposite."),
                Reply(lambda: 6.0, "dq is a sum over keys: ds_j times k_j, not times q."),
            ],
            hint="(ds_1 k_1 + ds_2 k_2) / 2, first entry.",
            rtol=_THREE,
        ),
        Rung(
            "g",
            "the first entries of dk_1 and dk_2",
            _dk,
            [
                Reply(lambda: 2 * _dk(), "The factor 1/sqrt(d_k) = 1/2 is missing."),
                Reply(lambda: _dk() / 2, "One factor of 1/2 too many."),
                Reply(lambda: -_dk(), "The sign is that of ds."),
                Reply(
                    lambda: np.array([_dq(), 0.0]),
                    "dk_j is ds_j times the query; key 2 moves although it lies at 0.",
                ),
            ],
            hint="ds_j q / 2.",
            rtol=_THREE,
        ),
        Rung(
            "h",
            "the first entry of dq, from the far query",
            lambda: _dq(_FAR),
            [
                Reply(lambda: 0.0, "Nearly, and not quite: the second key has some weight left."),
                Reply(lambda: -_dq(_FAR), "This is the push. The gradient is its opposite."),
                Reply(lambda: 2 * _dq(_FAR), "The factor 1/sqrt(d_k) = 1/2 is missing."),
            ],
            hint="The scores are 10 log 3 and 0: the weights stand as 3^10 to 1.",
            rtol=_THREE,
            atol=0.0,
        ),
        Rung(
            "i",
            "dv of both values, from the far query",
            lambda: _dv(_FAR),
            [
                Reply(lambda: np.array([-6.0, 0.0]), "Nearly: the second is small and not 0."),
                Reply(lambda: _dv(_Q), "The weights have changed, and so has do."),
            ],
            hint="p_j do, with the new weights and the new do.",
            rtol=6e-3,
            atol=0.0,
        ),
    ],
)


def check_by_hand(
    a: Any = ...,
    b: Any = ...,
    c: Any = ...,
    d: Any = ...,
    e: Any = ...,
    f: Any = ...,
    g: Any = ...,
    h: Any = ...,
    i: Any = ...,
) -> Result:
    """Check the rungs of "By hand".

    Args:
        a, b, c, d, e, f, g, h, i: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return BY_HAND.run(a=a, b=b, c=c, d=d, e=e, f=f, g=g, h=h, i=i)
