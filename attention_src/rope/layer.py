"""Rotary positions on torch tensors, with gradients; queries and keys together, also as one kernel.

Angles are computed in float64 for every dtype: position 131072 times a frequency is off by
thousandths of a radian in float32, and infinite in float16.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.rope.checks import check_placement, check_precision, check_rotation
from attention_src.rope.scaling import Scaling, amplitude
from attention_src.rope.scaling import frequencies as numpy_frequencies
from attention_src.shapes import check_flags, check_impl, shape
from attention_src.tensors import (
    KERNEL_DTYPES,
    as_tensor,
    call_kernel,
    check_tensors,
    compute_dtype,
    kernel_takes,
)
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

IMPLS = ("auto", "torch", "triton")


def rotate_qk(
    q: Float[Tensor, "B H n d"],
    k: Float[Tensor, "B H_kv n d"],
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    scaling: Scaling | None = None,
    impl: str = "auto",
) -> tuple[Float[Tensor, "B H n d"], Float[Tensor, "B H_kv n d"]]:
    """As `reference.rotate`, on queries and keys at the same positions, with gradients.

        q, k = R_m q, R_m k  at position m

    A model with many layers computes cos and sin once, with `cos_sin`, and calls `apply_rotation`.

    Args:
        q: [B, H, n, d]  queries; d even
        k: [B, H_kv, n, d]  keys
        positions: [n], or [B, n] if sequences differ; real numbers, tensor or not
        base, interleaved, scaling: as for `reference.rotate`
        impl: as for `apply_rotation`
    Returns: both rotated, in their own dtype. No gradient flows to positions.
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; positions that are not finite (not
            looked for under torch.compile); an impl that does not take them
    Cost: n d/2 cosines and sines; 3 (H + H_kv) d FLOP per token.
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
    """Rotate queries and keys by angles given as cosines and sines.

        y1 = x1 cos - x2 sin,  y2 = x1 sin + x2 cos  for each pair of q and of k

    Args:
        q: [B, H, n, d]  queries; d even
        k: [B, H_kv, n, d]  keys
        cos, sin: [n, d/2] or [B, n, d/2], from `cos_sin`; float32, or float64 if q is float64
        interleaved: as for `reference.rotate`
        impl: "torch"; "triton" (one kernel for both; float16, bfloat16 and float32); or "auto":
            "triton" for CUDA tensors of these dtypes, "torch" for all others
    Returns: both rotated, in their own dtype. Gradients reach q and k.
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; cos or sin that require a gradient;
            an impl that does not take them
    Cost: 3 (H + H_kv) d FLOP per token. The kernel reads q and k once and writes them once; it
        reads cos and sin once per four heads.
    """
    check_impl(impl, IMPLS)
    check_flags(interleaved=interleaved)
    if not _fits(q, k, cos, sin):
        _check(q, k, cos, sin)
    if impl == "triton" or (impl == "auto" and kernel_takes(q)):
        from attention_src.rope.kernel import rope_forward

        return call_kernel(rope_forward, "torch", q, k, cos, sin, interleaved)
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]  # [B, 1, n, d/2], the same for all heads
    rotated = _rotate(torch.cat([q, k], dim=1), cos, sin, interleaved)
    return rotated[:, : q.shape[1]], rotated[:, q.shape[1] :]


def _fits(q: Any, k: Any, cos: Any, sin: Any) -> bool:
    """Whether all arguments fit in the usual way: a quick test, as every layer runs it."""
    if not (type(q) is type(k) is type(cos) is type(sin) is Tensor and q.ndim == k.ndim == 4):
        return False
    (B, _, n, d), (B_k, _, n_k, d_k) = q.shape, k.shape
    return (
        (B_k, n_k, d_k) == (B, n, d)
        and d > 0 == d % 2
        and cos.shape == sin.shape == (n, d // 2)
        and q.dtype == k.dtype in KERNEL_DTYPES
        and cos.dtype == sin.dtype == torch.float32
        and q.device == k.device == cos.device == sin.device
        and q.layout is k.layout is cos.layout is sin.layout is torch.strided
        and not (cos.requires_grad or sin.requires_grad)
    )


def _check(q: Any, k: Any, cos: Any, sin: Any) -> None:
    """Raise for what does not fit, and say what it is."""
    check_tensors(q=q, k=k)
    check_tensors(one_dtype=False, q=q, cos=cos, sin=sin)
    check_rotation(q, k, cos, sin)
    dtype = compute_dtype(q)
    for name, x in (("cos", cos), ("sin", sin)):
        if x.requires_grad:
            raise ValueError(
                f"{name} requires a gradient, but none is computed here: {name}.detach()"
            )
        if x.dtype not in (torch.float32, dtype) or x.device != q.device:
            raise ValueError(
                f"{name} is {x.dtype} on {x.device} but q is {q.dtype} on {q.device}; {name} "
                f"should be {dtype} on {q.device}"
            )


def rotate(
    x: Float[Tensor, "*batch n d"],
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    scaling: Scaling | None = None,
) -> Float[Tensor, "*batch n d"]:
    """As `reference.rotate`, on a tensor, with gradients.

    Args:
        x: [..., n, d]  queries or keys, any floating dtype; d even
        positions, base, interleaved, scaling: as for `reference.rotate`; positions may be a tensor
    Returns: [..., n, d]  in x's dtype, computed in float32 at least. Gradients reach x only.
    Raises:
        ValueError: as `reference.rotate`; x is not floating point; positions require a gradient
    """
    check_flags(interleaved=interleaved)
    check_tensors(x=x)
    positions = _positions(positions, x.device)
    check_placement(positions, x)
    dtype = compute_dtype(x)
    cos, sin = cos_sin(positions, x.shape[-1], base=base, scaling=scaling, dtype=dtype)
    return _rotate(x, cos, sin, interleaved)


def cos_sin(
    positions: Any,
    d: int,
    *,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[Float[Tensor, "*batch n n_pairs"], Float[Tensor, "*batch n n_pairs"]]:
    """The cosine and sine of every angle, computed in float64 and rounded once.

        a cos(positions theta), a sin(positions theta),  theta = frequencies(d), a = amplitude

    Args:
        positions: [..., n]  real numbers, tensor or not
        d: width of a query, even
        base, scaling: as for `frequencies`
        dtype: float32 or float64
    Returns: two [..., n, d/2], on the device of positions
    Raises:
        ValueError: another dtype; d is odd; positions that do not hold finite real numbers, are
            float16 or require a gradient
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
    d: int,
    *,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "n_pairs"]:
    """As `scaling.frequencies`, as a tensor.

    Args:
        d, base, scaling: as for `scaling.frequencies`
        device: of the result
    Returns: float64 [d/2]  theta
    Raises:
        ValueError: as `scaling.frequencies`
    """
    return torch.as_tensor(numpy_frequencies(d, base=base, scaling=scaling), device=device)


def _positions(positions: Any, device: torch.device | str | None = None) -> Tensor:
    """positions as a float64 tensor, checked; device None = keep theirs."""
    if device is None and isinstance(positions, Tensor):
        device = positions.device  # else as_tensor moves them to torch's default device
    positions = as_tensor(positions, "positions", "a row of real numbers, [n]", device=device)
    check_precision(positions.dtype)
    if positions.dtype == torch.bool or positions.is_complex():
        raise ValueError(f"positions has dtype {positions.dtype}; it should hold real numbers")
    if positions.ndim == 0:
        raise ValueError("positions is a single number; it should be a row of numbers, [n]")
    if positions.requires_grad:
        raise ValueError(
            "positions requires a gradient, but none is computed here: positions.detach()"
        )
    real = positions.is_floating_point()  # whole numbers are finite, and a GPU need not be asked
    if real and not torch.compiler.is_compiling() and not bool(positions.isfinite().all()):
        raise ValueError("positions holds a NaN or an infinity; it should hold finite numbers")
    return positions.double()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Every pair of x rotated by its angle, in float32 at least."""
    wide = x if x.dtype == torch.float64 else x.float()  # cast once, not in each product
    # each [..., n, d/2]
    x1, x2 = (wide[..., 0::2], wide[..., 1::2]) if interleaved else wide.chunk(2, dim=-1)
    # x1 cos - x2 sin and x2 cos + x1 sin: addcmul multiplies and adds in one step
    y = torch.addcmul(x1 * cos, x2, sin, value=-1), torch.addcmul(x2 * cos, x1, sin)
    joined = torch.stack(y, dim=-1).flatten(-2) if interleaved else torch.cat(y, dim=-1)
    return joined.type_as(x)
