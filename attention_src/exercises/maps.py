"""The checks of the chapter on attention maps."""

from itertools import product

import numpy as np

from attention_src.exercises.engine import Case, Check, Ladder, Rung
from attention_src.exercises.engine.cases import any_shape, any_weights

Array = np.ndarray

# --- A role as a score ------------------------------------------------------------------------


def my_previous_token_score(p):
    i = np.arange(2, p.shape[-1] - 1)  # words with a word before them
    return p[..., i, i - 1].mean(axis=-1)


# Each mistake below gives a different score for this map.
_TENTHS = [[6, 1, 1, 1, 1], [4, 3, 1, 1, 1], [1, 2, 5, 1, 1], [1, 1, 7, 0, 1], [3, 2, 2, 2, 1]]


def _weights(*shape: int) -> Array:
    """Random weights: no row is uniform, no two rows are alike."""
    return np.random.default_rng(3).dirichlet(np.full(shape[-1], 0.5), size=shape[:-1])


def _draw_map(rng: np.random.Generator) -> tuple:
    """Maps of 4 to 9 tokens, seldom of 70, with up to three leading axes."""
    n = 70 if rng.random() < 0.1 else int(rng.integers(4, 10))
    return (any_weights(rng, (*any_shape(rng, fewest=1, most=4, longest=3)[1:], n, n)),)


check_previous_token_score = Check(
    "previous_token_score",
    my_previous_token_score,
    asks="f(p [..., n, n]) -> [...], the mean weight of a word on the word before it",
    cases=[
        Case("a perfect previous-token head", (np.eye(5, k=-1) + np.diag([1.0, 0, 0, 0, 0]),)),
        Case("[CLS], three words, [SEP]", (np.array(_TENTHS) / 10,)),
        Case("3 heads at once", (_weights(3, 7, 7),)),
        Case("2 layers of 3 heads", (_weights(2, 3, 5, 5),)),
        Case("one layer of one head", (_weights(1, 1, 6, 6),)),
        Case("one word has a word before it", (_weights(4, 4),)),
    ],
    draw=_draw_map,
    mistakes="""
transposed: You read p[i - 1, i]: that is how much a word looks at the NEXT one. Rows are queries, \
so the previous token is p[i, i - 1].
    return p[..., i - 1, i].mean(axis=-1)
special tokens counted: You took the whole diagonal. Its first entry is the first word looking at \
[CLS], its last is [SEP] looking at the last word; neither is a word with a word before it.
    i = np.arange(1, p.shape[-1])
first word counted: You counted the first word, and what stands before it is [CLS]. Start at i = 2.
    i = np.arange(1, p.shape[-1] - 1)
[SEP] counted: You counted [SEP] as a query. The last word is i = n - 2.
    i = np.arange(2, p.shape[-1])
own token: You read p[i, i]: how much a word looks at itself. The word before it is i - 1.
    return p[..., i, i].mean(axis=-1)
sum instead of mean: You added the weights up. Divide by the number of words, or long texts score \
more.
    return p[..., i, i - 1].sum(axis=-1)
all heads averaged: You averaged over the heads too. Average the last axis only: one score per map.
    return p[..., i, i - 1].mean()
largest key counted: You counted how often the previous token gets the largest weight. The score \
is the weight itself, averaged.
    return (p.argmax(axis=-1)[..., i] == i - 1).mean(axis=-1)
divided by n: You divided by all n tokens. Only n - 3 words have a word before them.
    return p[..., i, i - 1].sum(axis=-1) / p.shape[-1]
""",
    hints=[
        "Which entries of p belong to a word and the word before it? Mark them on paper for n = 5.",
        "i = np.arange(2, n - 1) are the words that have a word before them.",
        "p[..., i, i - 1].mean(axis=-1)",
    ],
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
    hints=[
        "For 'a b a', which query has an earlier occurrence, and which key followed it?",
        "For each i: keys = [m + 1 for m in range(i) if tokens[m] == tokens[i]]",
        "p[..., i, keys].sum(axis=-1) for each i with keys, then the mean of those.",
    ],
)

# --- Entropy of a map -------------------------------------------------------------------------


def my_attention_entropy(p):
    logs = np.log2(np.where(p > 0, p, 1))  # log2(1) = 0: adds nothing
    return -(p * logs).sum(axis=-1).mean(axis=-1)


def _draw_weights(rng: np.random.Generator) -> tuple:
    """Maps with 1 to 9 queries and keys, seldom 80 of one, with up to three leading axes."""
    n_q, n_k = (int(i) for i in rng.integers(1, 10, 2))
    if rng.random() < 0.2:
        n_q, n_k = (80, n_k) if rng.random() < 0.5 else (n_q, 80)
    return (any_weights(rng, (*any_shape(rng, fewest=1, most=4, longest=3)[1:], n_q, n_k)),)


check_attention_entropy = Check(
    "attention_entropy",
    my_attention_entropy,
    asks="f(p [..., n_q, n_k]) -> [...], the rows' entropy in bits, averaged over the queries",
    cases=[
        Case("uniform over 4 keys: 2 bits", (np.full((4, 4), 0.25),)),
        Case("one query flat, one sharp", (np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]),)),
        Case("3 queries, 5 keys", (_weights(3, 5),)),
        Case("2 heads, 7 queries, 7 keys", (_weights(2, 7, 7),)),
        Case("2 layers of 3 heads", (_weights(2, 3, 5, 5),)),
        Case("one query, one key: nothing to choose", (np.ones((1, 1, 1)),)),
        Case("weights of one in a million", (np.array([[1 - 2e-6, 1e-6, 1e-6, 0.0]]),)),
        Case("weights of one in ten billion", (np.array([[1 - 2e-10, 1e-10, 1e-10, 0.0]]),)),
    ],
    draw=_draw_weights,
    mistakes="""
nats: You used the natural logarithm, so these are nats. Bits need np.log2.
    logs = np.log(np.where(p > 0, p, 1))
logarithm of 0: A weight of 0 gives 0 * log2(0) = 0 * -inf, which is not a number. It should add \
nothing: take the logarithm only where p > 0.
    logs = np.log2(p)
a small number added: You added a small number to the weights inside the logarithm, and weights \
below it no longer count as they should. Take the logarithm only where p > 0.
    logs = np.log2(p + 1e-9)
sign: The sign is wrong. The logarithm of a weight is negative, so entropy needs a minus.
    return (p * logs).sum(axis=-1).mean(axis=-1)
columns: You took the entropy of columns. A query's weights are a row: sum over the last axis.
    logs = p.sum(axis=-2, keepdims=True)
    + p = (p / np.where(logs == 0, 1, logs)).swapaxes(-1, -2)
    + logs = np.log2(np.where(p > 0, p, 1))
summed over queries: All terms are there, but you divide their sum by the number of keys. Sum over \
the keys (axis -1), then average over the queries.
    return -(p * logs).sum(axis=-2).mean(axis=-1)
entropy of the average: You averaged the rows first. Two sharp queries that look at different keys \
would then seem to be flat. Take each row's entropy, then average.
    logs = p.mean(axis=-2, keepdims=True)
    + p = logs
    + logs = np.log2(np.where(p > 0, p, 1))
not averaged: This is one entropy per query. Average them: one number per map.
    return -(p * logs).sum(axis=-1)
summed, not averaged: You added the entropies of the queries. Average them instead.
    return -(p * logs).sum(axis=-1).sum(axis=-1)
all heads averaged: You averaged over the heads too. Keep the leading axes: one number per map.
    return -(p * logs).sum(axis=-1).mean()
divided by log2(n_k): You divided by the largest possible entropy. This exercise asks for bits.
    return -(p * logs).sum(axis=-1).mean(axis=-1) / np.log2(p.shape[-1])
""",
    hints=[
        "First one entropy per row, then their average. Over which axis is each?",
        "np.where(p > 0, p, 1) is safe inside the logarithm, because log2(1) = 0.",
        "-(p * np.log2(np.where(p > 0, p, 1))).sum(axis=-1).mean(axis=-1)",
    ],
)

# --- Rollout ----------------------------------------------------------------------------------


def my_rollout(weights):
    identity = rollout = np.eye(weights.shape[-1])
    for layer in weights:  # layer: [H, n, n]
        mixed = (layer.mean(axis=0) + identity) / 2
        rollout = mixed @ rollout
    return rollout


def _draw_layers(rng: np.random.Generator) -> tuple:
    """1 to 7 layers of 1 to 5 heads on 1 to 7 tokens; seldom 12 to 16 heads on 70 to 80 tokens."""
    n_layers, n_heads, n = (int(rng.integers(1, most + 1)) for most in (7, 5, 7))
    if rng.random() < 0.1:
        n_layers, n_heads, n = 1 + n_layers % 3, int(rng.integers(12, 17)), 70 + int(n)
    return (any_weights(rng, (n_layers, n_heads, n, n)),)


_RNG = np.random.default_rng(5)
_ONE = np.array([[[[1.0, 0.0], [0.4, 0.6]]]])
_TWO = np.array([[[[1.0, 0.0], [0.4, 0.6]]], [[[0.2, 0.8], [0.0, 1.0]]]])

check_rollout = Check(
    "rollout",
    my_rollout,
    asks="f(weights [L, H, n, n]) -> [n, n], attention rollout; layer 0 is the first",
    cases=[
        Case("one layer, one head", (_ONE,)),
        Case("two layers, one head", (_TWO,)),
        Case("two layers, 3 heads", (_RNG.dirichlet(np.full(5, 0.5), size=(2, 3, 5)),)),
        Case("6 layers, 2 heads", (_RNG.dirichlet(np.full(7, 0.5), size=(6, 2, 7)),)),
        Case("one token", (np.ones((2, 2, 1, 1)),)),
        Case("12 heads, 21 tokens", (_RNG.dirichlet(np.full(21, 0.2), size=(3, 12, 21)),)),
        Case("16 heads, 72 tokens", (_RNG.dirichlet(np.full(72, 0.2), size=(2, 16, 72)),)),
        Case("24 layers", (_RNG.dirichlet(np.full(5, 0.1), size=(24, 2, 5)),)),
    ],
    draw=_draw_layers,
    mistakes="""
layers in the wrong order: You multiplied the layers in the other order. Layer 1 reads the input, \
so it stands rightmost: R = A_L ... A_2 A_1.
    rollout = rollout @ mixed
no residual: You left out the residual path, by which each token keeps itself: average with the \
identity.
    mixed = layer.mean(axis=0)
residual not halved: You added the identity but did not halve, so each layer doubles the row sums.
    mixed = layer.mean(axis=0) + identity
entry by entry: You multiplied entry by entry (*). Paths through a layer add up: use @.
    identity = np.eye(weights.shape[-1])
    + rollout = np.ones_like(identity)
    rollout = mixed * rollout
heads summed: You summed the heads. Average them, or the rows no longer sum to 1.
    mixed = (layer.sum(axis=0) + identity) / 2
strongest head: You took the largest head for each entry. This exercise averages the heads.
    mixed = (layer.max(axis=0) + identity) / 2
strongest head, rescaled: You took the largest head for each entry and rescaled. This exercise \
averages the heads.
    mixed = layer.max(axis=0) + identity
    + mixed = mixed / mixed.sum(axis=-1, keepdims=True)
transposed: Your answer is transposed: rows are output tokens, columns input tokens, so each row \
sums to 1.
    return rollout.T
last layer only: This is the last layer alone. Multiply through all of them.
    return mixed
layers averaged: You averaged the layers. Each reads what the one below wrote: multiply them.
    return (weights.mean(axis=(0, 1)) + identity) / 2
residual once, at the end: You added the residual once, at the end. Every layer has its own.
    mixed = layer.mean(axis=0)
    return (rollout + identity) / 2
""",
    hints=[
        "Start with the identity, and let one layer after another act on it.",
        "For each layer: average its heads, average that with the identity, multiply from the "
        "left.",
        "r = (layer.mean(axis=0) + np.eye(n)) / 2 @ r",
    ],
)

# --- Rollout of nothing -----------------------------------------------------------------------


def _share(n_layers: int, key: int = 0) -> float:
    """What token 0 of 8 has of token `key`, after layers with one uniform head each."""
    return float(my_rollout(np.full((n_layers, 1, 8, 8), 1 / 8))[0, key])


_COARSE = "Give three digits after the point, or a fraction."
_DIGITS: dict[str, float] = {"rtol": 0, "atol": 5.01e-4}  # three after the point
_LAYERS = range(1, 100)

# fmt: off
check_uniform = Ladder("uniform", [
    Rung("a", "a token's own share after 1 layer", _share(1), {
        1 / 8: "That is the head's part. Half of the token goes round it.",
        0.5: "Half comes round the head, and the head adds its own part.",
        1 / 16: "That is another token's share.",
        round(_share(1), 2): _COARSE,
    }, hint="(1 + 1/n) / 2", **_DIGITS),
    Rung("b", "the share of each other token after 1 layer", _share(1, 1), {
        1 / 8: "Halve it: the other half is the token itself.",
        round(_share(1, 1), 2): _COARSE,
    }, hint="The eight shares of a row sum to 1.", **_DIGITS),
    Rung("c", "a token's own share after 2 layers", _share(2), {
        _share(1) ** 2: "That is the path by itself twice. The other seven hand some of it back.",
        round(_share(2), 2): _COARSE,
    }, hint="A A = I/4 + 3 U/4, because U U = U.", **_DIGITS),
    Rung("d", "a token's own share after 6 layers", _share(6), {
        _share(1) ** 6: "That counts one path only.",
        2.0**-6: "That is the part that never entered a head.",
        _share(6, 1): "That is another token's share.",
        2.0**-6 + 1 / 8: "That makes a row sum to more than 1: what is left for U?",
        round(_share(6), 2): _COARSE,
    }, hint="R = 2^-L I + (1 - 2^-L) U", **_DIGITS),
    Rung("e", "layers until a token's own share exceeds another's by less than 1 %",
         next(n for n in _LAYERS if _share(n) < 1.01 * _share(n, 1)), {
        next(n for n in _LAYERS if _share(n) - _share(n, 1) < 0.01): "That is a difference below "
            "0.01. Compare the two shares: their ratio is below 1.01.",
    }, hint="The two differ by 2^-L, and the smaller is (1 - 2^-L) / 8.", rtol=0),
], asks="the rungs of the exercise \"Rollout of nothing\"")
# fmt: on

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
    hints=[
        "The statistic is one number: the most pairs that any head moves the right way.",
        "itertools.product([1, -1], repeat=n_pairs) gives all patterns of signs.",
        "best = lambda d: (d > 0).sum(axis=0).max(), compared for d * signs[:, None] and for d.",
    ],
)
