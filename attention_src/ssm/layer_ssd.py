"""Mamba-2 on torch tensors, with gradients."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.layer_parts import (
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    finish,
    start_state,
    uses_kernel,
)
from attention_src.shapes import check_flags, check_impl, check_size
from attention_src.ssm.checks import check_ssd, check_steps
from attention_src.tensors import call_kernel, check_tensors, compute_dtype, without_autocast
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

FORMS = ("recurrent", "parallel", "chunkwise")


@without_autocast
def ssd(
    x: Float[Tensor, "*batch H n P"],
    dt: Float[Tensor, "*batch H n"],
    A: Float[Tensor, " H"],
    B: Float[Tensor, "*groups n N"],
    C: Float[Tensor, "*groups n N"],
    D: Float[Tensor, " H"] | None = None,
    *,
    z: Float[Tensor, "*batch H n P"] | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Float[Tensor, "*batch H P N"] | None = None,
    return_state: bool = False,
    impl: str = "auto",
) -> (
    Float[Tensor, "*batch H n P"]
    | tuple[Float[Tensor, "*batch H n P"], Float[Tensor, "*batch H P N"]]
):
    """As `reference_ssd.ssd`, on tensors, with gradients.

    Args:
        x, dt, A, B, C, D, z: as for the reference; dtypes may differ: float32 parameters with
            float16 inputs. dt is not validated under torch.compile
        form, chunk, return_state: as for the reference
        initial_state: [..., H, P, N], as return_state=True gives it, or in half precision, which
            is computed with in float32
        impl: "torch", "triton" (linear attention's kernels, with C, B and dt x as its q, k and v;
            chunkwise, in chunks of their own size) or "auto": "triton" for CUDA tensors of float16,
            bfloat16 or float32 in the chunkwise form, else "torch"
    Returns: [..., H, n, P]  y, in x's dtype; with return_state (y, h_{n-1}), the state in float32
        at least
    Raises:
        ValueError: as the reference; devices that differ; an unknown impl, or "triton" where it
            does not apply
    Cost: as for the reference.
    """
    check_flags(return_state=return_state)
    check_impl(form, FORMS, "form")
    chunk = check_size(chunk, "chunk", at_least=1)
    check_tensors(one_dtype=False, optional=("D", "z"), x=x, dt=dt, A=A, B=B, C=C, D=D, z=z)
    check_ssd(x, dt, A, B, C, D, z)
    if not torch.compiler.is_compiling():
        check_steps(dt)
    wide, dt, A, B, C = (a.to(compute_dtype(x)) for a in (x, dt, A, B, C))
    log_gates = (dt * A[:, None])[..., None]  # [..., H, n, 1]
    u = dt[..., None] * wide  # [..., H, n, P]
    if B.ndim < x.ndim:  # one group
        B, C = B[..., None, :, :], C[..., None, :, :]  # [..., G, n, N]
    size = (*u.shape[:-2], u.shape[-1], B.shape[-1])
    h = start_state(initial_state, "[..., H, P, N]", size, x=wide)
    if uses_kernel(impl, form, x):
        y, h = _kernel(x.dtype, u, log_gates, B, C, h)
    else:
        step = {"recurrent": 1, "parallel": max(u.shape[-2], 1), "chunkwise": chunk}[form]
        y, h = _chunks(step, u, log_gates, B, C, h)
    if D is not None:
        y = y + D.to(y.dtype)[:, None, None] * wide
    if z is not None:
        y = y * F.silu(z.to(y.dtype))
    return finish(y, h, x.dtype, return_state)


def _kernel(
    dtype: torch.dtype, u: Tensor, log_gates: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """SSD is linear attention with C, B and dt x as q, k and v, and h^T as its state."""
    from attention_src.linear.kernel import chunkwise_forward

    (H, n, P), (G, _, N), batch = u.shape[-3:], B.shape[-3:], math.prod(u.shape[:-3])
    B, C = (m.to(dtype).reshape(batch, G, 1, n, N).expand(-1, -1, H // G, -1, -1) for m in (B, C))
    y, last = call_kernel(
        chunkwise_forward,
        "torch",
        C.reshape(batch, H, n, N),
        B.reshape(batch, H, n, N),
        u.to(dtype).reshape(batch, H, n, P),
        log_gates.reshape(batch, H, n, 1),
        h.mT.reshape(batch, H, N, P).contiguous(),
    )
    return y.to(h.dtype).reshape(u.shape), last.mT.reshape(h.shape)


def _chunks(
    step: int, u: Tensor, log_gates: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """`step` tokens at a time; the heads of a group share its B and C."""
    G = B.shape[-3]
    u, log_gates, h = (a.unflatten(-3, (G, a.shape[-3] // G)) for a in (u, log_gates, h))
    B, C = B[..., None, :, :], C[..., None, :, :]  # [..., G, 1, n, N]
    parts = []
    for piece in zip(*(a.split(step, dim=-2) for a in (u, log_gates, B, C)), strict=True):
        y, h = _chunk(h, *piece)
        parts.append(y)
    return torch.cat(parts, dim=-2).flatten(-4, -3), h.flatten(-4, -3)


def _chunk(h: Tensor, u: Tensor, log_gates: Tensor, B: Tensor, C: Tensor) -> tuple[Tensor, Tensor]:
    """As `reference_ssd._chunk`."""
    L = decay_between(log_gates)[..., 0]  # [..., G, H / G, c, c]
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # [..., c, 1]
    y = (L * (C @ B.mT)) @ u + from_start * (C @ h.mT)
    return y, decay_whole(log_gates)[..., None] * h + (to_end * u).mT @ B
