"""The check of attention's backward pass."""

from typing import Any

import numpy as np

from attention_src.attention import reference
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.exercises.gradients import pairs

Array = np.ndarray


def _reference(q: Array, k: Array, v: Array, do: Array, mask: Any = None) -> tuple:
    return reference.attention_backward(q, k, v, do, mask=mask)


def _inputs(seed: int, n_q: int, n_k: int, d_k: int, d_v: int, *lead: int) -> tuple:
    rng = np.random.default_rng(seed)
    shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v))
    return tuple(rng.normal(size=(*lead, *shape)) for shape in shapes)


def _draw(rng: np.random.Generator) -> tuple:
    sizes = [int(n) for n in rng.integers(1, 6, 4)]
    lead = [int(n) for n in rng.integers(1, 4, rng.integers(0, 4))]
    q, k, v, do = _inputs(int(rng.integers(1000)), *sizes, *lead)
    q = q * rng.choice([0.3, 1.0, 5.0, 30.0])
    kind = rng.integers(4)
    if kind == 0:
        return q, k, v, do, None
    shape = [(*lead, *sizes[:2]), (sizes[0], sizes[1]), (sizes[1],)][kind - 1]
    return q, k, v, do, rng.random(shape) < rng.choice([0.3, 0.7])


_PLAIN = _inputs(1, 2, 3, 4, 2)
_SEES = np.array([[True, False, True], [True, True, True]])
_EMPTY = np.array([[False, False, False], [True, True, False]])
_LARGE = _inputs(2, 3, 4, 2, 3)
_DEEP = _inputs(3, 3, 4, 2, 5, 2, 3)
_NAMES = "two queries, three keys"


def _wrong(name: str) -> Any:
    return lambda q, k, v, do, mask=None: pairs.broken(name, q, k, v, do, mask)


def _by_d_v(q: Array, k: Array, v: Array, do: Array, mask: Any = None) -> tuple:
    return pairs.broken("", q, k, v, do, mask, v.shape[-1] ** -0.5)


ATTENTION_BACKWARD = Check(
    "attention_backward",
    reference=_reference,
    cases=[
        Case(f"{_NAMES}, no mask", (*_PLAIN, None)),
        Case("three of each", (*_inputs(4, 3, 3, 3, 3), None)),
        Case(f"{_NAMES}, a mask", (*_PLAIN, _SEES)),
        Case("the first query may see nothing", (*_PLAIN, _EMPTY)),
        Case("a mask of shape [n_k]", (*_PLAIN, np.array([True, False, True]))),
        Case("scores up to ten thousand", (_LARGE[0] * 4000, *_LARGE[1:], None)),
        Case("large scores and a mask", (_LARGE[0] * 4000, *_LARGE[1:], np.tri(3, 4) > 0)),
        Case("two sentences, three heads", (*_DEEP, None)),
        Case(
            "padding [B, 1, 1, n_k]",
            (*_DEEP, np.array([[1, 1, 1, 0], [1, 0, 0, 0]]).reshape(2, 1, 1, 4) > 0),
        ),
        Case("one key", (*_inputs(5, 2, 1, 3, 2), None)),
        Case("no query may see anything", (*_PLAIN, np.zeros((2, 3), dtype=bool))),
        Case("a batch of five", (*_inputs(6, 2, 2, 2, 2, 5), np.tri(2, dtype=bool))),
    ],
    mistakes=[
        Mistake(name, _wrong(name), message)
        for name, message in (
            ("no scale", "The scale 1/sqrt(d_k) is in the scores, and again in dq and dk."),
            ("scores not scaled", "The scores are not divided by sqrt(d_k)."),
            ("scale twice", "dq and dk were scaled twice: once in ds and once in the product."),
            ("dk scaled twice", "dk is scaled twice; dq is right."),
            ("dk not scaled", "dk lacks the factor 1/sqrt(d_k)."),
            ("dq not scaled", "dq lacks the factor 1/sqrt(d_k)."),
            ("no delta", "ds = p * dp is elementwise: subtract each row's delta from dp first."),
            ("plain mean", "delta is the mean of dp under the weights p, not the plain mean."),
            ("one delta", "Each query has its own delta: sum over the last axis, keepdims=True."),
            ("delta of columns", "delta is summed over the keys, axis -1, not over the queries."),
            ("no p", "dp minus delta is right; multiply it by p."),
            ("sign", "ds is turned round: p * (dp - delta)."),
            ("dk reshaped", "dk needs ds transposed; reshape only regroups its numbers."),
            ("dv reshaped", "dv needs p transposed; reshape only regroups its numbers."),
            ("dq and dk swapped", "dq is made from the keys, and dk from the queries."),
            ("ones for do", "You left do out: dv = p^T do, and dp = do v^T."),
            ("mask ignored", "The mask is ignored: hidden pairs get weights and gradients."),
            ("polarity", "The polarity of the mask is reversed: True means may attend."),
            ("zeroed after", "Hide before the softmax: here hidden keys still count in its sum."),
            ("minus 1e9", "A large finite number turns an empty row into ordinary weights."),
            ("filled with -1e9", "A large finite number turns an empty row into equal weights."),
            ("nan", "A row with nothing to see became NaN. It gives 0, and so do its gradients."),
            ("no maximum", "exp overflows: subtract each row's maximum."),
        )
    ]
    + [Mistake("scale by d_v", _by_d_v, "The scale is by d_k, the length of a query: not by d_v.")],
    hints=[
        "Compute p as in masked softmax, then walk back: dv, dp, ds, dq, dk.",
        "ds = p * (dp - delta) with delta = (do * o).sum(axis=-1, keepdims=True).",
        "dq = scale * ds @ k, dk = scale * ds.swapaxes(-1, -2) @ q, dv = p.swapaxes(-1, -2) @ do.",
    ],
    returns=("dq", "dk", "dv"),
    draw=_draw,
)


def check_attention_backward(f: Any) -> Result:
    """Check f(q, k, v, do, mask) -> (dq, dk, dv), the gradients of attention.

    All are float64 with the same leading axes, none to three; mask is None or boolean and
    broadcasts to [..., n_q, n_k]; rows of it may be empty. Scores reach 10^4.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ATTENTION_BACKWARD.run(f)
