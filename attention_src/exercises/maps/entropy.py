"""The check of the entropy of a map."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.cases import any_shape, any_weights
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.softmax.reference import entropy_bits


def _weights(*shape: int) -> np.ndarray:
    """Random weights: no row is uniform, no two rows are alike."""
    rng = np.random.default_rng(3)
    return rng.dirichlet(np.full(shape[-1], 0.5), size=shape[:-1])


def _attention_entropy(p: np.ndarray) -> np.ndarray:
    """Entropy of each row in bits, averaged over the queries: one number per map."""
    return np.asarray(np.asarray(entropy_bits(p)).mean(axis=-1))


def _plain_logarithm(p: np.ndarray) -> np.ndarray:
    return np.asarray(-(p * np.log2(p)).sum(axis=-1).mean(axis=-1))


def _entropy_of_columns(p: np.ndarray) -> np.ndarray:
    share = p / np.where(p.sum(axis=-2, keepdims=True) == 0, 1, p.sum(axis=-2, keepdims=True))
    return _attention_entropy(share.swapaxes(-1, -2))


def _entropy_over_queries(p: np.ndarray) -> np.ndarray:
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1))).sum(axis=-2).mean(axis=-1))


def _entropy_of_mean(p: np.ndarray) -> np.ndarray:
    return np.asarray(entropy_bits(p.mean(axis=-2)))


def _draw(rng: np.random.Generator) -> tuple:
    """Maps with 1 to 9 queries and keys, seldom 80 of one, with up to three leading axes."""
    n_q, n_k = (int(i) for i in rng.integers(1, 10, 2))
    if rng.random() < 0.2:
        n_q, n_k = (80, n_k) if rng.random() < 0.5 else (n_q, 80)
    return (any_weights(rng, (*any_shape(rng, fewest=1, most=4, longest=3)[1:], n_q, n_k)),)


ATTENTION_ENTROPY = Check(
    "attention_entropy",
    reference=_attention_entropy,
    cases=[
        Case("uniform over 4 keys: 2 bits", (np.full((4, 4), 0.25),)),
        Case("one query flat, one sharp", (np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]),)),
        Case("3 queries, 5 keys", (_weights(3, 5),)),
        Case("2 heads, 7 queries, 7 keys", (_weights(2, 7, 7),)),
        Case("2 layers of 3 heads", (_weights(2, 3, 5, 5),)),
        Case("one query, one key: nothing to choose", (np.ones((1, 1, 1)),)),
        Case("weights of one in a million", (np.array([[1 - 2e-6, 1e-6, 1e-6, 0.0]]),)),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "nats",
            lambda p: _attention_entropy(p) * np.log(2),
            "You used the natural logarithm, so these are nats. Bits need np.log2.",
        ),
        Mistake(
            "logarithm of 0",
            _plain_logarithm,
            "A weight of 0 gives 0 * log2(0) = 0 * -inf, which is not a number. It should add "
            "nothing: take the logarithm only where p > 0.",
        ),
        Mistake(
            "sign",
            lambda p: -_attention_entropy(p),
            "The sign is wrong. The logarithm of a weight is negative, so entropy needs a minus.",
        ),
        Mistake(
            "columns",
            _entropy_of_columns,
            "You took the entropy of columns. A query's weights are a row: sum over the last axis.",
        ),
        Mistake(
            "summed over queries",
            _entropy_over_queries,
            "All terms are there, but you divide their sum by the number of keys. Sum over the "
            "keys (axis -1), then average over the queries.",
        ),
        Mistake(
            "entropy of the average",
            _entropy_of_mean,
            "You averaged the rows first. Two sharp queries that look at different keys would then "
            "seem to be flat. Take each row's entropy, then average.",
        ),
        Mistake(
            "not averaged",
            lambda p: np.asarray(entropy_bits(p)),
            "This is one entropy per query. Average them: one number per map.",
        ),
        Mistake(
            "summed, not averaged",
            lambda p: np.asarray(entropy_bits(p)).sum(axis=-1),
            "You added the entropies of the queries. Average them instead.",
        ),
        Mistake(
            "all heads averaged",
            lambda p: np.asarray(entropy_bits(p)).mean(),
            "You averaged over the heads too. Keep the leading axes: one number per map.",
        ),
        Mistake(
            "divided by log2(n_k)",
            lambda p: _attention_entropy(p) / np.log2(p.shape[-1]),
            "You divided by the largest possible entropy. This exercise asks for bits.",
        ),
    ],
    hints=[
        "First one entropy per row, then their average. Over which axis is each?",
        "np.where(p > 0, p, 1) is safe inside the logarithm, because log2(1) = 0.",
        "-(p * np.log2(np.where(p > 0, p, 1))).sum(axis=-1).mean(axis=-1)",
    ],
)


def check_attention_entropy(f: Any) -> Result:
    """Check f(p [..., n_q, n_k]) -> [...], the rows' entropy in bits, averaged over the queries.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ATTENTION_ENTROPY.run(f)
