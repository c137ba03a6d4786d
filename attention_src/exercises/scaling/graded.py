"""The check of a learner's own test: does it notice a wrong scale?"""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck


def _dots(q: Any, k: Any) -> np.ndarray:
    return np.asarray(np.asarray(q, np.float64) @ np.asarray(k, np.float64).T)


def _scaled_by(scale: Any) -> Any:
    """Scores whose scale is a function of d_k, n_q and n_k."""

    def scores(q: Any, k: Any) -> np.ndarray:
        return np.asarray(_dots(q, k) * scale(np.shape(q)[1], len(q), len(k)))

    return scores


def _split(q: Any, k: Any) -> np.ndarray:
    root = np.shape(q)[1] ** 0.25
    return _dots(np.asarray(q) / root, np.asarray(k) / root)


def _float32(q: Any, k: Any) -> np.ndarray:
    q, k = np.asarray(q, np.float32), np.asarray(k, np.float32)
    return np.asarray(q @ k.T / np.float32(q.shape[1] ** 0.5))


def _pair_by_pair(q: Any, k: Any) -> np.ndarray:
    rows = [[float(np.dot(a, b)) for b in k] for a in q]
    return np.asarray(rows).reshape(len(q), len(k)) / np.sqrt(np.shape(q)[1])


def _by_einsum(q: Any, k: Any) -> np.ndarray:
    q, k = np.asarray(q)[None, None], np.asarray(k)[None, None]
    s = np.einsum("bhqd,bhkd->bhqk", q, k)[0, 0]
    return np.asarray(s * np.exp(-0.5 * np.log(q.shape[-1])))


def _query_first(q: Any, k: Any) -> np.ndarray:
    return _dots(np.asarray(q) / np.sqrt(np.shape(q)[1]), k)


def _to_unit_spread(q: Any, k: Any) -> np.ndarray:
    s = _dots(q, k)
    return np.asarray(s / max(float(s.std()), 1e-12))


def _cosine(q: Any, k: Any) -> np.ndarray:
    a, b = np.linalg.norm(q, axis=1), np.linalg.norm(k, axis=1)
    return np.asarray(_dots(q, k) / np.maximum(np.outer(a, b), 1e-12))


def _normed(q: Any, k: Any) -> np.ndarray:
    return np.asarray(_cosine(q, k) * np.shape(q)[1] ** 0.5)


def _centred(q: Any, k: Any) -> np.ndarray:
    s = _dots(q, k) / np.shape(q)[1] ** 0.5
    return np.asarray(s - s.mean(axis=1, keepdims=True))


def _spoilt(change: Any) -> Any:
    """The right scores, after a change that may depend on the width."""

    def scores(q: Any, k: Any) -> np.ndarray:
        d_k = np.shape(q)[1]
        return np.asarray(change(_dots(q, k) / d_k**0.5, d_k))

    return scores


def _last_unscaled(s: np.ndarray, d_k: int) -> np.ndarray:
    return np.concatenate([s[:-1], s[-1:] * (d_k**0.5 if d_k > 1 else 3)])


def _turned(s: np.ndarray, d_k: int) -> np.ndarray:
    return s.T if len(s) == len(s.T) else s


SCALE_TEST = TestCheck(
    "my_scale_test",
    right=[
        Implementation("divided", _scaled_by(lambda d, n_q, n_k: d**-0.5), "it is the formula"),
        Implementation("query first", _query_first, "scaling q scales every score"),
        Implementation("half each", _split, "q and k each take the fourth root of d_k"),
        Implementation("pair by pair", _pair_by_pair, "it loops over all pairs"),
        Implementation("einsum", _by_einsum, "exp(-ln(d_k) / 2) is 1/√d_k, not to the last bit"),
        Implementation(
            "float32",
            _float32,
            "float32 holds seven digits of each product; allow for 1e-3",
        ),
    ],
    wrong=[
        Implementation("no scale", _scaled_by(lambda d, n_q, n_k: 1.0), "it does not scale at all"),
        Implementation("1/d_k", _scaled_by(lambda d, n_q, n_k: 1 / d), "it forgot the root"),
        Implementation(
            "multiplied", _scaled_by(lambda d, n_q, n_k: d**0.5), "it multiplies by √d_k"
        ),
        Implementation(
            "number of keys",
            _scaled_by(lambda d, n_q, n_k: n_k**-0.5),
            "it takes the number of keys for the width: let them differ",
        ),
        Implementation(
            "number of queries",
            _scaled_by(lambda d, n_q, n_k: n_q**-0.5),
            "it takes the number of queries for the width: let them differ",
        ),
        Implementation(
            "an eighth",
            _scaled_by(lambda d, n_q, n_k: 0.125),
            "its scale is right at width 64 alone: try another",
        ),
        Implementation(
            "whole roots",
            _scaled_by(lambda d, n_q, n_k: 1 / int(d**0.5)),
            "it rounds the root down, which is right at 4, 16, 64 and 256: try a width that is no "
            "square",
        ),
        Implementation(
            "power of two",
            _scaled_by(lambda d, n_q, n_k: 2.0 ** (-(int(d).bit_length() - 1) / 2)),
            "it takes the power of two below the width: try a width that is none",
        ),
        Implementation(
            "at most 64",
            _scaled_by(lambda d, n_q, n_k: min(d, 64) ** -0.5),
            "it never divides by more than 8: try a wider width",
        ),
        Implementation(
            "at least 64",
            _scaled_by(lambda d, n_q, n_k: max(d, 64) ** -0.5),
            "it never divides by less than 8: try a narrow width",
        ),
        Implementation(
            "small widths left alone",
            _scaled_by(lambda d, n_q, n_k: 1.0 if d < 8 else d**-0.5),
            "it scales from width 8 on: try a narrower one",
        ),
        Implementation(
            "twice", _scaled_by(lambda d, n_q, n_k: d**-0.5 * d**-0.5), "it scales twice"
        ),
        Implementation(
            "one too many",
            _scaled_by(lambda d, n_q, n_k: (d + 1) ** -0.5),
            "it counts the width one too large, which is little where the width is large",
        ),
        Implementation(
            "224 for 256",
            _scaled_by(lambda d, n_q, n_k: (d if d < 128 else d * 224 / 256) ** -0.5),
            "its wide heads divide by the root of seven eighths of their width: try 128 or more, "
            "with a small tolerance",
        ),
        Implementation(
            "unit spread",
            _to_unit_spread,
            "it divides by the spread that it finds, so vectors twice as long get the same scores",
        ),
        Implementation("cosine", _cosine, "it divides by the lengths of query and key"),
        Implementation(
            "normalised vectors",
            _normed,
            "it brings queries and keys to length √d_k first, so their own lengths are lost",
        ),
        Implementation(
            "centred rows",
            _centred,
            "it subtracts each row's mean. The weights stay right, the scores do not",
        ),
        Implementation("sizes", _spoilt(lambda s, d: np.abs(s)), "it loses the signs"),
        Implementation(
            "sorted",
            _spoilt(lambda s, d: np.sort(s, axis=-1)),
            "it sorts each row, so sums, sizes and the largest entry are right: compare entries",
        ),
        Implementation(
            "last query", _spoilt(_last_unscaled), "its last row is not scaled: compare all rows"
        ),
        Implementation(
            "shifted",
            _spoilt(lambda s, d: s + 0.03),
            "all of its scores are 0.03 too large: use a small tolerance",
        ),
        Implementation(
            "turned",
            _spoilt(_turned),
            "it is transposed where queries and keys are equally many: try such a size too",
        ),
        Implementation(
            "width 1",
            _spoilt(lambda s, d: s / 2 if d == 1 else s),
            "it is wrong at width 1 alone: try the narrowest",
        ),
        Implementation(
            "width 2",
            _spoilt(lambda s, d: s / 2**0.5 if d == 2 else s),
            "it is wrong at width 2 alone, which it scales twice",
        ),
        Implementation(
            "width 64",
            _spoilt(lambda s, d: s * 8 / 6 if d == 64 else s),
            "its table of roots has a misprint at width 64",
        ),
    ],
    hints=[
        "Compute the right scores yourself, and compare with np.allclose(..., atol=1e-3).",
        "Try widths of every kind: 1, 2, 5, 64, 200; and let n_q, n_k and d_k all differ.",
        "assert np.allclose(scores(q, k), q @ k.T / np.sqrt(d_k), atol=1e-3)",
    ],
)


def check_scale_test(test: Any) -> Result:
    """Check test(scores), which raises AssertionError unless scores(q, k) is q k^T / √d_k.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return SCALE_TEST.run(test)
