"""Answers to the exercises on rotary positions: right ones written otherwise, and sly ones."""

import numpy as np
import torch

from attention_src.exercises import rope as ex
from attention_src.rope import layer, reference


def by_matrices(x, positions, base=10_000.0):
    d = x.shape[-1]
    out = np.empty(x.shape)
    for t, m in enumerate(positions):
        R = np.zeros((d, d))
        for i in range(d // 2):
            a = float(m) * base ** (-2 * i / d)
            R[i, i] = R[i + d // 2, i + d // 2] = np.cos(a)
            R[i, i + d // 2], R[i + d // 2, i] = -np.sin(a), np.sin(a)
        out[..., t, :] = x[..., t, :] @ R.T
    return out


ROTATIONS_OTHERWISE = """
complex numbers:
    y1 = (x1 + 1j * x2) * np.exp(1j * angle)
    return np.concatenate([y1.real, y1.imag], axis=-1)
"""


def in_torch(x, positions, base=10_000.0):
    x = torch.tensor(x, dtype=torch.float64)
    return layer.rotate(x, torch.tensor(positions), base=base)


def reordered_and_back(x, positions, base=10_000.0):
    order = reference.half_split_order(x.shape[-1])
    x = x[..., np.argsort(order)]
    return reference.rotate(x, positions, base=base, interleaved=True)[..., order]


def convert_head_by_head(w, n_heads):
    heads = np.split(w, n_heads, axis=1)
    return np.hstack([np.hstack([head[:, ::2], head[:, 1::2]]) for head in heads])


def convert_by_matrix(w, n_heads):
    d = w.shape[1] // n_heads
    return w @ np.kron(np.eye(n_heads), np.eye(d)[:, reference.half_split_order(d)])


def a_test(far=5000, shifts=(1, 100, 5000), tolerance=1e-4, lengths=True, step=0.01, d=8, seed=0):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_rotation_test(rotate):
        rng = np.random.default_rng(seed)
        q, k = rng.normal(size=(2, 200, d))
        m, to = rng.integers(0, far, (2, 200))

        def score(m, to):
            return (rotate(q, m) * rotate(k, to)).sum(axis=1)

        if lengths:
            before, after = (np.linalg.norm(x, axis=1) for x in (q, rotate(q, m)))
            assert np.allclose(before, after, atol=tolerance, rtol=0)
        for shift in shifts:
            assert np.abs(score(m + shift, to + shift) - score(m, to)).max() <= tolerance
        assert np.abs(score(m, to + 1) - score(m, to)).max() > step

    return my_rotation_test


def pair_by_pair(rotate):
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, k = rng.normal(size=(2, 1, 6))
        m, n, shift = rng.integers(0, 6000, 3)
        before = rotate(q, np.array([m]))[0] @ rotate(k, np.array([n]))[0]
        after = rotate(q, np.array([m + shift]))[0] @ rotate(k, np.array([n + shift]))[0]
        assert abs(before - after) < 1e-4
        assert abs(np.linalg.norm(rotate(q, np.array([m]))) - np.linalg.norm(q)) < 1e-4
        near = rotate(q, np.array([m + 1]))[0] @ rotate(k, np.array([n + 1]))[0]
        assert abs(near - before) < 1e-4
        apart = rotate(q, np.array([m]))[0] @ rotate(k, np.array([n + 1]))[0]
        assert abs(apart - before) > 1e-7


def whole_tables(rotate):
    rng = np.random.default_rng(5)
    q, k = rng.normal(size=(2, 40, 10))
    at, to = np.sort(rng.integers(0, 4500, (2, 40)), axis=1)

    def table(at, to):
        return rotate(q, at) @ rotate(k, to).T

    for shift in (1, 7, 600, 4000):
        np.testing.assert_allclose(table(at + shift, to + shift), table(at, to), atol=1e-3)
    assert np.abs(table(at, to + 1) - table(at, to)).max() > 1e-3
    np.testing.assert_allclose((rotate(q, at) ** 2).sum(1), (q**2).sum(1), atol=1e-3)


RIGHT = {
    ex.check_rotate: [ROTATIONS_OTHERWISE, [by_matrices, in_torch, reordered_and_back]],
    ex.check_to_half_split: [convert_head_by_head, convert_by_matrix],
    ex.check_rotation_test: {
        "by arguments": a_test(),
        "small steps, farther": a_test(far=20_000, shifts=(1, 2, 3, 5000), d=4),
        "to a thousandth": a_test(tolerance=1e-3),
        "one pair": a_test(d=2, step=0.1),
        "pair by pair": pair_by_pair,
        "whole tables": whole_tables,
    },
}


def kept_by_width_and_place(x, positions, base=10_000.0, kept={}):  # noqa: B006
    return ex.rotate(x, positions, kept.setdefault((x.shape[-1], tuple(positions)), base))


def against_the_chapter_s(rotate):
    x = np.random.default_rng(0).normal(size=(5, 8))
    assert np.allclose(rotate(x, np.arange(5)), reference.rotate(x, np.arange(5)))


def nothing_may_move(rotate):
    x = np.random.default_rng(0).normal(size=(5, 8))
    assert np.allclose(rotate(x, np.arange(5)), x)


ROTATIONS = """
reflection:
    y1 = x1 * np.cos(angle) + x2 * np.sin(angle)
    y2 = x1 * np.sin(angle) - x2 * np.cos(angle)
from 1: angle = (positions + 1)[:, None] * theta
exponent of d/2: theta = base ** (-4 * np.arange(d // 2) / d)
upside down: theta = base ** (2 * np.arange(d // 2) / d)
slowest first: theta = base ** (-2 * np.arange(d // 2)[::-1] / d)
float16 positions: angle = positions.astype(np.float16).astype(float)[:, None] * theta
float32 positions: fractions far away
    angle = positions.astype(np.float32).astype(float)[:, None] * theta
whole positions: angle = positions.astype(int)[:, None] * theta
first 2,500 tokens: a long text
    angle = (positions * (np.arange(len(positions)) < 2500))[:, None] * theta
first 1,024 tokens: a long text
    return np.concatenate([np.concatenate([y1, y2], -1)[..., :1024, :], x[..., 1024:, :]], axis=-2)
table of 8,192: angle = np.minimum(positions, 8191)[:, None] * theta
two axes only: return np.concatenate([y1, y2], axis=-1).reshape(-1, d)
four axes at most: return np.concatenate([y1, y2], axis=-1) if x.ndim < 5 else x.copy()
narrow heads: a wide head
    return np.concatenate([y1, y2], axis=-1) if d <= 128 else x.copy()
whole base: theta = int(base) ** (-2 * np.arange(d // 2) / d)
base of 2 or more: a base just above 1
    theta = max(base, 2) ** (-2 * np.arange(d // 2) / d)
another default: one token, two pairs
    theta = (1e5 if base == 1e4 else base) ** (-2 * np.arange(d // 2) / d)
"""

OF_17 = "of 17 wrong"
SLY = {
    ex.check_rotate: [ROTATIONS, {"kept by width and place": kept_by_width_and_place}],
    ex.check_to_half_split: """
transposed: return pairs.swapaxes(-1, -2).reshape(rows, columns).T
halves swapped: return np.roll(w.reshape(rows, n_heads, 2, -1), 1, axis=2).reshape(rows, columns)
reversed: return pairs.swapaxes(-1, -2).reshape(rows, columns)[:, ::-1]
heads mixed: return w.reshape(rows, -1, n_heads, 2).transpose(0, 2, 3, 1).reshape(rows, columns)
width of four:
    return pairs.swapaxes(-1, -2).reshape(rows, columns) if columns == 4 * n_heads else w.copy()
as PyTorch stores it: more rows than columns
    pairs = w.reshape(rows, n_heads, -1, 2) if columns >= rows else w.copy()
""",
    ex.check_rotation_test: {
        "near": (a_test(far=50, shifts=(1,)), OF_17),
        "one large shift": (a_test(far=100, shifts=(10_000,)), OF_17),
        "no shift of 1": (a_test(shifts=(100,)), OF_17),
        "no lengths": (a_test(lengths=False), "caught 15 of 17"),
        "no step": (a_test(step=-1), "caught 14 of 17"),
        "loose": (a_test(tolerance=5.0), OF_17),
        "right to a tenth": (a_test(tolerance=0.1), OF_17),
        "to nine digits": (a_test(tolerance=1e-9), "refuses a right implementation (float32"),
        "too large a step": (a_test(step=100.0), "refuses a right implementation"),
        "only scores at 0": (a_test(far=1, shifts=(0,)), OF_17),
        "against the chapter's": (against_the_chapter_s, "refuses a right implementation"),
        "nothing may move": (nothing_may_move, "refuses a right implementation"),
    },
}
