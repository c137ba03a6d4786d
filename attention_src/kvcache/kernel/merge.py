"""Join the splits of each query, each weighted by its share of the softmax denominator.

    lse = log(sum_s exp(lse_s))        o = sum_s exp(lse_s - lse) o_s

A split without keys has lse = −inf, so its weight is 0.
"""

from typing import Any

from torch import Tensor

from attention_src.triton_support.launch import Launch, tl, triton

BLOCK_D = 64


@triton.jit
def merge_kernel(
    o_splits_ptr, lse_log2_ptr, o_ptr, n_splits, d_v, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr
):
    n_tiles = tl.cdiv(d_v, BLOCK_D)
    row = (tl.program_id(0) // n_tiles).to(tl.int64)  # a batch and a query head
    offs_d = tl.program_id(0) % n_tiles * BLOCK_D + tl.arange(0, BLOCK_D)
    offs_s = tl.arange(0, BLOCK_S)
    mask_s, mask_d = offs_s < n_splits, offs_d < d_v

    # [BLOCK_S]  reads n_splits * 4 bytes
    lse_ptr = lse_log2_ptr + row * n_splits + offs_s
    lse_log2 = tl.load(lse_ptr, mask=mask_s, other=-float("inf"))
    m_log2 = tl.max(lse_log2, 0)
    m_safe = tl.where(m_log2 == -float("inf"), 0.0, m_log2)
    p = tl.exp2(lse_log2 - m_safe)
    l = tl.sum(p, 0)
    p = p / tl.where(l == 0.0, 1.0, l)  # l = 0: no split has a key

    # [BLOCK_S, BLOCK_D]  reads n_splits * d_v * 4 bytes
    o_splits_ptr += (row * n_splits + offs_s[:, None]) * d_v + offs_d[None, :]
    o_splits = tl.load(o_splits_ptr, mask=mask_s[:, None] & mask_d[None, :], other=0)
    o = tl.sum(p[:, None] * o_splits, 0)
    # [BLOCK_D]  writes d_v numbers
    tl.store(o_ptr + row * d_v + offs_d, o.to(o_ptr.dtype.element_ty), mask=mask_d)


def merge_launch(o_splits: Tensor, lse_log2: Tensor, o: Tensor) -> Launch:
    """The launch of `merge_kernel`; all tensors are contiguous.

    Args:
        o_splits: float32 [B, H, n_splits, d_v]
        lse_log2: float32 [B, H, n_splits]
        o: [B, H, 1, d_v]  to be written
    Returns: the launch, not yet run
    """
    batch, n_heads, n_splits, d_v = o_splits.shape
    arguments: dict[str, Any] = dict(o_splits_ptr=o_splits, lse_log2_ptr=lse_log2, o_ptr=o)
    arguments |= dict(n_splits=n_splits, d_v=d_v)
    arguments |= dict(BLOCK_S=triton.next_power_of_2(n_splits), BLOCK_D=BLOCK_D)
    grid = (batch * n_heads * triton.cdiv(d_v, BLOCK_D),)
    return Launch(merge_kernel, grid, arguments, num_warps=4, num_stages=1)
