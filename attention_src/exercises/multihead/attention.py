"""The check of multi-head attention."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.multihead.reference import merge_heads, split_heads

Array = np.ndarray


def _with(
    split: Callable = split_heads,
    merge: Callable = merge_heads,
    scale_width: Callable | None = None,
    use_mask: Callable = lambda mask: mask,
    output: Callable = lambda o, w_o: o @ w_o,
) -> Callable:
    """Multi-head attention with one of its steps exchanged."""

    def multihead_attention(
        x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, mask: Any = None
    ) -> Array:
        q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
        scale = None if scale_width is None else scale_width(w_q, n_heads) ** -0.5
        o = attention(q, k, v, mask=use_mask(mask), scale=scale)
        return np.asarray(output(merge(o), w_o))

    return multihead_attention


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
    return np.asarray(_with()(x, w_q, w_k, w_v, w_o, n_heads, mask))


def _reshaped_split(x: Array, n_heads: int) -> Array:
    return x.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1)


def _reshaped_merge(x: Array) -> Array:
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def _interleaved_split(x: Array, n_heads: int) -> Array:
    return np.moveaxis(x.reshape(*x.shape[:-1], -1, n_heads), -1, -3)


def _one_head(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, mask: Any = None
) -> Array:
    return _multihead_attention(x, w_q, w_k, w_v, w_o, 1, mask)


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
    spread = float(rng.choice([0.3, 1.0, 30.0]))
    w = _weights(rng, d_model, H, d_k, d_v, spread)
    full = (*lead, H, n, n)
    axes = int(rng.integers(1, len(full) + 1))
    shape = [size if rng.random() < 0.7 else 1 for size in full[-axes:]]
    mask = rng.random(shape) < 0.7 if rng.random() < 0.7 else None
    return rng.normal(size=(*lead, n, d_model)), *w, H, mask


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
    mistakes=[
        Mistake(
            "one head",
            _one_head,
            "You attended once, with the full width. Split q, k and v first: each head has its "
            "own softmax.",
        ),
        Mistake(
            "scaled by the full width",
            _with(scale_width=lambda w_q, n_heads: w_q.shape[1]),
            "You divided by the root of H * d_k. The scale of a head is that of its own width.",
        ),
        Mistake(
            "scaled by d_model",
            _with(scale_width=lambda w_q, n_heads: w_q.shape[0]),
            "You divided the scores by the root of d_model. A head's queries are d_k wide.",
        ),
        Mistake(
            "no scale",
            _with(scale_width=lambda w_q, n_heads: 1),
            "The scores are not divided by the root of d_k.",
        ),
        Mistake(
            "split by reshape",
            _with(split=_reshaped_split),
            "Your split cuts the tokens into heads, not the columns: it lacks the swap of axes.",
        ),
        Mistake(
            "merged by reshape",
            _with(merge=_reshaped_merge),
            "Your merge mixes several tokens in one row: swap heads and tokens before you reshape.",
        ),
        Mistake(
            "split and merged by reshape",
            _with(split=_reshaped_split, merge=_reshaped_merge),
            "Both your split and your merge lack the swap of axes: heads attend among pieces of "
            "neighbouring tokens.",
        ),
        Mistake(
            "interleaved",
            _with(split=_interleaved_split),
            "Each head took every H-th column. A head's columns are adjacent.",
        ),
        Mistake(
            "mask not used",
            _with(use_mask=lambda mask: None),
            "This is attention without a mask.",
        ),
        Mistake(
            "reversed polarity",
            _with(use_mask=lambda mask: None if mask is None else ~mask),
            "You hid the keys that the mask allows. Here True means: may attend.",
        ),
        Mistake(
            "w_o left out",
            _with(output=lambda o, w_o: o),
            "The merged heads still have to go through w_o.",
        ),
    ],
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
