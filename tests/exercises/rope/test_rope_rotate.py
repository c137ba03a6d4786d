"""Rotating: right answers pass, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.rope import check_rotate
from attention_src.rope import reference


# The worked solution, in the words of the chapter.
def rotate(x, positions, base=10_000.0):
    d = x.shape[-1]
    theta = base ** (-2 * np.arange(d // 2) / d)  # [d/2]
    angle = positions[:, None] * theta  # [n, d/2]
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    y1 = x1 * np.cos(angle) - x2 * np.sin(angle)
    y2 = x1 * np.sin(angle) + x2 * np.cos(angle)
    return np.concatenate([y1, y2], axis=-1)


def test_worked_solution_and_stub():
    assert_worked("rope", check_rotate, rotate)


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


def by_complex_numbers(x, positions, base=10_000.0):
    d = x.shape[-1]
    z = x[..., : d // 2] + 1j * x[..., d // 2 :]
    z = z * np.exp(1j * np.outer(positions, base ** (-np.arange(0, d, 2) / d)))
    return np.concatenate([z.real, z.imag], axis=-1)


def by_rotate_half(x, positions, base=10_000.0):
    """As transformers writes it."""
    d = x.shape[-1]
    angle = np.outer(positions, 1 / base ** (np.arange(0, d, 2) / d))
    cos, sin = (np.concatenate([f(angle)] * 2, axis=-1) for f in (np.cos, np.sin))
    turned = np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], axis=-1)
    return x * cos + turned * sin


def in_torch(x, positions, base=10_000.0):
    layer = pytest.importorskip("attention_src.rope.layer")
    torch = pytest.importorskip("torch")
    x = torch.tensor(x, dtype=torch.float64)
    return layer.rotate(x, torch.tensor(positions), base=base)


RIGHT = {
    "worked solution": rotate,
    "package": lambda x, positions, base=10_000.0: reference.rotate(x, positions, base=base),
    "matrices": by_matrices,
    "complex numbers": by_complex_numbers,
    "rotate_half": by_rotate_half,
    "torch": in_torch,
    "reordered, interleaved, and back": lambda x, positions, base=10_000.0: reference.rotate(
        x[..., np.argsort(reference.half_split_order(x.shape[-1]))],
        positions,
        base=base,
        interleaved=True,
    )[..., reference.half_split_order(x.shape[-1])],
    "lists": lambda x, positions, base=10_000.0: rotate(x, positions, base).tolist(),
}


def turned_by(angle_of, matrix=(1, -1, 1, 1)):
    """A rotation with these angles and these signs of x1 cos, x2 sin, x1 sin, x2 cos."""

    def f(x, positions, base=10_000.0):
        d = x.shape[-1]
        angle = angle_of(np.asarray(positions, dtype=np.float64), d, base)
        x1, x2 = x[..., : d // 2], x[..., d // 2 :]
        a, b, c, e = matrix
        y1 = a * x1 * np.cos(angle) + b * x2 * np.sin(angle)
        return np.concatenate([y1, c * x1 * np.sin(angle) + e * x2 * np.cos(angle)], axis=-1)

    return f


def usual(m, d, base):
    return m[:, None] * base ** (-2 * np.arange(d // 2) / d)


def in_place(x, positions, base=10_000.0):
    x[...] = rotate(x.copy(), positions, base)
    return x


def kept_by_shape(x, positions, base=10_000.0, kept={}):  # noqa: B006
    return kept.setdefault((x.shape, base), rotate(x, positions, base))


def kept_by_place(x, positions, base=10_000.0, kept={}):  # noqa: B006
    turn = kept.setdefault((x.shape[-1], tuple(positions)), base)
    return rotate(x, positions, turn)


WRONG = {
    "interleaved": (
        lambda x, positions, base=10_000.0: reference.rotate(
            x, positions, base=base, interleaved=True
        ),
        "You paired neighbours",
    ),
    "clockwise": (turned_by(lambda m, d, base: -usual(m, d, base)), "turned the other way"),
    "both sines plus": (turned_by(usual, (1, 1, 1, 1)), "needs a minus"),
    "reflection": (turned_by(usual, (1, 1, 1, -1)), ""),
    "index": (
        lambda x, positions, base=10_000.0: rotate(x, np.arange(x.shape[-2]), base),
        "by positions[i] steps",
    ),
    "from 1": (turned_by(lambda m, d, base: usual(m + 1, d, base)), ""),
    "exponent i/d": (
        turned_by(lambda m, d, base: m[:, None] * base ** (-np.arange(d // 2) / d)),
        "exponent is -2i/d",
    ),
    "exponent of d/2": (
        turned_by(lambda m, d, base: m[:, None] * base ** (-4 * np.arange(d // 2) / d)),
        "",
    ),
    "upside down": (
        turned_by(lambda m, d, base: m[:, None] * base ** (2 * np.arange(d // 2) / d)),
        "",
    ),
    "slowest first": (turned_by(lambda m, d, base: usual(m, d, base)[:, ::-1]), ""),
    "base fixed": (turned_by(lambda m, d, base: usual(m, d, 10_000.0)), "not depend on base"),
    "one frequency": (
        turned_by(lambda m, d, base: m[:, None] * np.ones(d // 2)),
        "turn by one angle",
    ),
    "degrees": (turned_by(lambda m, d, base: np.deg2rad(usual(m, d, base))), "radians already"),
    "float32 angles": (
        turned_by(lambda m, d, base: usual(m, d, base).astype(np.float32).astype(float)),
        "computed in float32",
    ),
    "float16 positions": (
        turned_by(lambda m, d, base: usual(m.astype(np.float16).astype(float), d, base)),
        "",
    ),
    "float32 positions": (
        turned_by(lambda m, d, base: usual(m.astype(np.float32).astype(float), d, base)),
        "fractions far away",
    ),
    "another default": (lambda x, positions, base=100_000.0: rotate(x, positions, base), ""),
    "first 2,500 tokens": (
        lambda x, positions, base=10_000.0: rotate(
            x, positions * (np.arange(len(positions)) < 2500), base
        ),
        "a long text",
    ),
    "whole positions": (turned_by(lambda m, d, base: usual(m.astype(int), d, base)), ""),
    "added": (
        lambda x, positions, base=10_000.0: (
            x + reference.sinusoids(positions, x.shape[-1], base=base)
        ),
        "",
    ),
    "unchanged": (lambda x, positions, base=10_000.0: x.copy(), ""),
    "squeezed": (lambda x, positions, base=10_000.0: rotate(x, positions, base).squeeze(), "shape"),
    "two axes only": (
        lambda x, positions, base=10_000.0: rotate(x.reshape(-1, x.shape[-1]), positions, base),
        "",
    ),
    "in place": (in_place, "in place"),
    "kept by shape": (kept_by_shape, ""),
    "in the input's dtype": (
        lambda x, positions, base=10_000.0: rotate(x.astype(np.float16), positions, base).astype(
            np.float32
        ),
        "",
    ),
    "kept by width and place": (kept_by_place, ""),
    "whole base": (lambda x, positions, base=10_000.0: rotate(x, positions, int(base)), ""),
    "base of 2 or more": (
        lambda x, positions, base=10_000.0: rotate(x, positions, max(base, 2)),
        "",
    ),
    "narrow heads": (
        lambda x, positions, base=10_000.0: (
            rotate(x, positions, base) if x.shape[-1] <= 128 else x.copy()
        ),
        "",
    ),
    "four axes at most": (
        lambda x, positions, base=10_000.0: rotate(x, positions, base) if x.ndim < 5 else x.copy(),
        "",
    ),
    "first 1,024 tokens": (
        lambda x, positions, base=10_000.0: np.concatenate(
            [rotate(x[..., :1024, :], positions[:1024], base), x[..., 1024:, :]], axis=-2
        ),
        "",
    ),
    "table of 8,192": (
        turned_by(lambda m, d, base: usual(np.minimum(m, 8191), d, base)),
        "",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_rotate(RIGHT[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    assert_rejected(check_rotate, *WRONG[name])
