"""The checks of the chapter on scaling: what they accept, what they reject, and in which words."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.scaling import (
    check_qk_norm_scores,
    check_row_spread,
    check_variance,
)


# The worked solutions, in the words of the chapter.
def my_row_spread(s):
    s = np.asarray(s, dtype=np.float64)
    seen = s > -np.inf
    count = np.maximum(seen.sum(axis=-1), 1)
    mean = np.where(seen, s, 0).sum(axis=-1) / count
    x = np.where(seen, s - mean[..., None], 0)
    return np.sqrt((x**2).sum(axis=-1) / count)


def my_qk_norm_scores(q, k, gain_q, gain_k):
    def normed(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)

    q, k = normed(q) * gain_q, normed(k) * gain_k
    return q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5


spread, qk = my_row_spread, my_qk_norm_scores


def test_the_worked_solutions_pass():
    assert_worked("scaling", check_row_spread, my_row_spread)
    assert_worked("scaling", check_qk_norm_scores, my_qk_norm_scores)


# --- the spread of a row -----------------------------------------------------------------------


def row_by_row(s):
    s = np.asarray(s, dtype=np.float64)
    flat = s.reshape(-1, s.shape[-1])
    found = [np.std(row[np.isfinite(row)]) if np.isfinite(row).any() else 0.0 for row in flat]
    return np.reshape(found, s.shape[:-1])


def masked_array(s):
    s = np.asarray(s, dtype=np.float64)
    return np.ma.filled(np.ma.masked_invalid(s).std(axis=-1), 0.0)


def nan_std(s):
    s = np.where(np.isinf(s), np.nan, np.asarray(s, np.float64))
    return np.nan_to_num(np.nanstd(s, axis=-1))


def by_where(s):
    s, seen = np.asarray(s, np.float64), np.isfinite(s)
    some = seen.any(axis=-1)
    x = np.where(some[..., None], s, 0)
    return np.std(x, axis=-1, where=seen | ~some[..., None])


def by_pairs(s):
    s, seen = np.asarray(s, np.float64), np.isfinite(s)
    x = np.where(seen, s, 0)
    both = seen[..., :, None] & seen[..., None, :]
    gaps = np.where(both, (x[..., :, None] - x[..., None, :]) ** 2, 0).sum((-1, -2))
    return np.sqrt(gaps / 2) / np.maximum(seen.sum(-1), 1)


def by_torch(s):
    import torch

    return torch.from_numpy(row_by_row(s))


RIGHT_SPREAD = {
    "worked": spread,
    "rows": row_by_row,
    "masked array": masked_array,
    "nanstd": nan_std,
    "where": by_where,
    "pairs": by_pairs,
    "torch": by_torch,
    "lists": lambda s: spread(s).tolist(),
    "float32 out": lambda s: spread(s).astype(np.float32),
}


def in_place(s):
    s[np.isinf(s)] = s.mean()
    return s.std(axis=-1)


WRONG_SPREAD = {
    "all scores": (lambda s: spread(s.ravel()), "all scores together"),
    "queries' axis": (lambda s: spread(np.moveaxis(np.atleast_2d(s), -2, -1)), ""),
    "variance": (lambda s: spread(s) ** 2, "variance"),
    "n - 1": (
        lambda s: spread(s) * np.sqrt((c := np.isfinite(s).sum(-1)) / np.maximum(c - 1, 1)),
        "minus 1",
    ),
    "hidden as 0": (lambda s: np.where(np.isinf(s), 0.0, s).std(-1), "leave them out"),
    "size": (
        lambda s: np.sqrt((np.where(np.isinf(s), 0.0, s) ** 2).sum(-1) / np.isfinite(s).sum(-1)),
        "",
    ),
    "plain std": (lambda s: np.std(s, axis=-1), ""),
    "float16 inside": (
        lambda s: spread(s) if s.dtype != np.float16 else np.std(s, -1, dtype=np.float16),
        "",
    ),
    "float32 inside": (lambda s: row_by_row(s.astype(np.float32).astype(float)), ""),
    "squares minus square": (
        lambda s: np.sqrt(np.abs((np.float64(s) ** 2).mean(-1) - np.float64(s).mean(-1) ** 2)),
        "",
    ),
    "keepdims": (lambda s: spread(s)[..., None], ""),
    "one number": (lambda s: spread(s).mean(), ""),
    "NaN for an empty row": (
        lambda s: np.where(np.isfinite(s).any(-1), spread(s), np.nan),
        "",
    ),
    "weights' spread": (lambda s: np.exp(s - s.max(-1, keepdims=True)).std(-1), ""),
    "mean absolute": (
        lambda s: np.abs(s - s.mean(-1, keepdims=True)).mean(-1),
        "",
    ),
    "hidden as very low": (lambda s: spread(np.where(np.isinf(s), -1e9, s)), ""),
    "in place": (in_place, ""),
    "two axes only": (lambda s: np.array([row_by_row(row) for row in s]), ""),
    "squeezed": (lambda s: np.squeeze(spread(s)), ""),
    "last of many lost": (lambda s: spread(s[..., :-1] if s.shape[-1] > 5 else s), ""),
    "the input's dtype": (lambda s: spread(s).astype(s.dtype), ""),
}

# --- QK-norm -----------------------------------------------------------------------------------


def norms(x):
    return np.sqrt((x * x).sum(-1) / x.shape[-1] + 1e-6)


def scores_then_norms(q, k, gain_q, gain_k):
    s = (q * gain_q) @ (k * gain_k).swapaxes(-1, -2)
    return s / norms(q)[..., :, None] / norms(k)[..., None, :] / np.sqrt(q.shape[-1])


def one_gain(q, k, gain_q, gain_k):
    both = gain_q * gain_k
    q, k = q / norms(q)[..., None], k / norms(k)[..., None]
    return np.einsum("...id,...jd,d->...ij", q, k, both) / np.sqrt(len(both))


def loops(q, k, gain_q, gain_k):
    if q.ndim > 2:
        return np.stack([loops(a, b, gain_q, gain_k) for a, b in zip(q, k, strict=True)])
    rows = [
        [sum(a / norms(a) * gain_q * b / norms(b) * gain_k) / len(a) ** 0.5 for b in k] for a in q
    ]
    return np.array(rows)


def in_torch(q, k, gain_q, gain_k):
    import torch

    q, k, gain_q, gain_k = map(torch.from_numpy, (q, k, gain_q, gain_k))
    norm = lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-6)  # noqa: E731
    return (norm(q) * gain_q) @ (norm(k) * gain_k).mT / q.shape[-1] ** 0.5


RIGHT_QK = {
    "worked": qk,
    "norms afterwards": scores_then_norms,
    "one gain": one_gain,
    "loops": loops,
    "torch": in_torch,
    "lists": lambda *args: qk(*args).tolist(),
    "float32 in and out": lambda *args: qk(*(x.astype(np.float32) for x in args)),
    "half the scale each": lambda q, k, a, b: with_norm(rms, 0)(q, k, a / len(a) ** 0.5, b),
}


def with_norm(norm, scale=-0.5):
    def scores(q, k, gain_q, gain_k):
        a, b = norm(q) * gain_q, norm(k) * gain_k
        return a @ b.swapaxes(-1, -2) * q.shape[-1] ** scale

    return scores


def rms(x, axis=-1, eps=1e-6):
    return x / np.sqrt((x**2).mean(axis, keepdims=True) + eps)


WRONG_QK = {
    "no norm": (with_norm(lambda x: x), "root of its mean square"),
    "length 1": (
        with_norm(lambda x: x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)),
        "length of √d_k",
    ),
    "LayerNorm": (with_norm(lambda x: rms(x - x.mean(-1, keepdims=True))), "subtracted"),
    "no scale": (with_norm(rms, 0), "does not replace the scale"),
    "1/d_k": (with_norm(rms, -1), "its root"),
    "queries alone": (
        lambda q, k, a, b: (rms(q) * a) @ (k * b).swapaxes(-1, -2) / q.shape[-1] ** 0.5,
        "Keys as well",
    ),
    "gain first": (lambda q, k, a, b: qk(q * a, k * b, np.ones_like(a), np.ones_like(b)), "first"),
    "no gain": (lambda q, k, a, b: qk(q, k, 1, 1), "gains are missing"),
    "one gain for both": (lambda q, k, a, b: qk(q, k, a, a), "gain of their own"),
    "the keys' gain for both": (lambda q, k, a, b: qk(q, k, b, b), "gain_q"),
    "gains without sign": (lambda q, k, a, b: qk(q, k, np.abs(a), np.abs(b)), "Keep its sign"),
    "negative gains cut": (lambda q, k, a, b: qk(q, k, np.maximum(a, 0), np.maximum(b, 0)), ""),
    "swapped": (lambda q, k, a, b: qk(k, q, a, b), ""),
    "tokens' axis": (with_norm(lambda x: rms(x, -2)), "Each vector has its own"),
    "one norm": (with_norm(lambda x: rms(x, None)), "Each has its own"),
    "no eps": (with_norm(lambda x: rms(x, eps=0)), ""),
    "large eps": (with_norm(lambda x: rms(x, eps=1e-3)), ""),
    "eps outside the root": (
        with_norm(lambda x: x / (np.sqrt((x**2).mean(-1, keepdims=True)) + 1e-6)),
        "",
    ),
    "transposed": (lambda *args: qk(*args).swapaxes(-1, -2), ""),
    "softmaxed": (lambda *args: np.exp(qk(*args)), ""),
    "two axes only": (
        lambda q, k, a, b: (rms(q) * a) @ (rms(k) * b).T / q.shape[-1] ** 0.5,
        "",
    ),
    "float32": (
        lambda q, k, a, b: qk(*(x.astype(np.float32).astype(float) for x in (q, k, a, b))),
        "",
    ),
}


@pytest.mark.parametrize("name", RIGHT_SPREAD)
def test_a_right_spread_passes(name):
    assert check_row_spread(RIGHT_SPREAD[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG_SPREAD)
def test_a_wrong_spread_is_rejected(name):
    assert_rejected(check_row_spread, *WRONG_SPREAD[name])


@pytest.mark.parametrize("name", RIGHT_QK)
def test_right_scores_pass(name):
    assert check_qk_norm_scores(RIGHT_QK[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG_QK)
def test_wrong_scores_are_rejected(name):
    assert_rejected(check_qk_norm_scores, *WRONG_QK[name])


# --- the ladder --------------------------------------------------------------------------------


def test_the_ladder_s_values_are_those_of_a_simulation():
    rng = np.random.default_rng(0)
    ones = np.ones(64)
    uniform = rng.uniform(-1, 1, (2, 20_000, 64))
    shifted = rng.normal(size=(2, 20_000, 64)) + 0.5
    one_row = rng.normal(size=(300, 64)) + 0.5
    within = [(q @ (rng.normal(size=(64, 300)) + 0.5)).var() for q in one_row]
    constant = rng.normal(size=(2, 20_000, 1)) * ones
    dots = lambda pair: (pair[0] * pair[1]).sum(axis=1)  # noqa: E731
    b = dots((rng.normal(size=(20_000, 64)), shifted[1])).var()
    found = [dots(uniform).std(), b, dots(shifted).var(), np.mean(within), dots(constant).std() / 8]
    right = [(64 / 9) ** 0.5, 80, 96, 80, 8]
    np.testing.assert_allclose(found, right, rtol=0.05)
    assert check_variance(*right).status == "passed"


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", 64 / 9, "Its root is asked for"),
        ("a", 8, "Theirs is 1/3"),
        ("a", (64 / 3) ** 0.5, "Both factors"),
        ("b", 80**0.5, "This is the root"),
        ("b", 64, "variance plus mean²"),
        ("b", 96, "to be squared"),
        ("c", 100, "subtract its square"),
        ("c", 80, "queries at mean 0"),
        ("d", 96, "variance over all pairs"),
        ("d", 64, "the queries have a mean"),
        ("e", 1, "Here all are equal"),
        ("e", 64, "without the scale"),
        ("e", 4096, "unscaled variance"),
        ("e", 7, "Yours: 7"),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_variance(**{rung: value}), answer, words)
