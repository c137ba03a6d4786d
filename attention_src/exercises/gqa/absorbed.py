"""The check of attention to a latent vector: keys and values of single heads are never formed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray
LIMIT = 8 << 20  # bytes: the keys of all heads take 16 MiB, those of one wide head too


def _absorbed(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
    c = c[..., None, :, :]  # [..., 1, n_k, d_latent]
    o = attention(q @ w_uk.swapaxes(-1, -2), c, c, scale=q.shape[-1] ** -0.5)
    return np.asarray(o @ w_uv)


def _with_scale(scale: Callable[[Array, Array], float]) -> Callable:
    """As `_absorbed`, with another scale of q and c."""

    def f(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
        c4 = c[..., None, :, :]
        o = attention(q @ w_uk.swapaxes(-1, -2), c4, c4, scale=scale(q, c))
        return np.asarray(o @ w_uv)

    return f


def _expanded(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
    c = c[..., None, :, :]
    return attention(q, c @ w_uk, c @ w_uv)


def _not_transposed(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
    c = c[..., None, :, :]
    return np.asarray(attention(q @ w_uk, c, c, scale=q.shape[-1] ** -0.5) @ w_uv)


def _keys_as_values(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
    return _absorbed(q, c, w_uk, w_uk)


def _no_up_projection(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
    c = c[..., None, :, :]
    return attention(q @ w_uk.swapaxes(-1, -2), c, c, scale=q.shape[-1] ** -0.5)


def _first_head(q: Array, c: Array, w_uk: Array, w_uv: Array) -> Array:
    return _absorbed(q, c, w_uk[:1], w_uv[:1])


def _case(name: str, seed: int, lead: tuple[int, ...], sizes: tuple[int, ...], **more: Any) -> Case:
    """A named case. sizes: H, n_q, n_k, d_k, d_v, d_latent."""
    return Case(name, _inputs(np.random.default_rng(seed), lead, sizes), **more)


def _inputs(
    rng: np.random.Generator, lead: tuple[int, ...], sizes: tuple[int, ...], spread: float = 1.0
) -> tuple[Array, ...]:
    H, n_q, n_k, d_k, d_v, d_latent = sizes
    shapes = ((*lead, H, n_q, d_k), (*lead, n_k, d_latent), (H, d_latent, d_k), (H, d_latent, d_v))
    q, *rest = (rng.normal(size=shape) for shape in shapes)
    return spread * q, *rest


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    sizes = tuple(int(size) for size in rng.integers(1, 6, 6))
    return _inputs(rng, lead, sizes, float(rng.choice([0.3, 1.0, 30.0, 1000.0])))


# Keys that nearly tie at a score of 9,000, where float32 is 0.001 coarse.
_LOUD = Case(
    "near ties at scores of 9,000 and -9,000",
    (
        np.full((2, 1, 1), 3000.0),
        np.array([[3.0, 0.0], [3.0001, 5.0], [2.9999, -4.0]]),
        np.array([[[1.0], [0.0]], [[-1.0], [0.0]]]),
        np.array([[[0.0], [1.0]], [[0.0], [1.0]]]),
    ),
)

ABSORBED_ATTENTION = Check(
    "absorbed_attention",
    reference=_absorbed,
    cases=[
        _case("two heads, a latent of three", 0, (), (2, 1, 3, 2, 2, 3)),
        _case("three heads, two queries", 1, (), (3, 2, 4, 2, 5, 3)),
        _case("a latent narrower than a key", 2, (), (2, 2, 3, 5, 4, 2)),
        _case("as wide as a key", 3, (), (3, 2, 4, 3, 3, 3)),
        _case("one head", 4, (), (1, 2, 3, 2, 3, 4)),
        _case("two texts", 5, (2,), (3, 2, 4, 2, 5, 3)),
        _case("as many texts as heads", 6, (3,), (3, 2, 4, 2, 5, 3)),
        _case("one key", 7, (), (2, 3, 1, 2, 3, 4)),
        _LOUD,
        _case("16 heads, 4,096 keys: no room for them", 8, (), (16, 1, 4096, 32, 32, 16),
              max_bytes=LIMIT),
        _case("wide keys, a narrow latent: no room for one head's", 9, (), (2, 1, 4096, 512, 2, 4),
              max_bytes=LIMIT),
        _case("wide values: no room for one head's", 10, (), (2, 1, 4096, 2, 512, 4),
              max_bytes=LIMIT),
    ],
    draw=_draw,
    drawn=40,
    mistakes=[
        Mistake(
            "expanded",
            _expanded,
            "You formed keys or values of heads. Let each head's query meet c itself.",
        ),
        Mistake(
            "scaled by the latent's width",
            _with_scale(lambda q, c: c.shape[-1] ** -0.5),
            "You divided by the root of d_latent, the width that the product happens to have. The "
            "scores are those of keys of width d_k.",
        ),
        Mistake(
            "not scaled",
            _with_scale(lambda q, c: 1.0),
            "The scores are not divided by the root of d_k.",
        ),
        Mistake(
            "not transposed",
            _not_transposed,
            "q W_UK turns the query the other way round: q (c W_UK)^T = q W_UK^T c^T.",
        ),
        Mistake(
            "keys as values", _keys_as_values, "The output goes through W_UV, yours through W_UK."
        ),
        Mistake(
            "no up-projection",
            _no_up_projection,
            "Your output is a mean of latent vectors. It still has to go through W_UV.",
        ),
        Mistake("first head's matrices", _first_head, "Each head has its own W_UK and W_UV."),
    ],
    hints=[
        "q k^T = q (c W_UK)^T. Move the bracket, so that c stands alone.",
        "q @ w_uk.swapaxes(-1, -2) is [..., H, n_q, d_latent]; c needs an axis for the heads.",
        "The sum of weights times values: p (c W_UV) = (p c) W_UV. The scale is that of d_k.",
    ],
)  # fmt: skip


def check_absorbed_attention(f: Any) -> Result:
    """Check f(q [..., H, n_q, d_k], c [..., n_k, d_latent], w_uk, w_uv) -> [..., H, n_q, d_v].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return ABSORBED_ATTENTION.run(f)
