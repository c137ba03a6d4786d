"""Rotary positions in NumPy: pairs of components rotated by an angle proportional to the position.

Computed in float64 and returned in x's floating dtype. Positions count from 0; they may be
fractional, negative or large.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_src.errstate import own_errstate
from attention_src.rope.checks import check_placement, check_precision, check_width
from attention_src.rope.scaling import Scaling, amplitude, frequencies
from attention_src.shapes import as_float64, check_flags


@own_errstate()
def rotate(
    x: Any,
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    scaling: Scaling | None = None,
) -> Float[np.ndarray, "*batch n d"]:
    """Rotate each pair of components of x by its position times the pair's frequency.

        angle = positions theta,  theta = frequencies(d)
        y1 = x1 cos(angle) - x2 sin(angle)
        y2 = x1 sin(angle) + x2 cos(angle)

    As a matrix, y = R_m x at position m. Then (R_m q)·(R_n k) = q^T R_{n-m} k: a score depends only
    on the difference of the positions.

    Args:
        x: [..., n, d]  queries or keys; d even
        positions: [n], or [..., n] that broadcasts to x's axes without d, as [B, 1, n] does for x
            [B, H, n, d]; real numbers
        base: as for `frequencies`
        interleaved: False pairs component i with i + d/2; True pairs 2 i with 2 i + 1
        scaling: None, or one of `rope.scaling`: PositionInterpolation, NTK, YaRN, Llama3 or
            Frequencies. YaRN multiplies cos and sin by its attention factor, so it changes
            lengths, as Frequencies may; the others keep them.
    Returns: [..., n, d]  in x's dtype
    Raises:
        ValueError: d is odd; positions that do not fit, may be meant in two ways, are not finite,
            or are float16; interleaved is neither True nor False
    Cost: n d/2 cosines and sines; 3 d FLOP per vector.
    Source: Su et al. 2021, arXiv:2104.09864, section 3.2.2 (interleaved; their R_{Theta,m} is our
        R_m); half-split pairs as in GPT-NeoX and Llama's checkpoints for transformers.
    """
    check_flags(interleaved=interleaved)
    x, dtype = as_float64(x, "x")
    cos, sin = _cos_sin(x, positions, base, scaling)
    return _rotate(x, cos, sin, interleaved).astype(dtype)


@own_errstate()
def rotate_backward(
    dy: Any,
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    scaling: Scaling | None = None,
) -> Float[np.ndarray, "*batch n d"]:
    """The gradient by x from the gradient by y = rotate(x): the rotation by the negative angle.

        dx = a R_{-m} dy  where  y = a R_m x;  a = amplitude(scaling)

    Args:
        dy: [..., n, d]  gradient of the loss by y
        positions, base, interleaved, scaling: as for `rotate`
    Returns: [..., n, d]  dx, in dy's dtype
    Raises:
        ValueError: as `rotate`
    Cost: as `rotate`.
    Source: R_m is orthogonal, so its transpose is R_{-m}: Su et al. 2021, arXiv:2104.09864,
        section 3.2.2.
    """
    check_flags(interleaved=interleaved)
    dy, dtype = as_float64(dy, "dy")
    cos, sin = _cos_sin(dy, positions, base, scaling, name="dy")
    return _rotate(dy, cos, -sin, interleaved).astype(dtype)


def half_split_order(d: int) -> Int[np.ndarray, "d"]:
    """The permutation of components that turns interleaved pairs into half-split pairs.

        order = 0, 2, 4, ..., d - 2, 1, 3, 5, ..., d - 1
        rotate(x, interleaved=True)[..., order] == rotate(x[..., order])

    To convert a model, reorder the rows of W_Q and W_K within each head. `np.argsort(order)` is the
    inverse. Scores do not change: the order of its terms does not matter to a dot product.

    Args:
        d: width of a query or key, even
    Returns: int [d]  a permutation of 0 ... d - 1
    Raises:
        ValueError: d is odd or below 2
    """
    return np.arange(check_width(d)).reshape(-1, 2).T.reshape(-1)


@own_errstate()
def sinusoids(positions: Any, d: int, *, base: float = 10000.0) -> Float[np.ndarray, "*batch n d"]:
    """The positions of the first Transformer: the same angles, but added to the input.

        angle = positions theta,  theta = frequencies(d)
        e = sin(angle_0), cos(angle_0), sin(angle_1), cos(angle_1), ...

    Args:
        positions: [..., n]  real numbers
        d: width of a token's vector, even
        base: as for `frequencies`
    Returns: [..., n, d]  float64
    Raises:
        ValueError: d is odd; positions that are not finite real numbers, or are float16
    Cost: n d/2 cosines and sines.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    angle = _positions(positions)[..., None] * frequencies(d, base=base)  # [..., n, d/2]
    return _join(np.sin(angle), np.cos(angle), interleaved=True)


def _positions(positions: Any) -> np.ndarray:
    """positions in float64, checked."""
    positions, dtype = as_float64(positions, "positions")
    check_precision(dtype)
    if positions.ndim == 0:
        raise ValueError(f"positions is {positions}; it should be a row of numbers, [n]")
    if not np.isfinite(positions).all():
        raise ValueError("positions holds a NaN or an infinity; it should hold finite numbers")
    return positions


def _cos_sin(
    x: np.ndarray, positions: Any, base: float, scaling: Scaling | None, name: str = "x"
) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of every angle, times the scaling's amplitude: [..., n, d/2]."""
    positions = _positions(positions)
    check_placement(positions, x, name)
    theta = frequencies(x.shape[-1], base=base, scaling=scaling)
    angle = positions[..., None] * theta
    return amplitude(scaling) * np.cos(angle), amplitude(scaling) * np.sin(angle)


def _rotate(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, interleaved: bool) -> np.ndarray:
    """Every pair of x rotated by its angle."""
    x1, x2 = _pairs(x, interleaved)
    return _join(x1 * cos - x2 * sin, x1 * sin + x2 * cos, interleaved)


def _pairs(x: np.ndarray, interleaved: bool) -> tuple[np.ndarray, np.ndarray]:
    """First and second components of all pairs: each [..., n, d/2]."""
    if interleaved:
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _join(x1: np.ndarray, x2: np.ndarray, interleaved: bool) -> np.ndarray:
    """The inverse of `_pairs`: [..., n, d]."""
    if interleaved:
        return np.stack([x1, x2], axis=-1).reshape(*x1.shape[:-1], 2 * x1.shape[-1])
    return np.concatenate([x1, x2], axis=-1)
