"""The check of multi-head attention."""

from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Case, Check, Result
from attention_src.exercises.multihead.attention_wrong import MISTAKES
from attention_src.multihead.reference import merge_heads, split_heads

Array = np.ndarray


def _multihead_attention(
    x: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    n_heads: int,
    mask: Any = None,
) -> Array:
    """Project, split, attend, merge, project."""
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return np.asarray(merge_heads(attention(q, k, v, mask=mask)) @ w_o)


def _weights(
    rng: np.random.Generator, d_model: int, H: int, d_k: int, d_v: int, spread: float = 1.0
) -> tuple[Array, ...]:
    """The four matrices; w_q and w_k of `spread`."""
    shapes = ((d_model, H * d_k), (d_model, H * d_k), (d_model, H * d_v), (H * d_v, d_model))
    spreads = (spread, spread, 1.0, 1.0)
    pairs = zip(shapes, spreads, strict=True)
    return tuple(rng.normal(0, size, shape) for shape, size in pairs)


def _case(
    name: str, seed: int, lead: tuple[int, ...], sizes: tuple[int, ...], mask: Any = None
) -> Case:
    """A named case. sizes: n, d_model, H, d_k, d_v."""
    n, d_model, H, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(*lead, n, d_model)), _weights(rng, d_model, H, d_k, d_v)
    return Case(name, (x, *w, H, mask))


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    n, d_model, H, d_k, d_v = (int(size) for size in rng.integers(1, 5, 5))
    if n in lead[:1]:  # then `attention` refuses a mask [n, n]: it may mean [B, n]
        n += 3
    spread = float(rng.choice([0.3, 1.0, 30.0]))
    w = _weights(rng, d_model, H, d_k, d_v, spread)
    full = (*lead, H, n, n)
    axes = int(rng.integers(1, len(full) + 1))
    shape = [size if rng.random() < 0.7 else 1 for size in full[-axes:]]
    mask = rng.random(shape) < 0.7 if rng.random() < 0.7 else None
    return rng.normal(size=(*lead, n, d_model)), *w, H, mask


def _loud(name: str, seed: int, size: float) -> Case:
    """Scores around `size`; the largest of each row is hidden, and in head 0 one row is blind."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(4, 4)), _weights(rng, 4, 2, 2, 3, size**0.5)
    q, k = (split_heads(x @ w[i], 2) for i in (0, 1))
    s = q @ k.swapaxes(-1, -2)  # [H, n, n]
    mask = s < s.max(axis=-1, keepdims=True)
    mask[0, 2] = False
    return Case(name, (x, *w, 2, mask))


def _close() -> Case:
    """Every score is 10,000 and a little: float32 cannot tell them apart."""
    rng = np.random.default_rng(13)
    x, (w_q, w_k, w_v, w_o) = rng.normal(size=(4, 4)), _weights(rng, 4, 2, 2, 3)
    x[:, 0] = 1
    for w in (w_q, w_k):
        w[:, ::2] = np.array([[100], [0], [0], [0]])
    return Case("scores near 10,000, close together", (x, w_q, w_k, w_v, w_o, 2, None))


_FIVE = np.tri(5, dtype=bool)
_PADDED = (np.arange(3) < np.array([[3], [2]]))[:, None, None]  # [2, 1, 1, 3]
_BLIND = np.array([[True, True, False], [False, False, False], [True, False, True]])

MULTIHEAD_ATTENTION = Check(
    "multihead_attention",
    reference=_multihead_attention,
    cases=[
        _case("three tokens, two heads", 0, (), (3, 4, 2, 2, 2)),
        _case("d_k = 3 and d_v = 1", 1, (), (4, 5, 2, 3, 1)),
        _case("one head", 2, (), (3, 4, 1, 4, 4)),
        _case("a causal mask [n, n]", 3, (), (5, 4, 2, 2, 2), _FIVE),
        _case("a query that may see nothing", 4, (), (3, 4, 2, 2, 2), _BLIND),
        _loud("scores around 1,000, the largest hidden", 10, 1e3),
        _close(),
        _loud("scores around 100,000, the largest hidden", 11, 1e5),
        _loud("scores around 10^12, the largest hidden", 12, 1e12),
        _case("a batch of two, padded: mask [2, 1, 1, n]", 5, (2,), (3, 4, 2, 2, 2), _PADDED),
        _case(
            "each head its own mask [H, n, n]",
            6,
            (),
            (3, 4, 2, 2, 2),
            np.stack([np.tri(3, dtype=bool), np.eye(3, dtype=bool)]),
        ),
        _case("as many tokens as heads", 7, (3,), (2, 6, 2, 3, 3)),
        _case("heads wider together than d_model", 8, (), (3, 2, 3, 4, 2)),
        _case("one token", 9, (1, 2), (1, 3, 2, 2, 2)),
    ],
    draw=_draw,
    mistakes=MISTAKES,
    hints=[
        "Four steps: project, split, attend, merge; and one more product. Which shapes?",
        "q = split_heads(x @ w_q, n_heads) is [..., H, n, d_k]; k and v likewise.",
        "merge_heads(attention(q, k, v, mask=mask)) @ w_o",
    ],
)


def check_multihead_attention(f: Any) -> Result:
    """Check f(x, w_q, w_k, w_v, w_o, n_heads, mask=None) -> [..., n, d_model].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return MULTIHEAD_ATTENTION.run(f)
