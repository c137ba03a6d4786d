"""The check of a head's score for looking at the previous token."""

from typing import Any

import numpy as np

from attention_src.attention.maps import offset_score
from attention_src.exercises.engine.cases import any_shape, any_weights
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _weights(*shape: int) -> np.ndarray:
    """Random weights: no row is uniform, no two rows are alike."""
    rng = np.random.default_rng(3)
    return rng.dirichlet(np.full(shape[-1], 0.5), size=shape[:-1])


def _previous_token_score(p: np.ndarray) -> np.ndarray:
    """Mean weight of a word on the word before it; [CLS] and [SEP] do not count."""
    return np.asarray(offset_score(p, -1))


def _mean_of(p: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    return np.asarray(p[..., i, j].mean(axis=-1))


def _words(p: np.ndarray) -> np.ndarray:
    """The words that have a word before them."""
    return np.arange(2, p.shape[-1] - 1)


def _whole_diagonal(p: np.ndarray) -> np.ndarray:
    i = np.arange(1, p.shape[-1])
    return _mean_of(p, i, i - 1)


def _first_word_too(p: np.ndarray) -> np.ndarray:
    i = np.arange(1, p.shape[-1] - 1)
    return _mean_of(p, i, i - 1)


def _sep_too(p: np.ndarray) -> np.ndarray:
    i = np.arange(2, p.shape[-1])
    return _mean_of(p, i, i - 1)


def _how_often_largest(p: np.ndarray) -> np.ndarray:
    i = _words(p)
    return np.asarray((p.argmax(axis=-1)[..., i] == i - 1).mean(axis=-1))


_TENTHS = np.array(  # each mistake below gives a different score for this map
    [
        [0.6, 0.1, 0.1, 0.1, 0.1],
        [0.4, 0.3, 0.1, 0.1, 0.1],
        [0.1, 0.2, 0.5, 0.1, 0.1],
        [0.1, 0.1, 0.7, 0.0, 0.1],
        [0.3, 0.2, 0.2, 0.2, 0.1],
    ]
)

_MAPS = [
    Case("a perfect previous-token head", (np.eye(5, k=-1) + np.diag([1.0, 0, 0, 0, 0]),)),
    Case("[CLS], three words, [SEP]", (_TENTHS,)),
    Case("3 heads at once", (_weights(3, 7, 7),)),
    Case("2 layers of 3 heads", (_weights(2, 3, 5, 5),)),
    Case("one layer of one head", (_weights(1, 1, 6, 6),)),
    Case("one word has a word before it", (_weights(4, 4),)),
]


def _draw(rng: np.random.Generator) -> tuple:
    """Maps of 4 to 9 tokens, seldom of 70, with up to three leading axes."""
    n = 70 if rng.random() < 0.1 else int(rng.integers(4, 10))
    return (any_weights(rng, (*any_shape(rng, fewest=1, most=4, longest=3)[1:], n, n)),)


PREVIOUS_TOKEN_SCORE = Check(
    "previous_token_score",
    reference=_previous_token_score,
    cases=_MAPS,
    draw=_draw,
    mistakes=[
        Mistake(
            "transposed",
            lambda p: _mean_of(p, _words(p) - 1, _words(p)),
            "You read p[i - 1, i]: that is how much a word looks at the NEXT one. Rows are "
            "queries, so the previous token is p[i, i - 1].",
        ),
        Mistake(
            "special tokens counted",
            _whole_diagonal,
            "You took the whole diagonal. Its first entry is the first word looking at [CLS], its "
            "last is [SEP] looking at the last word; neither is a word with a word before it.",
        ),
        Mistake(
            "first word counted",
            _first_word_too,
            "You counted the first word, and what stands before it is [CLS]. Start at i = 2.",
        ),
        Mistake(
            "[SEP] counted",
            _sep_too,
            "You counted [SEP] as a query. The last word is i = n - 2.",
        ),
        Mistake(
            "own token",
            lambda p: _mean_of(p, _words(p), _words(p)),
            "You read p[i, i]: how much a word looks at itself. The word before it is i - 1.",
        ),
        Mistake(
            "sum instead of mean",
            lambda p: p[..., _words(p), _words(p) - 1].sum(axis=-1),
            "You added the weights up. Divide by the number of words, or long texts score more.",
        ),
        Mistake(
            "all heads averaged",
            lambda p: p[..., _words(p), _words(p) - 1].mean(),
            "You averaged over the heads too. Average the last axis only: one score per map.",
        ),
        Mistake(
            "largest key counted",
            _how_often_largest,
            "You counted how often the previous token gets the largest weight. The score is the "
            "weight itself, averaged.",
        ),
        Mistake(
            "divided by n",
            lambda p: p[..., _words(p), _words(p) - 1].sum(axis=-1) / p.shape[-1],
            "You divided by all n tokens. Only n - 3 words have a word before them.",
        ),
    ],
    hints=[
        "Which entries of p belong to a word and the word before it? Mark them on paper for n = 5.",
        "i = np.arange(2, n - 1) are the words that have a word before them.",
        "p[..., i, i - 1].mean(axis=-1)",
    ],
)


def check_previous_token_score(f: Any) -> Result:
    """Check f(p [..., n, n]) -> [...], the mean weight of a word on the word before it.

    Token 0 is [CLS] and token n - 1 is [SEP]; neither counts as a word.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return PREVIOUS_TOKEN_SCORE.run(f)
