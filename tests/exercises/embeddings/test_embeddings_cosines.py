"""The check of cosines: right answers in many forms, wrong ones by name."""

import math

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.exercises.embeddings import check_cosines


# The worked solution, in the words of the chapter.
def my_cosines(x, y):
    def unit(rows):
        norm = np.sqrt((rows * 1.0 * rows).sum(axis=1, keepdims=True))
        return rows / np.where(norm == 0, 1, norm)

    return unit(x) @ unit(y).T


def test_worked_solution():
    assert_worked("embeddings", check_cosines, my_cosines)


def in_loops(x, y):
    def one(a, b):
        a, b = [float(t) for t in a], [float(t) for t in b]
        norms = math.sqrt(sum(t * t for t in a)) * math.sqrt(sum(t * t for t in b))
        return sum(s * t for s, t in zip(a, b, strict=True)) / norms if norms else 0.0

    return [[one(a, b) for b in y] for a in x]


def in_torch(x, y):
    x, y = (torch.tensor(np.asarray(t, dtype=float)) for t in (x, y))
    norms = x.norm(dim=1)[:, None] * y.norm(dim=1)[None]
    return torch.where(norms > 0, x @ y.T / norms.clamp(min=1e-300), torch.zeros(()).double())


def with_einsum(x, y):
    x, y = x.astype(float), y.astype(float)
    norms = np.sqrt(np.einsum("nd,nd->n", x, x)[:, None] * np.einsum("md,md->m", y, y))
    return np.divide(np.einsum("nd,md->nm", x, y), norms, out=np.zeros_like(norms), where=norms > 0)


def divided_and_mended(x, y):
    with np.errstate(all="ignore"):
        s = x @ y.T / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    return np.where(np.isfinite(s), s, 0)


def by_distance(x, y):
    x, y = (t / np.maximum(np.linalg.norm(t, axis=1, keepdims=True), 1e-12) for t in (x, y))
    lengths = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)
    return (lengths - ((x[:, None] - y) ** 2).sum(axis=-1)) / 2


def tiny_epsilon(x, y):
    norms = np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    return x @ y.T / np.maximum(norms, 1e-30)


RIGHT_COSINES = [in_loops, in_torch, with_einsum, divided_and_mended, tiny_epsilon, my_cosines]


@pytest.mark.parametrize("f", RIGHT_COSINES)
def test_right_cosines_pass(f):
    assert check_cosines(f).status == "passed"


def norms(x):
    return np.sqrt((x * 1.0 * x).sum(axis=1))


def changes_its_input(x, y):
    answer = my_cosines(x, y)
    x *= 2
    return answer


KEPT = {}


def kept_by_shape(x, y):
    return KEPT.setdefault((x.shape, y.shape), my_cosines(x, y))


WRONG_COSINES = {
    "dots": (lambda x, y: x @ y.T, "longer rows get more"),
    "x alone": (lambda x, y: my_cosines(x, y) * norms(y), "Those of y are still in there"),
    "y alone": (lambda x, y: my_cosines(x, y) * norms(x)[:, None], "Those of x are still in"),
    "squared": (
        lambda x, y: np.nan_to_num(x @ y.T / np.outer(norms(x) ** 2, norms(y) ** 2)),
        "The root is missing",
    ),
    "whole matrix": (
        lambda x, y: x @ y.T / max(np.linalg.norm(x) * np.linalg.norm(y), 1e-30),
        "Each row has its own",
    ),
    "absolute sums": (
        lambda x, y: x @ y.T / np.maximum(np.outer(abs(x).sum(1), abs(y).sum(1)), 1e-30),
        "root of the sum of squares",
    ),
    "absolute": (lambda x, y: abs(my_cosines(x, y)), "Cosines may be negative"),
    "clipped": (lambda x, y: np.maximum(my_cosines(x, y), 0), ""),
    "transposed": (lambda x, y: my_cosines(y, x), "transposed"),
    "distance": (lambda x, y: 1 - my_cosines(x, y), "a distance"),
    "zeros divided": (lambda x, y: x @ y.T / np.outer(norms(x), norms(y)), "a row of zeros"),
    "half": (lambda x, y: my_cosines(x, y) / 2, ""),
    "epsilon": (lambda x, y: x @ y.T / (np.outer(norms(x), norms(y)) + 1e-8), ""),
    "float32 inside": (
        lambda x, y: my_cosines(x.astype(np.float32), y.astype(np.float32)).astype(float),
        "",
    ),
    "whole numbers": (
        lambda x, y: my_cosines(x, y).astype(x.dtype),
        "",
    ),
    "pairs only": (lambda x, y: np.diag(my_cosines(x, y)), "shape"),
    "axis lost": (lambda x, y: np.squeeze(my_cosines(x, y)), "shape"),
    "in place": (changes_its_input, "changed its input"),
    "by shape": (kept_by_shape, ""),
    "rows beyond 40 lost": (
        lambda x, y: my_cosines(x, y) * (np.arange(len(x)) < 40)[:, None],
        "",
    ),
    "the angle": (lambda x, y: np.arccos(np.clip(my_cosines(x, y), -1, 1)), ""),
}


@pytest.mark.parametrize("name", WRONG_COSINES)
def test_wrong_cosines_fail(name):
    assert_rejected(check_cosines, *WRONG_COSINES[name])
