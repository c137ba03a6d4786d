"""Mamba-2 on torch tensors, with gradients."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.layer_parts import (
    answer,
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    start_state,
    uses_kernel,
)
from attention_src.shapes import check_impl, check_size
from attention_src.ssm.checks import check_ssd
from attention_src.tensors import check_tensors, compute_dtype
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

FORMS = ("recurrent", "parallel", "chunkwise")


def ssd(
    x: Float[Tensor, "*batch H n P"],
    dt: Float[Tensor, "*batch H n"],
    A: Float[Tensor, " H"],
    B: Float[Tensor, "*batch n N"],
    C: Float[Tensor, "*batch n N"],
    *,
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
        x, dt, A, B, C: as there; dtypes may differ: float32 parameters with float16 inputs
        form, chunk, return_state: as there
        initial_state: [..., H, P, N], in float32 at least, as return_state=True gives it
        impl: "torch", "triton" (linear attention's kernels, with C, B and dt x as its q, k and v;
            chunkwise, in chunks of their own size) or "auto": "triton" for CUDA tensors of float16,
            bfloat16 or float32 in the chunkwise form, else "torch"
    Returns: [..., H, n, P]  y, in x's dtype; with return_state (y, h_{n-1}), the state in float32
        at least
    Raises:
        ValueError: as there; devices that differ; an unknown impl, or "triton" where it does not
            apply
    """
    check_impl(form, FORMS, "form")
    chunk = check_size(chunk, "chunk", at_least=1)
    check_tensors(one_dtype=False, x=x, dt=dt, A=A, B=B, C=C)
    check_ssd(x, dt, A, B, C)
    dtype = compute_dtype(x)
    wide, dt, A, B, C = (a.to(dtype) for a in (x, dt, A, B, C))
    n, size = x.shape[-2], (*x.shape[:-2], x.shape[-1], B.shape[-1])
    h = start_state(initial_state, "[..., H, P, N]", size, x=wide)
    log_gates = (dt * A[:, None])[..., None]  # [..., H, n, 1]
    u = dt[..., None] * wide  # [..., H, n, P]
    if uses_kernel(impl, form, x):
        return answer(*_kernel(x, u, log_gates, B, C, h), x.dtype, return_state)
    B, C = B[..., None, :, :], C[..., None, :, :]  # [..., 1, n, N]: one for all heads
    step = {"recurrent": 1, "parallel": max(n, 1), "chunkwise": chunk}[form]
    parts = []
    for piece in zip(*(a.split(step, dim=-2) for a in (u, log_gates, B, C)), strict=True):
        y, h = _chunk(h, *piece)
        parts.append(y)
    return answer(torch.cat(parts, dim=-2), h, x.dtype, return_state)


def _kernel(
    x: Tensor, u: Tensor, log_gates: Tensor, B: Tensor, C: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """SSD is linear attention with C, B and dt x as q, k and v, and h^T as its state."""
    from attention_src.linear.kernel import chunkwise_forward

    (H, n, P), N, batch = x.shape[-3:], B.shape[-1], math.prod(x.shape[:-3])
    B, C = (m.to(x.dtype).reshape(batch, 1, n, N).expand(-1, H, -1, -1) for m in (B, C))
    y, last = chunkwise_forward(
        C,
        B,
        u.to(x.dtype).reshape(batch, H, n, P),
        log_gates.reshape(batch, H, n, 1),
        h.mT.reshape(batch, H, N, P).contiguous(),
    )
    return y.reshape(x.shape), last.mT.reshape(h.shape)


def _chunk(h: Tensor, u: Tensor, log_gates: Tensor, B: Tensor, C: Tensor) -> tuple[Tensor, Tensor]:
    """As `reference_ssd._chunk`."""
    L = decay_between(log_gates)[..., 0]  # [..., H, c, c]
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # [..., H, c, 1]
    y = (L * (C @ B.mT)) @ u + from_start * (C @ h.mT)
    return y, decay_whole(log_gates)[..., None] * h + (to_end * u).mT @ B
