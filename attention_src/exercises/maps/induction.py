"""The check of a head's induction score."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_shape
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Target = Callable[[list[str], int, int], bool]  # (tokens, i, j): may query i count key j?


def _follows(tokens: list[str], i: int, j: int) -> bool:
    """Key j followed an earlier token that is the same as token i."""
    return 1 <= j <= i and tokens[j - 1] == tokens[i]


def _table(tokens: list[str], target: Target = _follows) -> np.ndarray:
    n = len(tokens)
    return np.array([[target(tokens, i, j) for j in range(n)] for i in range(n)], dtype=bool)


def _mean_over_queries(p: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The weight on all targets of a query, averaged over the queries that have one."""
    added = (p * targets).sum(axis=-1)
    return np.asarray(added[..., targets.any(axis=-1)].mean(axis=-1))


def _induction_score(p: np.ndarray, tokens: list[str]) -> np.ndarray:
    """How much a token attends to what followed the same token earlier."""
    return _mean_over_queries(p, _table(tokens))


def _scored(target: Target) -> Callable:
    return lambda p, tokens: _mean_over_queries(p, _table(tokens, target))


def _same(tokens: list[str], i: int, j: int) -> bool:
    return j < i and tokens[j] == tokens[i]


def _before(tokens: list[str], i: int, j: int) -> bool:
    return j + 1 < i and tokens[j + 1] == tokens[i]


def _latest(tokens: list[str], i: int, j: int) -> bool:
    return _follows(tokens, i, j) and tokens[i] not in tokens[j:i]


def _earliest(tokens: list[str], i: int, j: int) -> bool:
    return _follows(tokens, i, j) and tokens.index(tokens[i]) == j - 1


def _not_own(tokens: list[str], i: int, j: int) -> bool:
    return j < i and _follows(tokens, i, j)


def _causal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Maps of a decoder: 0 above the diagonal."""
    e = np.tril(rng.gamma(0.5, size=(*shape, shape[-1])) + 1e-6)
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _one_hot(keys: list[int]) -> np.ndarray:
    """The map of a sharp head: query i puts all its weight on keys[i]."""
    return np.eye(len(keys))[keys]


# Anagrams, words that begin or end alike, capitals, a space: all of them different tokens.
_WORDS = ["a", "b", "B", "bb", "the", "The", " a", "no", "on", "stop", "spot", "then", "top"]


def _draw(rng: np.random.Generator) -> tuple:
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

INDUCTION_SCORE = Check(
    "induction_score",
    reference=_induction_score,
    cases=[
        Case("a text and the same again", (_causal(_RNG, 6), list("abcabc"))),
        Case("one repeated token of four", (_causal(_RNG, 4), ["on", "the", "on", "off"])),
        Case("a letter that came three times", (_causal(_RNG, 7), list("abacada"))),
        Case("the same token twice running", (_causal(_RNG, 5), list("abbcb"))),
        Case("3 heads at once", (_causal(_RNG, 3, 8), list("xyzxyxzy"))),
        Case("2 layers of 3 heads", (_causal(_RNG, 2, 3, 6), list("abcabc"))),
        Case("a sharp head, wrong in one of two", (_one_hot([0, 0, 1, 0, 0]), list("abaxb"))),
        Case("no and on are two tokens", (_causal(_RNG, 5), ["no", "on", "no", "on", "on"])),
        Case("capitals are other tokens", (_causal(_RNG, 5), ["The", "end", "the", "end", "end"])),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "same token",
            _scored(_same),
            "You count the earlier occurrence itself. An induction head looks at what FOLLOWED it, "
            "one place later.",
        ),
        Mistake(
            "token before",
            _scored(_before),
            "You count what stood BEFORE the earlier occurrence. Count what followed it.",
        ),
        Mistake(
            "latest occurrence only",
            _scored(_latest),
            "You count the latest earlier occurrence only. Add up the weights on what followed "
            "each of them.",
        ),
        Mistake(
            "first occurrence only",
            _scored(_earliest),
            "You count the first occurrence only. Add up the weights on what followed each of "
            "them.",
        ),
        Mistake(
            "own token left out",
            _scored(_not_own),
            "In a pair like 'b b', what followed the first b is the second b itself: with m = "
            "i - 1, key m + 1 is i. Count it.",
        ),
        Mistake(
            "all queries averaged",
            lambda p, tokens: (p * _table(tokens)).sum(axis=-1).mean(axis=-1),
            "You divide by all n queries. Average over those whose token occurred before.",
        ),
        Mistake(
            "averaged over pairs",
            lambda p, tokens: p[..., _table(tokens)].mean(axis=-1),
            "You average over all pairs (query, key). Add up each query's weights first, then "
            "average the queries.",
        ),
        Mistake(
            "sum instead of mean",
            lambda p, tokens: (p * _table(tokens)).sum(axis=(-2, -1)),
            "You added up over the queries. Divide by how many have an earlier occurrence.",
        ),
        Mistake(
            "all heads averaged",
            lambda p, tokens: _induction_score(p, tokens).mean(),
            "You averaged over the heads too. One score per map.",
        ),
        Mistake(
            "transposed",
            lambda p, tokens: _induction_score(p.swapaxes(-1, -2), tokens),
            "You read p[j, i]. Rows are queries: the weight of query i on key j is p[i, j].",
        ),
    ],
    hints=[
        "For 'a b a', which query has an earlier occurrence, and which key followed it?",
        "For each i: keys = [m + 1 for m in range(i) if tokens[m] == tokens[i]]",
        "p[..., i, keys].sum(axis=-1) for each i with keys, then the mean of those.",
    ],
)


def check_induction_score(f: Any) -> Result:
    """Check f(p [..., n, n], tokens) -> [...], the weight on what followed the same token earlier.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return INDUCTION_SCORE.run(f)
