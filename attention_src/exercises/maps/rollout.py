"""The check of attention rollout."""

from typing import Any

import numpy as np

from attention_src.attention.maps import attention_rollout
from attention_src.exercises.engine.cases import any_weights
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _rollout(weights: np.ndarray) -> np.ndarray:
    return np.asarray(attention_rollout(weights))


def _product(layers: list[np.ndarray]) -> np.ndarray:
    """layers[-1] @ ... @ layers[0]: the first layer acts first, so it stands rightmost."""
    result = np.eye(layers[0].shape[-1])
    for layer in layers:
        result = layer @ result
    return result


def _mixed(weights: np.ndarray) -> list[np.ndarray]:
    """(mean over heads + identity) / 2, layer by layer."""
    return list((weights.mean(axis=1) + np.eye(weights.shape[-1])) / 2)


def _by_entry(weights: np.ndarray) -> np.ndarray:
    return np.prod(_mixed(weights), axis=0)


def _strongest_head(weights: np.ndarray) -> np.ndarray:
    largest = (weights.max(axis=1) + np.eye(weights.shape[-1])) / 2
    return _product(list(largest / largest.sum(axis=-1, keepdims=True)))


def _strongest_head_unscaled(weights: np.ndarray) -> np.ndarray:
    return _product(list((weights.max(axis=1) + np.eye(weights.shape[-1])) / 2))


def _summed_heads(weights: np.ndarray) -> np.ndarray:
    return _product(list((weights.sum(axis=1) + np.eye(weights.shape[-1])) / 2))


_RNG = np.random.default_rng(5)
_ONE = np.array([[[[1.0, 0.0], [0.4, 0.6]]]])
_TWO = np.array([[[[1.0, 0.0], [0.4, 0.6]]], [[[0.2, 0.8], [0.0, 1.0]]]])


def _draw(rng: np.random.Generator) -> tuple:
    """1 to 7 layers of 1 to 5 heads on 1 to 7 tokens; seldom 12 to 16 heads on 70 to 80 tokens."""
    n_layers, n_heads, n = (int(rng.integers(1, most + 1)) for most in (7, 5, 7))
    if rng.random() < 0.1:
        n_layers, n_heads, n = 1 + n_layers % 3, int(rng.integers(12, 17)), 70 + int(n)
    return (any_weights(rng, (n_layers, n_heads, n, n)),)


ROLLOUT = Check(
    "rollout",
    reference=_rollout,
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
    draw=_draw,
    mistakes=[
        Mistake(
            "layers in the wrong order",
            lambda w: _product(_mixed(w)[::-1]),
            "You multiplied the layers in the other order. Layer 1 reads the input, so it stands "
            "rightmost: R = A_L ... A_2 A_1.",
        ),
        Mistake(
            "no residual",
            lambda w: _product(list(w.mean(axis=1))),
            "You left out the residual path, by which each token keeps itself: average with the "
            "identity.",
        ),
        Mistake(
            "residual not halved",
            lambda w: _product(list(w.mean(axis=1) + np.eye(w.shape[-1]))),
            "You added the identity but did not halve, so each layer doubles the row sums.",
        ),
        Mistake(
            "entry by entry",
            _by_entry,
            "You multiplied entry by entry (*). Paths through a layer add up: use @.",
        ),
        Mistake(
            "heads summed",
            _summed_heads,
            "You summed the heads. Average them, or the rows no longer sum to 1.",
        ),
        Mistake(
            "strongest head",
            _strongest_head_unscaled,
            "You took the largest head for each entry. This exercise averages the heads.",
        ),
        Mistake(
            "strongest head, rescaled",
            _strongest_head,
            "You took the largest head for each entry and rescaled. This exercise averages the "
            "heads.",
        ),
        Mistake(
            "transposed",
            lambda w: _rollout(w).T,
            "Your answer is transposed: rows are output tokens, columns input tokens, so each row "
            "sums to 1.",
        ),
        Mistake(
            "last layer only",
            lambda w: _mixed(w)[-1],
            "This is the last layer alone. Multiply through all of them.",
        ),
        Mistake(
            "layers averaged",
            lambda w: np.mean(_mixed(w), axis=0),
            "You averaged the layers. Each reads what the one below wrote: multiply them.",
        ),
        Mistake(
            "residual once, at the end",
            lambda w: (_product(list(w.mean(axis=1))) + np.eye(w.shape[-1])) / 2,
            "You added the residual once, at the end. Every layer has its own.",
        ),
    ],
    hints=[
        "Start with the identity, and let one layer after another act on it.",
        "For each layer: average its heads, average that with the identity, multiply from the "
        "left.",
        "r = (layer.mean(axis=0) + np.eye(n)) / 2 @ r",
    ],
)


def check_rollout(f: Any) -> Result:
    """Check f(weights [L, H, n, n]) -> [n, n], attention rollout; layer 0 is the first.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ROLLOUT.run(f)
