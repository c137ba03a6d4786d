"""Rotary positions on torch tensors, with gradients; queries and keys together, also as one kernel.

Angles are made in float64 for every dtype: position 131072 times a frequency is off by thousandths
of a radian in float32, and infinite in float16.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.rope import scaling as numpy_frequencies
from attention_src.rope.scaling import amplitude, check_precision, check_rotation
from attention_src.shapes import check_impl, shape
from attention_src.tensors import check_tensors, compute_dtype, kernel_takes
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

IMPLS = ("auto", "torch", "triton")


def rotate_qk(
    q: Float[Tensor, "B H n d"],
    k: Float[Tensor, "B H_kv n d"],
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    scaling: Any = None,
    impl: str = "auto",
) -> tuple[Float[Tensor, "B H n d"], Float[Tensor, "B H_kv n d"]]:
    """Turn queries and keys by their common positions.

        q, k = R_m q, R_m k  at position m, as `rotate`

    A model with many layers makes cos and sin once, by `cos_sin`, and calls `apply_rotation`.

    Args:
        q: [B, H, n, d]  queries; d even
        k: [B, H_kv, n, d]  keys
        positions: [n], or [B, n] if sequences differ; real numbers, tensor or not
        base, interleaved, scaling: as for `rotate`
        impl: as for `apply_rotation`
    Returns: both turned, in their own dtype. No gradient flows to positions.
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; an impl that cannot do it
    Cost: n d/2 cosines and sines; 3 (H + H_kv) d FLOP a token.
    Source: Su et al. 2021, arXiv:2104.09864, section 3.2.2.
    """
    check_impl(impl, IMPLS)
    check_tensors(q=q, k=k)
    for name, x in (("q", q), ("k", k)):
        if x.ndim != 4:
            raise ValueError(f"{name} has shape {shape(x)}; it should be [B, H, n, d]")
    B, _, n, d = q.shape
    positions = _positions(positions, q.device)
    if tuple(positions.shape) not in ((n,), (B, n)):
        raise ValueError(
            f"positions has shape {shape(positions)}; it should be [n] = [{n}] or [B, n] = "
            f"[{B}, {n}]"
        )
    dtype = compute_dtype(q)
    cos, sin = cos_sin(positions, d, base=base, scaling=scaling, dtype=dtype)
    return apply_rotation(q, k, cos, sin, interleaved=interleaved, impl=impl)


def apply_rotation(
    q: Float[Tensor, "B H n d"],
    k: Float[Tensor, "B H_kv n d"],
    cos: Float[Tensor, "*B_or_none n n_pairs"],
    sin: Float[Tensor, "*B_or_none n n_pairs"],
    *,
    interleaved: bool = False,
    impl: str = "auto",
) -> tuple[Float[Tensor, "B H n d"], Float[Tensor, "B H_kv n d"]]:
    """Turn queries and keys by angles whose cosines and sines are given.

        y1 = x1 cos - x2 sin,  y2 = x1 sin + x2 cos  for each pair of q and of k

    Args:
        q: [B, H, n, d]  queries; d even
        k: [B, H_kv, n, d]  keys
        cos, sin: [n, d/2] or [B, n, d/2], from `cos_sin`; float32, for float64 q also float64
        interleaved: False pairs component i with i + d/2; True pairs 2 i with 2 i + 1
        impl: "torch"; "triton" (one kernel for both, float16, bfloat16 and float32); or "auto",
            which is "triton" for CUDA tensors of these dtypes and "torch" for all else
    Returns: both turned, in their own dtype. Gradients reach q and k.
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; cos or sin that require a gradient;
            an impl that cannot do it
    Cost: 3 (H + H_kv) d FLOP a token. The kernel reads q and k once and writes them once, and reads
        cos and sin once for every four heads.
    Source: as `rotate_qk`.
    """
    check_impl(impl, IMPLS)
    check_tensors(q=q, k=k)
    check_rotation(q, k, cos, sin)
    dtype = compute_dtype(q)
    for name, x in (("cos", cos), ("sin", sin)):
        if x.requires_grad:
            raise ValueError(f"{name} requires a gradient, but none is made here: {name}.detach()")
        if x.dtype not in (torch.float32, dtype) or x.device != q.device:
            raise ValueError(
                f"{name} is {x.dtype} on {x.device} but q is {q.dtype} on {q.device}; {name} "
                f"should be {dtype} on {q.device}"
            )
    if impl == "triton" or (impl == "auto" and kernel_takes(q)):
        from attention_src.rope.kernel import rope_forward

        return rope_forward(q, k, cos, sin, interleaved)
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]  # [B, 1, n, d/2]: one for all heads
    return _turn(q, cos, sin, interleaved), _turn(k, cos, sin, interleaved)


def rotate(
    x: Float[Tensor, "*batch n d"],
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    scaling: Any = None,
) -> Float[Tensor, "*batch n d"]:
    """Turn each pair of components of x by its position times the pair's frequency.

        angle = positions theta,  theta = frequencies(d)
        y1 = x1 cos(angle) - x2 sin(angle)
        y2 = x1 sin(angle) + x2 cos(angle)

    Args:
        x: [..., n, d]  queries or keys, any floating dtype; d even
        positions: [n], or [..., n] that broadcasts to x's axes without d; real numbers
        base: see `frequencies`
        interleaved: False pairs component i with i + d/2; True pairs 2 i with 2 i + 1
        scaling: None, or a PositionInterpolation, NTK or YaRN of `rope.scaling`
    Returns: [..., n, d]  in x's dtype, computed in float32 at least. Gradients reach x only.
    Raises:
        ValueError: d is odd; positions that do not fit, hold no real numbers, or are float16
    Cost: n d/2 cosines and sines; 3 d FLOP a vector.
    Source: Su et al. 2021, arXiv:2104.09864, section 3.2.2.
    """
    check_tensors(x=x)
    if x.ndim < 2:
        raise ValueError(f"x has shape {shape(x)}; it should be [..., n, d]")
    positions = _positions(positions, x.device)
    rows, given = x.shape[:-1], positions.shape
    axes = zip(reversed(given), reversed(rows), strict=False)
    fits = given[-1] == rows[-1] and len(given) <= len(rows) and all(a in (1, b) for a, b in axes)
    if not fits:
        raise ValueError(
            f"positions has shape {shape(positions)} but x has shape {shape(x)}; positions should "
            f"be [n] = [{rows[-1]}], or broadcast to {list(rows)}"
        )
    dtype = compute_dtype(x)
    cos, sin = cos_sin(positions, x.shape[-1], base=base, scaling=scaling, dtype=dtype)
    return _turn(x, cos, sin, interleaved)


def cos_sin(
    positions: Any,
    d: int,
    *,
    base: float = 10000.0,
    scaling: Any = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[Float[Tensor, "*batch n n_pairs"], Float[Tensor, "*batch n n_pairs"]]:
    """The cosine and sine of every angle, times YaRN's factor: computed in float64, rounded once.

        cos(positions theta), sin(positions theta)

    Args:
        positions: [..., n]  real numbers, tensor or not
        d: width of a query, even
        base, scaling: see `frequencies`
        dtype: float32 or float64
    Returns: two [..., n, d/2], on the device of positions
    Raises:
        ValueError: positions that hold no real numbers, are float16 or require a gradient; d is odd
    Cost: n d/2 cosines and sines, in float64.
    """
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype is {dtype}; it should be torch.float32 or torch.float64")
    positions = _positions(positions)
    angle = positions[..., None] * frequencies(
        d, base=base, scaling=scaling, device=positions.device
    )
    a = amplitude(scaling)
    return (a * angle.cos()).to(dtype), (a * angle.sin()).to(dtype)


def frequencies(
    d: int, *, base: float = 10000.0, scaling: Any = None, device: Any = None
) -> Float[Tensor, "n_pairs"]:
    """How far each pair of components turns from one position to the next.

        theta_i = base ** (-2 i / d),  i = 0 ... d/2 - 1, then scaled

    Args:
        d: width of a query or key, even
        base: the slowest pair needs almost 2 pi base positions for one turn
        scaling: None, or a PositionInterpolation, NTK or YaRN of `rope.scaling`
        device: of the answer
    Returns: float64 [d/2]  theta, radians a position, the fastest pair first
    Raises:
        ValueError: d is odd or below 2; a base that is not above 1; another kind of scaling
    Source: Su et al. 2021, arXiv:2104.09864, section 3.2.2, which counts i from 1.
    """
    theta = numpy_frequencies.frequencies(d, base=base, scaling=scaling)
    return torch.as_tensor(theta, device=device)


def _positions(positions: Any, device: Any = None) -> Tensor:
    """positions as a float64 tensor, checked; device None = where they are."""
    positions = torch.as_tensor(positions, device=device)
    check_precision(positions.dtype)
    if positions.dtype == torch.bool or positions.is_complex():
        raise ValueError(f"positions has dtype {positions.dtype}; it should hold real numbers")
    if positions.ndim == 0:
        raise ValueError("positions is a single number; it should be a row of numbers, [n]")
    if positions.requires_grad:
        raise ValueError("positions requires a gradient, but none is made here: positions.detach()")
    return positions.double()


def _turn(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Every pair of x turned by its angle; in float32 at least, because cos and sin are."""
    # [..., n, d/2]
    x1, x2 = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, dim=-1)
    y = x1 * cos - x2 * sin, x1 * sin + x2 * cos
    joined = torch.stack(y, dim=-1).flatten(-2) if interleaved else torch.cat(y, dim=-1)
    return joined.to(x.dtype)
