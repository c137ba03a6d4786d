"""The check of positive PMI: right answers in many forms, wrong ones by name."""

import math

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.exercises.embeddings import check_ppmi


# The worked solution, in the words of the chapter.
def my_ppmi(counts):
    p = counts / counts.sum()
    by_chance = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    seen = p > 0
    ratio = np.where(seen, p, 1) / np.where(seen, by_chance, 1)
    return np.maximum(np.log(ratio), 0)


def test_worked_solution():
    assert_worked("embeddings", check_ppmi, my_ppmi)


def ppmi_in_loops(counts):
    total = float(counts.sum())
    of_row, of_column = counts.sum(axis=1) / total, counts.sum(axis=0) / total
    return [
        [
            max(math.log(n / total / (of_row[i] * of_column[j])), 0.0) if n else 0.0
            for j, n in enumerate(line)
        ]
        for i, line in enumerate(counts)
    ]


def ppmi_by_infinity(counts):
    with np.errstate(all="ignore"):
        p = counts / counts.sum()
        x = np.log(p) - np.log(p.sum(1))[:, None] - np.log(p.sum(0))
    return np.maximum(np.where(np.isfinite(x), x, 0), 0)


def ppmi_of_counts(counts):
    expected = np.outer(counts.sum(1) * 1.0, counts.sum(0)) / counts.sum()
    ratio = np.divide(counts, expected, out=np.ones(counts.shape), where=counts > 0)
    return np.log(np.maximum(ratio, 1))


def ppmi_in_torch(counts):
    p = torch.tensor(counts, dtype=torch.float64)
    p = p / p.sum()
    ratio = p / (p.sum(1, keepdim=True) * p.sum(0)).clamp(min=1e-300)
    return ratio.clamp(min=1).log()


def ppmi_where(counts):
    p = counts / counts.sum()
    out = np.zeros(p.shape)
    i, j = np.nonzero(p)
    out[i, j] = np.log(p[i, j] / p.sum(1)[i] / p.sum(0)[j])
    return out.clip(min=0)


RIGHT_PPMI = [
    my_ppmi,
    ppmi_in_loops,
    ppmi_by_infinity,
    ppmi_of_counts,
    ppmi_in_torch,
    ppmi_where,
    lambda counts: np.log2(np.exp2(my_ppmi(counts))),
]


@pytest.mark.parametrize("f", RIGHT_PPMI)
def test_right_ppmi_passes(f):
    assert check_ppmi(f).status == "passed"


def pmi(counts):
    with np.errstate(all="ignore"):
        p = counts / counts.sum()
        return np.log(p / (p.sum(1, keepdims=True) * p.sum(0)))


def finite(x):
    return np.where(np.isfinite(x), x, 0)


def symmetric(counts):
    p = counts / counts.sum()
    with np.errstate(all="ignore"):
        return np.maximum(finite(np.log(p / np.outer(p.sum(1), p.sum(1)))), 0)


def of_rows(counts):
    with np.errstate(all="ignore"):
        p = counts / counts.sum()
        return np.maximum(finite(np.log(p / p.sum(1, keepdims=True))), 0)


def of_columns(counts):
    with np.errstate(all="ignore"):
        p = counts / counts.sum()
        return np.maximum(finite(np.log(p / p.sum(0, keepdims=True))), 0)


def counts_as_shares(counts):
    with np.errstate(all="ignore"):
        return np.maximum(finite(np.log(counts / np.outer(counts.sum(1), counts.sum(0)))), 0)


def chance_with_a_floor(counts):
    p = counts / counts.sum()
    ratio = p / np.maximum(p.sum(1, keepdims=True) * p.sum(0), 1e-8)
    return np.log(np.maximum(ratio, 1))


WRONG_PPMI = {
    "negative entries": (lambda counts: finite(pmi(counts)), "negative entries"),
    "-inf": (pmi, ""),
    "0 / 0": (lambda counts: np.maximum(pmi(counts), 0), "0 / 0"),
    "bits": (lambda counts: my_ppmi(counts) / np.log(2), "to base 2"),
    "rows only": (of_rows, ""),
    "columns only": (of_columns, ""),
    "rows twice": (symmetric, ""),
    "ratio": (lambda counts: finite(np.exp(pmi(counts))), "Take its logarithm"),
    "log1p": (lambda counts: np.log1p(np.exp(pmi(counts))), ""),
    "add one": (lambda counts: my_ppmi(counts + 1), "added 1 to all counts"),
    "no total": (counts_as_shares, ""),
    "absolute": (lambda counts: abs(finite(pmi(counts))), ""),
    "shifted": (lambda counts: np.maximum(finite(pmi(counts)) - np.log(5), 0), ""),
    "tiny added": (lambda counts: my_ppmi(counts + 1e-6), ""),
    "transposed": (lambda counts: my_ppmi(counts).T, "shape"),
    "float32": (lambda counts: my_ppmi(counts).astype(np.float32).astype(float), ""),
    "32-bit products": (
        lambda counts: np.maximum(
            finite(
                np.log(
                    counts
                    * np.int32(counts.sum())
                    / np.outer(counts.sum(1), counts.sum(0)).astype(np.int32)
                )
            ),
            0,
        ),
        "",
    ),
    "rare is never": (lambda counts: my_ppmi(counts) * (counts / counts.sum() > 1e-7), ""),
    "chance has a floor": (chance_with_a_floor, ""),
    "rows beyond 40 lost": (lambda counts: my_ppmi(counts) * (np.arange(counts.shape[1]) < 40), ""),
    "weights": (lambda counts: counts / counts.sum(), ""),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRONG_PPMI)
def test_wrong_ppmi_fails(name):
    assert_rejected(check_ppmi, *WRONG_PPMI[name])
