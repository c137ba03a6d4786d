"""Rotating, and converting weights: right answers pass, wrong ones do not and are named."""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.rope import check_rotate, check_to_half_split
from attention_src.rope import reference


# The worked solutions, in the words of the chapter.
def rotate(x, positions, base=10_000.0):
    d = x.shape[-1]
    theta = base ** (-2 * np.arange(d // 2) / d)  # [d/2]
    angle = positions[:, None] * theta  # [n, d/2]
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    y1 = x1 * np.cos(angle) - x2 * np.sin(angle)
    y2 = x1 * np.sin(angle) + x2 * np.cos(angle)
    return np.concatenate([y1, y2], axis=-1)


def to_half_split(w, n_heads):
    rows, columns = w.shape
    pairs = w.reshape(rows, n_heads, columns // n_heads // 2, 2)
    return pairs.swapaxes(-1, -2).reshape(rows, columns)


@pytest.mark.parametrize(
    ("check", "solution"), [(check_rotate, rotate), (check_to_half_split, to_half_split)]
)
def test_worked_solutions_and_stubs(check, solution):
    assert_worked("rope", check, solution)


# --- rotate ----------------------------------------------------------------------------------


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


RIGHT_ROTATE = {
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


WRONG_ROTATE = {
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


# --- convert ---------------------------------------------------------------------------------


def convert_by_loops(w, n_heads):
    d = w.shape[1] // n_heads
    out = np.empty_like(w)
    for h in range(n_heads):
        for i in range(d // 2):
            out[:, h * d + i] = w[:, h * d + 2 * i]
            out[:, h * d + d // 2 + i] = w[:, h * d + 2 * i + 1]
    return out


def convert_by_heads(w, n_heads):
    parts = [np.hstack([p[:, ::2], p[:, 1::2]]) for p in np.split(w, n_heads, axis=1)]
    return np.hstack(parts)


def convert_by_order(w, n_heads):
    d = w.shape[1] // n_heads
    order = reference.half_split_order(d)
    return w[:, np.concatenate([h * d + order for h in range(n_heads)])]


def convert_by_matrix(w, n_heads):
    d = w.shape[1] // n_heads
    return w @ np.kron(np.eye(n_heads), np.eye(d)[:, reference.half_split_order(d)])


def convert_in_torch(w, n_heads):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(w).unflatten(1, (n_heads, -1, 2)).mT.flatten(1)


RIGHT_CONVERT = {
    "worked solution": to_half_split,
    "loops": convert_by_loops,
    "by heads": convert_by_heads,
    "by order": convert_by_order,
    "permutation matrix": convert_by_matrix,
    "torch": convert_in_torch,
    "einsum": lambda w, h: np.einsum("rhic->rhci", w.reshape(len(w), h, -1, 2)).reshape(w.shape),
    "lists": lambda w, h: convert_by_heads(w, h).tolist(),
}


def way_back(w, n_heads):
    pairs = w.reshape(len(w), n_heads, 2, -1)
    return pairs.swapaxes(-1, -2).reshape(w.shape)


def convert_in_place(w, n_heads):
    w[...] = to_half_split(w.copy(), n_heads)
    return w


WRONG_CONVERT = {
    "way back": (way_back, "This is the way back"),
    "one head": (lambda w, h: to_half_split(w, 1), "as one head"),
    "rows": (
        lambda w, h: np.concatenate([w[::2], w[1::2]]) if len(w) > 1 else w.copy(),
        "",
    ),
    "n_heads as width": (lambda w, h: convert_by_heads(w, w.shape[1] // h), "width n_heads"),
    "nothing": (lambda w, h: w.copy(), "Nothing moved"),
    "odd first": (
        lambda w, h: np.hstack(
            [np.hstack([p[:, 1::2], p[:, ::2]]) for p in np.split(w, h, axis=1)]
        ),
        "odd components came first",
    ),
    "transposed": (lambda w, h: to_half_split(w, h).T, ""),
    "halves swapped": (
        lambda w, h: np.roll(w.reshape(len(w), h, 2, -1), 1, axis=2).reshape(w.shape),
        "",
    ),
    "reversed": (lambda w, h: to_half_split(w, h)[:, ::-1], ""),
    "heads apart": (lambda w, h: to_half_split(w, h).reshape(len(w), h, -1), "shape"),
    "first head alone": (
        lambda w, h: np.hstack(
            [to_half_split(w[:, : w.shape[1] // h], 1), w[:, w.shape[1] // h :]]
        ),
        "",
    ),
    "heads mixed": (
        lambda w, h: w.reshape(len(w), -1, h, 2).transpose(0, 2, 3, 1).reshape(w.shape),
        "",
    ),
    "twice": (lambda w, h: to_half_split(to_half_split(w, h), h), ""),
    "float32": (lambda w, h: to_half_split(w, h).astype(np.float32), "float32 cannot hold"),
    "in place": (convert_in_place, "in place"),
    "width of four": (
        lambda w, h: to_half_split(w, h) if w.shape[1] == 4 * h else w.copy(),
        "",
    ),
}

RIGHT = [(check_rotate, f) for f in RIGHT_ROTATE.values()]
RIGHT += [(check_to_half_split, f) for f in RIGHT_CONVERT.values()]
WRONG = [(check_rotate, *wrong) for wrong in WRONG_ROTATE.values()]
WRONG += [(check_to_half_split, *wrong) for wrong in WRONG_CONVERT.values()]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_right_answers_pass(check, answer):
    assert check(answer).status == "passed"


@pytest.mark.parametrize(("check", "answer", "spoken_of"), WRONG)
def test_wrong_answers_are_rejected_and_named(check, answer, spoken_of):
    assert_rejected(check, answer, spoken_of)
