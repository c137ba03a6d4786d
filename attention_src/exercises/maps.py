"""The checks of the chapter on attention maps."""

from itertools import product

import numpy as np

from attention_src.exercises.engine import Case, Check
from attention_src.exercises.engine.cases import any_shape, any_weights

Array = np.ndarray

# --- A role as a score ------------------------------------------------------------------------


def my_next_token_score(p):
    i = np.arange(1, p.shape[-1] - 2)  # words with a word after them
    return p[..., i, i + 1].mean(axis=-1)


# Each mistake below gives a different score for this map.
_TENTHS = [[6, 1, 1, 1, 1], [4, 3, 1, 1, 1], [1, 2, 5, 1, 1], [1, 1, 7, 0, 1], [3, 2, 2, 2, 1]]


def _weights(*shape: int) -> Array:
    """Random weights: no row is uniform, no two rows are alike."""
    return np.random.default_rng(3).dirichlet(np.full(shape[-1], 0.5), size=shape[:-1])


def _draw_map(rng: np.random.Generator) -> tuple:
    """Maps of 4 to 9 tokens, seldom of 70, with up to three leading axes."""
    n = 70 if rng.random() < 0.1 else int(rng.integers(4, 10))
    return (any_weights(rng, (*any_shape(rng, fewest=1, most=4, longest=3)[1:], n, n)),)


check_next_token_score = Check(
    "next_token_score",
    my_next_token_score,
    asks="f(p [..., n, n]) -> [...], the mean weight of a word on the word after it",
    cases=[
        Case("a perfect next-token head", (np.eye(5, k=1) + np.diag([0, 0, 0, 0, 1.0]),)),
        Case("[CLS], three words, [SEP]", (np.array(_TENTHS) / 10,)),
        Case("3 heads at once", (_weights(3, 7, 7),)),
        Case("2 layers of 3 heads", (_weights(2, 3, 5, 5),)),
        Case("one layer of one head", (_weights(1, 1, 6, 6),)),
        Case("one word has a word after it", (_weights(4, 4),)),
    ],
    draw=_draw_map,
    mistakes="""
transposed: You read p[i + 1, i]: that is how much a word looks at the one BEFORE it. Rows are \
queries, so the next token is p[i, i + 1].
    return p[..., i + 1, i].mean(axis=-1)
special tokens counted: You took the whole diagonal. Its first entry is [CLS] looking at the first \
word, its last is the last word looking at [SEP]; neither is a word that looks at a word.
    i = np.arange(0, p.shape[-1] - 1)
last word counted: You counted the last word, and what stands behind it is [SEP]. End at i = n - 3.
    i = np.arange(1, p.shape[-1] - 1)
[CLS] counted: You counted [CLS] as a query. The first word is i = 1.
    i = np.arange(0, p.shape[-1] - 2)
own token: You read p[i, i]: how much a word looks at itself. The word after it is i + 1.
    return p[..., i, i].mean(axis=-1)
sum instead of mean: You added the weights up. Divide by the number of words, or long texts score \
more.
    return p[..., i, i + 1].sum(axis=-1)
all heads averaged: You averaged over the heads too. Average the last axis only: one score per map.
    return p[..., i, i + 1].mean()
largest key counted: You counted how often the next token gets the largest weight. The score is \
the weight itself, averaged.
    return (p.argmax(axis=-1)[..., i] == i + 1).mean(axis=-1)
divided by n: You divided by all n tokens. Only n - 3 words have a word after them.
    return p[..., i, i + 1].sum(axis=-1) / p.shape[-1]
""",
)

# --- What followed last time ------------------------------------------------------------------


def my_induction_score(p, tokens):
    per_query = []
    for i, token in enumerate(tokens):
        keys = [m + 1 for m in range(i) if tokens[m] == token]
        if keys:
            per_query.append(p[..., i, keys].sum(axis=-1))
    return np.mean(per_query, axis=0)


def _causal(rng: np.random.Generator, *shape: int) -> Array:
    """Maps of a decoder: 0 above the diagonal."""
    e = np.tril(rng.gamma(0.5, size=(*shape, shape[-1])) + 1e-6)
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


# Anagrams, words that begin or end alike, capitals, a space: all of them different tokens.
_WORDS = ["a", "b", "B", "bb", "the", "The", " a", "no", "on", "stop", "spot", "then", "top"]


def _draw_text(rng: np.random.Generator) -> tuple:
    """Texts of a few words, of 2 to 12 tokens, seldom 70; one of them occurs twice.

    A quarter of the maps are sharp: each query looks at one key, as often as not a wrong one.
    """
    n = 70 if rng.random() < 0.1 else int(rng.integers(2, 13))
    words = rng.permutation(_WORDS)[: int(rng.integers(2, 8))]
    tokens = [str(word) for word in rng.choice(words, n)]
    if rng.random() < 0.3:
        tokens = [f"w{i % (n // 2)}" for i in range(n)]  # one text, twice
    if len(set(tokens)) == n:
        tokens[-1] = tokens[0]
    maps = _causal(rng, *any_shape(rng, 1, 3 if n == 70 else 5, longest=3)[1:], n)
    if rng.random() < 0.25:
        maps = np.eye(n)[maps.argmax(axis=-1)]
    return maps, tokens


_RNG = np.random.default_rng(4)

check_induction_score = Check(
    "induction_score",
    my_induction_score,
    asks="f(p [..., n, n], tokens) -> [...], the weight on what followed the same token earlier",
    cases=[
        Case("a text and the same again", (_causal(_RNG, 6), list("abcabc"))),
        Case("one repeated token of four", (_causal(_RNG, 4), ["on", "the", "on", "off"])),
        Case("a letter that came three times", (_causal(_RNG, 7), list("abacada"))),
        Case("the same token twice running", (_causal(_RNG, 5), list("abbcb"))),
        Case("3 heads at once", (_causal(_RNG, 3, 8), list("xyzxyxzy"))),
        Case("2 layers of 3 heads", (_causal(_RNG, 2, 3, 6), list("abcabc"))),
        Case("a sharp head, wrong in one of two", (np.eye(5)[[0, 0, 1, 0, 0]], list("abaxb"))),
        Case("no and on are two tokens", (_causal(_RNG, 5), ["no", "on", "no", "on", "on"])),
        Case("capitals are other tokens", (_causal(_RNG, 5), ["The", "end", "the", "end", "end"])),
        Case("a space behind makes another", (_causal(_RNG, 5), ["a", "b", "a ", "b", "a "])),
    ],
    draw=_draw_text,
    mistakes="""
same token: You count the earlier occurrence itself. An induction head looks at what FOLLOWED it, \
one place later.
    keys = [m for m in range(i) if tokens[m] == token]
token before: You count what stood BEFORE the earlier occurrence. Count what followed it.
    keys = [m - 1 for m in range(1, i) if tokens[m] == token]
latest occurrence only: You count the latest earlier occurrence only. Add up the weights on what \
followed each of them.
    keys = [m + 1 for m in range(i) if tokens[m] == token][-1:]
first occurrence only: You count the first occurrence only. Add up the weights on what followed \
each of them.
    keys = [m + 1 for m in range(i) if tokens[m] == token][:1]
own token left out: In a pair like 'b b', what followed the first b is the second b itself: with \
m = i - 1, key m + 1 is i. Count it.
    keys = [m + 1 for m in range(i - 1) if tokens[m] == token]
all queries averaged: You divide by all n queries. Average over those whose token occurred before.
    return np.sum(per_query, axis=0) / len(tokens)
averaged over pairs: You average over all pairs (query, key). Add up each query's weights first, \
then average the queries.
    per_query.extend(p[..., i, key] for key in keys)
sum instead of mean: You added up over the queries. Divide by how many have an earlier occurrence.
    return np.sum(per_query, axis=0)
all heads averaged: You averaged over the heads too. One score per map.
    return np.mean(per_query)
transposed: You read p[j, i]. Rows are queries: the weight of query i on key j is p[i, j].
    per_query.append(p[..., keys, i].sum(axis=-1))
""",
)

# --- A nudge, or luck? ------------------------------------------------------------------------


def my_luck(difference):
    counts = []
    for signs in product([1, -1], repeat=len(difference)):
        moved = difference * np.array(signs)[:, None] > 0
        counts.append(moved.sum(axis=0).max())
    return np.mean(np.array(counts) >= counts[0])  # the first swaps nothing


def _draw_pairs(rng: np.random.Generator) -> tuple:
    """2 to 8 pairs, 1 to 12 heads or 72, some of which go together; some are tiny, a few 0."""
    n_pairs, n_heads = int(rng.integers(2, 9)), int(rng.integers(1, 13))
    if rng.random() < 0.1:
        n_heads = 72
    d = rng.normal(rng.choice([0.0, 0.4]), 1, (n_pairs, n_heads))
    if rng.random() < 0.4:
        d = d + 2 * rng.normal(size=(n_pairs, 1))
    if rng.random() < 0.4:
        d[rng.random(d.shape) < 0.3] = 0
    if rng.random() < 0.3:
        d = d * 1e-12  # above 0 all the same
    return (d,)


_RNG = np.random.default_rng(8)
_TWO_HEADS = np.array([[0.3, -0.1], [0.2, 0.4], [0.1, -0.5]])

check_luck = Check(
    "luck",
    my_luck,
    asks="f(difference [n_pairs, n_heads]) -> how often luck is as good as the best head",
    cases=[
        Case("three pairs, two heads", (_TWO_HEADS,)),
        Case("one head, right in three of four", (np.array([[0.2], [0.1], [-0.3], [0.4]]),)),
        Case("two heads that always agree", (np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, -2.0]]),)),
        Case("a difference of 0 counts for neither", (np.array([[0.0, 0.2], [0.5, 0.0]]),)),
        Case("tiny differences", (1e-12 * _TWO_HEADS,)),
        Case("eight pairs, 72 heads", (_RNG.normal(0, 1, (8, 72)),)),
        Case("ten pairs, twelve heads", (_RNG.normal(0.3, 1, (10, 12)),)),
        Case(
            "heads that nearly agree", (_RNG.normal(0.2, 1, (8, 1)) + _RNG.normal(size=(8, 6)) / 4,)
        ),
        Case("one pair, one head that does not move", (np.array([[0.2, 0.0]]),)),
        Case("no head moves at all", (np.zeros((3, 2)),)),
        Case("every head moves the right way", (abs(_TWO_HEADS),)),
    ],
    draw=_draw_pairs,
    drawn=40,
    mistakes="""
better only: You count the patterns that do better. Those that do as well count too: as good or \
better, >=.
    return np.mean(np.array(counts) > counts[0])
as good only: You count the patterns that do exactly as well. Better ones count too.
    return np.mean(np.array(counts) == counts[0])
the chosen head alone: You flip signs for the best head alone. In each pattern another head may be \
the best one: take the maximum again.
    + difference = difference[:, [(difference > 0).sum(axis=0).argmax()]]
one coin: This is the chance for a single head, chosen beforehand. Yours is the best of many.
    counts.append(signs.count(1))
    return np.mean(np.array(counts) >= (difference > 0).sum(axis=0).max())
independent coins: You treat the heads as independent coins. They read the same sentences: flip \
the sign of a pair for all heads at once.
    counts.append(signs.count(1))
    return 1 - np.mean(np.array(counts) < (difference > 0).sum(axis=0).max()) ** difference.shape[1]
its own pattern left out: You left out the pattern without any swap. It is one of the 2^n.
    return np.mean(np.array(counts[1:]) >= counts[0])
a 0 counted as right: You count a difference of 0 as a move the right way. It is none: > 0.
    moved = difference * np.array(signs)[:, None] >= 0
a count: This is a number of patterns. Divide by 2^n.
    return np.sum(np.array(counts) >= counts[0])
the other tail: You count the patterns that do worse or as well. Count as good or better.
    return np.mean(np.array(counts) <= counts[0])
""",
)
