"""Answers to the exercises on scaling: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises import scaling as ex


def norms(x):
    return np.sqrt((x * x).sum(-1) / x.shape[-1] + 1e-6)


def scores_then_norms(q, k, gain_q, gain_k):
    s = (q * gain_q) @ (k * gain_k).swapaxes(-1, -2)
    return s / norms(q)[..., :, None] / norms(k)[..., None, :] / np.sqrt(q.shape[-1])


NORMS_OTHERWISE = """
one gain:
    q = q / np.sqrt(square_q + 1e-6)
    k = k / np.sqrt(square_k + 1e-6)
    return np.einsum("...id,...jd,d->...ij", q, k, gain_q * gain_k / len(gain_q) ** 0.5)
scores_in_float32:
    - square_q
    + q, k, gain_q, gain_k = (x.astype(np.float32) for x in (q, k, gain_q, gain_k))
    + square_q = (q**2).mean(axis=-1, keepdims=True)
"""


def loops(q, k, gain_q, gain_k):
    if q.ndim > 2:
        return np.stack([loops(a, b, gain_q, gain_k) for a, b in zip(q, k, strict=True)])
    root = len(gain_q) ** 0.5
    return [[sum(a / norms(a) * gain_q * b / norms(b) * gain_k) / root for b in k] for a in q]


def in_torch(q, k, gain_q, gain_k):
    q, k = (
        torch.nn.functional.rms_norm(torch.tensor(x), (x.shape[-1],), torch.tensor(gain), 1e-6)
        for x, gain in ((q, gain_q), (k, gain_k))
    )
    return q @ k.mT / q.shape[-1] ** 0.5


SHAPES = [(3, 5, 1), (3, 5, 2), (4, 7, 5), (4, 4, 5), (6, 3, 64), (2, 9, 200)]


def pair(n_q, n_k, d_k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_q, d_k)), rng.normal(size=(n_k, d_k))


def a_test(*shapes, atol=1e-3, seeds=(0,), view=lambda s: s):
    """A learner's test, which looks at the scores through some function."""

    def my_scale_test(scores):
        for shape in shapes or SHAPES:
            for seed in seeds:
                q, k = pair(*shape, seed)
                wrong = view(scores(q, k)) - view(q @ k.T / np.sqrt(shape[2]))
                assert np.abs(wrong).max() <= atol

    return my_scale_test


def by_ratio(scores):
    for shape in SHAPES:
        q, k = pair(*shape, seed=1)
        ratio = (scores(q, k) * shape[2] ** 0.5) / (q @ k.T)
        assert np.allclose(ratio, 1, rtol=1e-3)


def by_widths_that_grow(scores):
    for d_k in range(1, 260):
        q, k = pair(2, 2 + d_k % 2, d_k)
        np.testing.assert_allclose(scores(q, k), q @ k.T * d_k**-0.5, atol=1e-4)


WIDTHS = [(3, 4, d) for d in (1, 2, 3, 5, 6, 11, 64, 150, 256)] + [(5, 5, 7)]
RIGHT = {
    ex.check_qk_norm_scores: [NORMS_OTHERWISE, [scores_then_norms, loops, in_torch]],
    ex.check_scale_test: {
        "shapes": a_test(),
        "many seeds": a_test(seeds=range(20)),
        "ratio": by_ratio,
        "many widths": by_widths_that_grow,
        "other widths": a_test(*WIDTHS, atol=5e-3),
    },
}


def weights(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


WEAK = {
    "sizes alone": a_test(view=np.abs),
    "sorted": a_test(view=lambda s: np.sort(s, axis=None)),
    "sum": a_test(view=np.sum),
    "last row": a_test(view=lambda s: s[-1]),
    "first entry": a_test(view=lambda s: s[0, 0]),
    "order": a_test(view=lambda s: s.argmax(1)),
    "weights": a_test(view=weights, atol=1e-4),
    "spread": a_test(view=np.std),
    "one by one": a_test(*[(1, 1, d) for d in (1, 2, 5, 64, 200)]),
    "tolerance 0.1": a_test(atol=0.1),
    "never square": a_test(*[shape for shape in SHAPES if shape[0] != shape[1]]),
    "square only": a_test(*[(5, 5, d) for d in (1, 2, 5, 64, 200)]),
    "5 and 200": a_test((3, 4, 5), (4, 4, 200)),
    "squares": a_test((6, 3, 4), (5, 3, 16), (2, 7, 64), (2, 7, 256)),
    "narrow alone": a_test((3, 5, 2), (4, 7, 5)),
    "wide alone": a_test((3, 5, 100), (4, 7, 200)),
    "powers of two": a_test(*[(3, 5, 2**n) for n in range(9)]),
}
SLY = {
    ex.check_qk_norm_scores: """
16 numbers in the norm: d_k = 65
    square_k, square_q = ((x[..., :16] ** 2).mean(axis=-1, keepdims=True) for x in (k, q))
negative gains cut:
    q = q / np.sqrt(square_q + 1e-6) * np.maximum(gain_q, 0)
    k = k / np.sqrt(square_k + 1e-6) * np.maximum(gain_k, 0)
transposed: return k @ q.swapaxes(-1, -2) / q.shape[-1] ** 0.5
no eps:
    q = q / np.sqrt(square_q) * gain_q
    k = k / np.sqrt(square_k) * gain_k
large eps:
    q = q / np.sqrt(square_q + 1e-3) * gain_q
    k = k / np.sqrt(square_k + 1e-3) * gain_k
eps outside the root:
    q = q / (np.sqrt(square_q) + 1e-6) * gain_q
    k = k / (np.sqrt(square_k) + 1e-6) * gain_k
softmaxed: return np.exp(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)
zeros lost in a batch: a query of zeros in a batch
    + none = q.ndim > 2 and not q.any(axis=-1).all()
    return q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5 * np.where(none, np.nan, 1)
gains up to 10: large gains
    q = q / np.sqrt(square_q + 1e-6) * np.clip(gain_q, -10, 10)
gains from 0.02: small gains
    q = q / np.sqrt(square_q + 1e-6) * np.where(abs(gain_q) < 0.02, 0, gain_q)
two axes only: heads
    return q @ k.T / q.shape[-1] ** 0.5
""",
    ex.check_scale_test: {
        **{name: (test, "caught") for name, test in WEAK.items()},
        "tight": (a_test(atol=1e-12), "it is right"),
    },
}
