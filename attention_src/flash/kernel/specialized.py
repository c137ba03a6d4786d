"""Flash attention forward for Hopper, without a mask: some warps only load, others only compute.

The same loop as in forward.py. But the compiler gives its two loads to a warp of their own, which
hands them to the tensor memory accelerator, and the products and the softmax to two groups of four
warps: while one computes a softmax, the matrix units belong to the other. Triton 3.7 does that for
one loop without branches on masks only; so this kernel takes what needs none (`takes`). The model
gives it 589 TFLOP/s on an H100 where forward.py has 526 (benchmarks/results/loops.json).

No GPU has run it yet, and groups of warps that wait for each other for ever would only show there.
So `flash_forward` does not choose it; `make gpu` tests and measures it on a Hopper card.
"""

import math

import torch
from torch import Tensor

from attention_src.flash.kernel.config import LOG2E, Inputs
from attention_src.triton_support.launch import Launch, tl, triton

LN2 = tl.constexpr(math.log(2))
CHIP = 90
D = 128  # for narrower heads the kernel of forward.py is faster, by the model
BLOCK_Q, BLOCK_K, STAGES = 128, 128, 2
INTERPRETED_Q, INTERPRETED_K = 32, 16
ALIGNMENT = 16  # bytes; the accelerator's addresses and strides are divisible by it


@triton.jit
def flash_forward_specialized_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    stride_qb, stride_qh, stride_qn, stride_kb, stride_kh, stride_kn,
    stride_vb, stride_vh, stride_vn, n_heads, n_kv_heads, n_q, n_k, scale_log2,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    n_blocks = tl.cdiv(n_q, BLOCK_Q)
    start_q = tl.program_id(0) % n_blocks * BLOCK_Q
    head = (tl.program_id(0) // n_blocks).to(tl.int64)
    b, h = head // n_heads, head % n_heads
    h_kv = h // (n_heads // n_kv_heads)
    q_rows = tl.make_tensor_descriptor(
        q_ptr + b * stride_qb + h * stride_qh, [n_q, D], [stride_qn, 1], [BLOCK_Q, D]
    )
    k_rows = tl.make_tensor_descriptor(
        k_ptr + b * stride_kb + h_kv * stride_kh, [n_k, D], [stride_kn, 1], [BLOCK_K, D]
    )
    v_rows = tl.make_tensor_descriptor(
        v_ptr + b * stride_vb + h_kv * stride_vh, [n_k, D], [stride_vn, 1], [BLOCK_K, D]
    )
    o_rows = tl.make_tensor_descriptor(o_ptr + head * n_q * D, [n_q, D], [D, 1], [BLOCK_Q, D])

    # [BLOCK_Q, d]  reads BLOCK_Q d numbers, once; 0 behind the last query
    q = q_rows.load([start_q, 0])
    m_log2 = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    l = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, D], tl.float32)
    for start_k in tl.range(0, n_k, BLOCK_K, warp_specialize=True):
        # [BLOCK_K, d] twice  reads 2 BLOCK_K d numbers
        s = tl.dot(q, k_rows.load([start_k, 0]).T)  # [BLOCK_Q, BLOCK_K]
        m_new = tl.maximum(m_log2, tl.max(s, 1) * scale_log2)
        m_safe = tl.where(m_new == -float("inf"), 0.0, m_new)  # −inf − (−inf) is NaN
        p = tl.exp2(s * scale_log2 - m_safe[:, None])
        rescale = tl.exp2(m_log2 - m_safe)
        l = l * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc = tl.dot(p.to(q.dtype), v_rows.load([start_k, 0]), acc)
        m_log2 = m_new

    l = tl.where(l == 0.0, 1.0, l)
    # [BLOCK_Q, d] and [BLOCK_Q]  writes BLOCK_Q (d + 1) numbers, once
    o_rows.store([start_q, 0], (acc / l[:, None]).to(q.dtype))
    offs_q = start_q + tl.arange(0, BLOCK_Q)
    lse = (m_log2 + tl.log2(l)) * LN2
    tl.store(lse_ptr + head * n_q + offs_q, lse, mask=offs_q < n_q)


def takes(inputs: Inputs, capability: int) -> bool:
    """Whether this kernel can compute it, by the model faster than the other.

    Args:
        inputs: of the forward pass
        capability: the chip
    Returns: True on sm_90 in half precision with d_k = d_v = 128, whole blocks of keys, rows that
        the accelerator can address, and nothing hidden or changed
    """
    q, k, v, key_lengths, visibility, scale, *_ = inputs
    plain = key_lengths is None and not visibility.restricts and not inputs.changed and scale > 0
    if capability != CHIP or not plain or q.dtype.itemsize != 2:
        return False
    whole = visibility.n_k > 0 and visibility.n_k % BLOCK_K == 0
    return whole and k.shape[3] == v.shape[3] == D and all(_addressable(x) for x in (q, k, v))


def specialized_launch(inputs: Inputs, o: Tensor, lse: Tensor, *, capability: int) -> Launch:
    """One program for each block of queries of each head.

    Args:
        inputs: which `takes` accepts, or with capability 0 whole small blocks
        o, lse: contiguous, to be written
        capability: the chip; 0 in the interpreter
    Returns: the launch
    Cost: as `forward_launch`.
    """
    q, k, v = inputs.q, inputs.k, inputs.v
    blocks = (BLOCK_Q, BLOCK_K) if capability else (INTERPRETED_Q, INTERPRETED_K)
    strides = {
        f"stride_{name}{axis}": x.stride(index)
        for name, x in dict(q=q, k=k, v=v).items()
        for index, axis in enumerate("bhn")
    }
    arguments = dict(q_ptr=q, k_ptr=k, v_ptr=v, o_ptr=o, lse_ptr=lse, **strides)
    arguments |= dict(n_heads=q.shape[1], n_kv_heads=k.shape[1], n_q=q.shape[2], n_k=k.shape[2])
    # Not 0: −inf * 0 is NaN.
    arguments["scale_log2"] = max(inputs.scale * LOG2E, torch.finfo(torch.float32).tiny)
    arguments |= dict(D=q.shape[3], BLOCK_Q=blocks[0], BLOCK_K=blocks[1])
    grid = (triton.cdiv(q.shape[2], blocks[0]) * q.shape[0] * q.shape[1],)
    kernel = flash_forward_specialized_kernel
    return Launch(kernel, grid, arguments, num_warps=4, num_stages=STAGES, groups=2)


def _addressable(x: Tensor) -> bool:
    """Whether the accelerator can address rows of x [B, H, n, d]."""
    starts = (x.data_ptr(), *(stride * x.element_size() for stride in x.stride()[:3]))
    return x.stride(3) == 1 and all(start % ALIGNMENT == 0 for start in starts)
