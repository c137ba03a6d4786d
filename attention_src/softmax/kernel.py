"""Softmax over the last axis on a GPU, forward and backward, one kernel each.

Softmax does little arithmetic per number, so moving the numbers takes all the time. A row that fits
in the registers of one program is read once and written once, the least possible. A longer one is
read twice: a first pass computes maximum and sum online, a second one the weights.
"""

import math

import torch
from torch import Tensor

from attention_src.shapes import shape
from attention_src.tensors import refuse_derivatives
from attention_src.triton_support.launch import Launch, capability, check_kernel_tensors, tl, triton
from attention_src.triton_support.launch_cache import Prepared, planned

# The longest rows (a power of two) that 16 warps hold in registers: one number per score in the
# forward, two in the backward. Shorter when interpreted, so that tests reach the long kernels.
ROW_FORWARD, ROW_BACKWARD, ROW_INTERPRETED = 32768, 16384, 128
# The chip has powers of 2; tl.exp would also guard against results below float32's normal numbers.
LOG2E = tl.constexpr(math.log2(math.e))


@triton.jit
def softmax_forward_kernel(
    x_ptr, p_ptr, stride_xr, stride_xn, n_rows, n, BLOCK_R: tl.constexpr, BLOCK_N: tl.constexpr
):
    """Whole rows, BLOCK_R of them in each program."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    offs_n = tl.arange(0, BLOCK_N)[None, :].to(tl.int64)
    mask = (row < n_rows) & (offs_n < n)
    # [BLOCK_R, BLOCK_N]  reads each score once; columns beyond the row get weight 0
    x = tl.load(x_ptr + row * stride_xr + offs_n * stride_xn, mask=mask, other=-float("inf"))
    x = x.to(tl.float32)
    # [BLOCK_R, 1]
    m = tl.max(x, axis=1, keep_dims=True)
    m_safe = tl.where(m == -float("inf"), 0.0, m)  # because -inf - (-inf) is NaN
    p = tl.exp2((x - m_safe) * LOG2E)
    l = tl.sum(p, axis=1, keep_dims=True)
    p *= 1.0 / tl.where(l == 0.0, 1.0, l)  # l = 0: a fully masked row, whose weights are 0
    # [BLOCK_R, BLOCK_N]  writes each weight once
    tl.store(p_ptr + row * n + offs_n, p.to(p_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_forward_long_kernel(x_ptr, p_ptr, stride_xr, stride_xn, n, BLOCK_N: tl.constexpr):
    """One row, block by block."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride_xr
    p_ptr += row * n
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    m = -float("inf")
    l = 0.0
    for start in range(0, n, BLOCK_N):
        # [BLOCK_N]  reads each score once
        offs = start + offs_n
        x = tl.load(x_ptr + offs * stride_xn, mask=offs < n, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        m_safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        rescale = tl.exp2((m - m_safe) * LOG2E)
        l = l * rescale + tl.sum(tl.exp2((x - m_safe) * LOG2E), axis=0)
        m = m_new
    m_safe = tl.where(m == -float("inf"), 0.0, m)
    scale = 1.0 / tl.where(l == 0.0, 1.0, l)
    # Backwards, because the end of the row was read last and may still be in the cache.
    for start in range(0, n, BLOCK_N):
        # [BLOCK_N]  reads each score a second time, writes each weight once
        offs = (tl.cdiv(n, BLOCK_N) - 1) * BLOCK_N - start + offs_n
        x = tl.load(x_ptr + offs * stride_xn, mask=offs < n, other=-float("inf")).to(tl.float32)
        p = tl.exp2((x - m_safe) * LOG2E) * scale
        tl.store(p_ptr + offs, p.to(p_ptr.dtype.element_ty), mask=offs < n)


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, dx_ptr, stride_pr, stride_pn, stride_dpr, stride_dpn, n_rows, n,
    BLOCK_R: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Whole rows, BLOCK_R of them in each program."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    offs_n = tl.arange(0, BLOCK_N)[None, :].to(tl.int64)
    mask = (row < n_rows) & (offs_n < n)
    # [BLOCK_R, BLOCK_N]  reads each weight and each gradient once
    p = tl.load(p_ptr + row * stride_pr + offs_n * stride_pn, mask=mask, other=0.0)
    dp = tl.load(dp_ptr + row * stride_dpr + offs_n * stride_dpn, mask=mask, other=0.0)
    p, dp = p.to(tl.float32), dp.to(tl.float32)
    # [BLOCK_R, 1]
    delta = tl.sum(p * dp, axis=1, keep_dims=True)
    fully_masked = tl.sum(p, axis=1, keep_dims=True) == 0.0  # gradient 0, even if dp is NaN
    dx = tl.where(fully_masked, 0.0, p * (dp - delta))
    # [BLOCK_R, BLOCK_N]  writes each gradient once
    tl.store(dx_ptr + row * n + offs_n, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_backward_long_kernel(
    p_ptr, dp_ptr, dx_ptr, stride_pr, stride_pn, stride_dpr, stride_dpn, n, BLOCK_N: tl.constexpr
):
    """One row, block by block."""
    row = tl.program_id(0).to(tl.int64)
    p_ptr += row * stride_pr
    dp_ptr += row * stride_dpr
    dx_ptr += row * n
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    delta = 0.0
    l = 0.0
    for start in range(0, n, BLOCK_N):
        # [BLOCK_N]  reads each weight and each gradient once
        offs = start + offs_n
        p = tl.load(p_ptr + offs * stride_pn, mask=offs < n, other=0.0).to(tl.float32)
        dp = tl.load(dp_ptr + offs * stride_dpn, mask=offs < n, other=0.0).to(tl.float32)
        delta += tl.sum(p * dp, axis=0)
        l += tl.sum(p, axis=0)
    # Backwards, because the end of the row was read last and may still be in the cache.
    for start in range(0, n, BLOCK_N):
        # [BLOCK_N]  reads both a second time, writes each gradient once
        offs = (tl.cdiv(n, BLOCK_N) - 1) * BLOCK_N - start + offs_n
        p = tl.load(p_ptr + offs * stride_pn, mask=offs < n, other=0.0).to(tl.float32)
        dp = tl.load(dp_ptr + offs * stride_dpn, mask=offs < n, other=0.0).to(tl.float32)
        dx = tl.where(l == 0.0, 0.0, p * (dp - delta))
        tl.store(dx_ptr + offs, dx.to(dx_ptr.dtype.element_ty), mask=offs < n)


def forward_launch(x: Tensor, p: Tensor, *, capability: int) -> Launch:
    """Describe the softmax of each row.

    Args:
        x: [n_rows, n]  scores, any strides
        p: [n_rows, n]  weights, contiguous, to be written
        capability: the chip; 0 in the interpreter
    Returns: the launch, not yet run
    """
    arguments = dict(x_ptr=x, p_ptr=p, stride_xr=x.stride(0), stride_xn=x.stride(1))
    longest = ROW_FORWARD if capability else ROW_INTERPRETED
    return _launch(softmax_forward_kernel, softmax_forward_long_kernel, arguments, x.shape, longest)


def backward_launch(p: Tensor, dp: Tensor, dx: Tensor, *, capability: int) -> Launch:
    """Describe the gradient of each row.

    Args:
        p, dp: [n_rows, n]  weights and the gradient by them, any strides
        dx: [n_rows, n]  gradient by the scores, contiguous, to be written
        capability: the chip; 0 in the interpreter
    Returns: the launch, not yet run
    """
    strides = dict(stride_pr=p.stride(0), stride_pn=p.stride(1))
    strides |= dict(stride_dpr=dp.stride(0), stride_dpn=dp.stride(1))
    arguments = dict(p_ptr=p, dp_ptr=dp, dx_ptr=dx, **strides)
    longest = ROW_BACKWARD if capability else ROW_INTERPRETED
    return _launch(
        softmax_backward_kernel, softmax_backward_long_kernel, arguments, p.shape, longest
    )


def _launch(whole, long, arguments: dict, size: tuple[int, ...], longest: int) -> Launch:
    """Whole rows if they fit, several per program if they are short; otherwise block by block."""
    n_rows, n = size
    if n > longest:
        # Many threads per program: few rows are in flight, so the cache still holds them when they
        # are read a second time.
        block = dict(n=n, BLOCK_N=longest // 2)
        return Launch(long, (n_rows,), arguments | block, num_warps=16)
    block_n = triton.next_power_of_2(max(n, 1))
    block_r = max(1, 4096 // block_n)
    num_warps = min(16, max(8, block_n // 1024))  # 16 to 64 numbers per thread
    block = dict(n_rows=n_rows, n=n, BLOCK_R=block_r, BLOCK_N=block_n)
    grid = (triton.cdiv(n_rows, block_r) if n else 0,)
    return Launch(whole, grid, arguments | block, num_warps=num_warps)


@torch.library.custom_op("attention_src::softmax_forward", mutates_args=())
def softmax_forward(x: Tensor) -> Tensor:
    """Softmax over the last axis.

        p_j = exp(x_j - m) / l,  m = max_i x_i,  l = sum_i exp(x_i - m)

    Args:
        x: [..., n]  scores in float16, bfloat16 or float32, any strides. Copied only if the leading
            axes cannot be merged into one axis with one stride.
    Returns: [..., n]  weights, contiguous, computed in float32. A fully masked row gives 0, a row
        with a NaN gives NaN.
    Raises:
        ValueError: a dtype or device that kernels do not support; no axis
    Cost: reads and writes each number once; rows above 32,768 are read twice.
    Source: Milakov & Gimelshein 2018, arXiv:1805.02867, Algorithm 3 for long rows (their d is our
        l); short rows are fused as in Triton's tutorial 02.
    """
    return _forward(x)[0]


@torch.library.custom_op("attention_src::softmax_backward", mutates_args=())
def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """The gradient by the scores, from the weights and their gradient.

        dx = p * (dp - delta),  delta = sum_j p_j dp_j

    Args:
        p: [..., n]  weights, as `softmax_forward` returns them
        dp: [..., n]  gradient of the loss by the weights
    Returns: [..., n]  dx, contiguous, computed in float32; 0 in a fully masked row
    Raises:
        ValueError: as `softmax_forward`; p and dp have different shapes
    Cost: reads two numbers for each one it writes; four in rows above 16,384.
    Source: the Jacobian diag(p) - p p^T, multiplied by dp.
    """
    return _backward(p, dp)[0]


@planned
def _forward(x: Tensor) -> Prepared:
    check_kernel_tensors(x=x)
    _check_row(x, "x")
    p = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    return (p,), [forward_launch(_rows(x), _rows(p), capability=capability(x))]


@planned
def _backward(p: Tensor, dp: Tensor) -> Prepared:
    check_kernel_tensors(p=p, dp=dp)
    _check_row(p, "p")
    if p.shape != dp.shape:
        raise ValueError(f"dp has shape {shape(dp)} but p has shape {shape(p)}; make them equal")
    dx = torch.empty(p.shape, dtype=p.dtype, device=p.device)
    return (dx,), [backward_launch(_rows(p), _rows(dp), _rows(dx), capability=capability(p))]


def _check_row(x: Tensor, name: str) -> None:
    if x.ndim == 0:
        raise ValueError(f"{name} is a single number; it should be a row of scores, [..., n]")


def _rows(x: Tensor) -> Tensor:
    """[..., n] as [n_rows, n]: a view if the strides allow it."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


@softmax_forward.register_fake
@softmax_backward.register_fake
def _(x, dp=None):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _setup_context(ctx, inputs, output):
    ctx.save_for_backward(output)


def _gradient(ctx, dp):
    return softmax_backward(ctx.saved_tensors[0], dp)


softmax_forward.register_autograd(_gradient, setup_context=_setup_context)
refuse_derivatives(softmax_backward, "torch")
