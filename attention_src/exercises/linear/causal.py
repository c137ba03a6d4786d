"""The check of causal linear attention with the features elu + 1."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.linear.reference import linear_attention
from attention_src.linear.reference_parts import features

Array = np.ndarray
LIMIT = 2 << 20  # bytes: the largest case's table of pairs would take 8 MiB


def _reference(q: Array, k: Array, v: Array) -> Array:
    return np.asarray(linear_attention(q, k, v))


def weighted(**changes: Any) -> Any:
    """Linear attention by its table of weights, with one thing changed.

    Args:
        changes: `phi`, the features; `below`, the diagonal from which on keys are hidden;
            `divide`, a function of the output and the sum of the weights
    Returns: f(q, k, v)
    """
    phi = changes.get("phi", lambda x: features(x, "elu"))
    below = changes.get("below", 0)
    divide = changes.get("divide", lambda o, l: o / np.where(l == 0, 1, l))

    def f(q: Array, k: Array, v: Array) -> Array:
        w = phi(q) @ phi(k).T
        w = np.tril(w, below) if below is not None else w
        return np.asarray(divide(w @ v, w.sum(axis=1, keepdims=True)))

    return f


def _elu(x: Array) -> Array:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def _softmax(q: Array, k: Array, v: Array) -> Array:
    s = np.where(np.tri(len(q), dtype=bool), q @ k.T, -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True) @ v)


def _case(name: str, seed: int, n: int, d_k: int, d_v: int, spread: float = 1.0, **more: Any):
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(n, d)) for d in (d_k, d_k, d_v))
    return Case(name, (spread * q, spread * k, v), **more)


def _all_small(name: str) -> Case:
    """All weights are near e^-190, which a small number below them would drown."""
    rng = np.random.default_rng(6)
    q, k = -rng.uniform(90, 100, (2, 5, 2))
    return Case(name, (q, k, rng.normal(size=(5, 3))))


def _draw(rng: np.random.Generator) -> tuple:
    n, d_k, d_v = (int(size) for size in rng.integers(1, (9, 6, 6)))
    spread = float(rng.choice([0.1, 1.0, 30.0]))
    q, k, v = (rng.normal(size=(n, d)) for d in (d_k, d_k, d_v))
    return spread * q, spread * k, v + rng.choice([0.0, 5.0])


LINEAR_ATTENTION = Check(
    "my_linear_attention",
    reference=_reference,
    cases=[
        _case("three tokens", 0, 3, 2, 2),
        _case("d_v above d_k", 1, 5, 2, 4),
        _case("one token", 2, 1, 3, 2),
        _case("width 1", 3, 6, 1, 1),
        _case("entries up to 100", 4, 7, 3, 2, 40.0),
        _all_small("all entries near -100"),
        _case("1,024 tokens: no room for a table", 5, 1024, 8, 4, max_bytes=LIMIT),
    ],
    draw=_draw,
    drawn=30,
    mistakes=[
        Mistake("not causal", weighted(below=None), "Each of your queries sees all keys."),
        Mistake(
            "not its own key",
            weighted(below=-1),
            "Query i sees its own key too: add k_i v_i to the state before you read it.",
        ),
        Mistake(
            "not divided",
            weighted(divide=lambda o, l: o),
            "You did not divide by the weights' sum.",
        ),
        Mistake(
            "multiplied",
            weighted(divide=lambda o, l: o * l),
            "You multiplied by the sum of the weights. Divide by it.",
        ),
        Mistake(
            "divided by i + 1",
            weighted(divide=lambda o, l: o / np.arange(1, len(o) + 1)[:, None]),
            "You divided by the number of keys. Divide by the sum of the weights.",
        ),
        Mistake("no features", weighted(phi=lambda x: x), "You left out the feature map elu + 1."),
        Mistake(
            "elu without 1", weighted(phi=_elu), "The features are elu(x) + 1; the 1 is missing."
        ),
        Mistake(
            "relu", weighted(phi=lambda x: np.maximum(x, 0)), "Below 0 the feature is e^x, not 0."
        ),
        Mistake("exp", weighted(phi=np.exp), "Above 0 the feature is x + 1, not e^x."),
        Mistake("softmax", _softmax, "That is softmax attention. Here weights are φ(q)·φ(k)."),
        Mistake(
            "table",
            weighted(),
            "You made a table of all pairs, and the memory does not suffice. Walk along the "
            "tokens, and keep a state.",
        ),
    ],
    hints=[
        "Which two sums must a query know of the keys so far?",
        "state [d_k, d_v] += outer(φ(k_t), v_t), and z [d_k] += φ(k_t).",
        "o_t = φ(q_t) @ state / (φ(q_t) @ z), after both have been updated.",
    ],
)


def check_linear_attention(f: Any) -> Result:
    """Check f(q [n, d_k], k [n, d_k], v [n, d_v]), causal, with elu + 1, divided.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return LINEAR_ATTENTION.run(f)
