"""Flash attention forward: to write your own kernel, copy `tiny_flash` of book/flash.md first.

That has the loop, for one head of whole tiles. Here are all strides and lengths, hidden keys and
shared heads too: o and lse_log2 from q, k, v; the scores never leave the chip.
"""

import torch
from torch import Tensor

from attention_src.flash.kernel.blocks import (
    bounded,
    in_steps,
    is_visible,
    key_count,
    key_spans,
    load_tile,
    nth_block,
    query_block,
    store_tile,
    with_alibi,
)
from attention_src.flash.kernel.config import Inputs, common_arguments
from attention_src.flash.kernel.tiles import forward_tiles
from attention_src.triton_support.launch import Launch, tl, triton


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, key_lengths_ptr, slopes_ptr, o_ptr, lse_log2_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    n_heads, n_kv_heads, n_q, n_k, window, sinks, cap_scale, score_scale, scale_log2,
    NEGATIVE: tl.constexpr, SOFTCAP: tl.constexpr, ALIBI: tl.constexpr,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, LOOKAHEAD: tl.constexpr, PRECISION: tl.constexpr,
    D_K: tl.constexpr, D_V: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, STEP: tl.constexpr, INT64: tl.constexpr,
):  # fmt: skip
    stride_qb, stride_qh, stride_qn = in_steps(stride_qb, stride_qh, stride_qn, STEP)
    stride_kb, stride_kh, stride_kn = in_steps(stride_kb, stride_kh, stride_kn, STEP)
    stride_vb, stride_vh, stride_vn = in_steps(stride_vb, stride_vh, stride_vn, STEP)
    b, h, start_q = query_block(n_q, n_heads, BLOCK_Q)
    q_ptr += b * stride_qb + h * stride_qh
    h_kv = h // (n_heads // n_kv_heads)
    k_ptr += b * stride_kb + h_kv * stride_kh
    v_ptr += b * stride_vb + h_kv * stride_vh
    row = (b * n_heads + h) * n_q  # first row of o and lse_log2
    key_length = key_count(key_lengths_ptr, b, n_k)
    # Position of the first query, so that the last is at the last key; plus the lookahead.
    first_t = start_q + key_length - n_q + LOOKAHEAD
    offs_q, offs_k = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_K)
    slope = tl.load(slopes_ptr + h) if ALIBI else 0.0

    # [BLOCK_Q, d_k]  reads BLOCK_Q d_k numbers, once
    q = load_tile(q_ptr, start_q, n_q, stride_qn, stride_qd, BLOCK_Q, D_K, BLOCK_DK, True, INT64)
    if NEGATIVE:  # move the scale's sign into q, so that the largest product is the largest score
        q = -q
    m_log2 = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    l = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, BLOCK_DV], tl.float32)
    sink_stop, left, full, right, stop = key_spans(
        first_t, key_length, window, sinks, BLOCK_Q, BLOCK_K, CAUSAL, WINDOW
    )
    masked_blocks = sink_stop + (full - left) + (stop - right)
    for MASKED in tl.static_range(2):  # first the blocks that need no mask
        for index in range(0, masked_blocks if MASKED else right - full):
            start_k = nth_block(index, sink_stop, left, full, right, MASKED) * BLOCK_K
            # [BLOCK_K, d_k]  reads BLOCK_K d_k numbers
            k = load_tile(k_ptr, start_k, key_length, stride_kn, stride_kd,
                          BLOCK_K, D_K, BLOCK_DK, MASKED, INT64)  # fmt: skip
            s = tl.dot(q, tl.trans(k), input_precision=PRECISION)  # [BLOCK_Q, BLOCK_K]
            s = bounded(s, cap_scale, SOFTCAP)
            from_start_k = first_t - LOOKAHEAD - start_k + offs_q[:, None]
            s = with_alibi(s, from_start_k, offs_k[None, :], slope, score_scale, ALIBI)
            if MASKED:
                t, j = first_t + offs_q[:, None], start_k + offs_k[None, :]
                visible = is_visible(t, j, key_length, window, sinks, CAUSAL, WINDOW)
                s = tl.where(visible, s, -float("inf"))
            m_new = tl.maximum(m_log2, tl.max(s, 1) * scale_log2)
            m_safe = tl.where(m_new == -float("inf"), 0.0, m_new)  # −inf − (−inf) is NaN
            p = tl.exp2(s * scale_log2 - m_safe[:, None])
            rescale = tl.exp2(m_log2 - m_safe)
            l = l * rescale + tl.sum(p, 1)
            # [BLOCK_K, d_v]  reads BLOCK_K d_v numbers
            v = load_tile(v_ptr, start_k, key_length, stride_vn, stride_vd,
                          BLOCK_K, D_V, BLOCK_DV, MASKED, INT64)  # fmt: skip
            acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision=PRECISION)
            m_log2 = m_new

    l = tl.where(l == 0.0, 1.0, l)  # fully masked: o = 0 and lse_log2 = −inf
    # [BLOCK_Q, d_v] and [BLOCK_Q]  writes BLOCK_Q (d_v + 1) numbers, once
    store_tile(o_ptr + row * D_V, acc / l[:, None], start_q, n_q, BLOCK_Q, D_V, BLOCK_DV)
    # With a score of inf l is NaN, because inf − inf is; the sum itself is inf.
    lse_log2 = tl.where(m_log2 == float("inf"), m_log2, m_log2 + tl.log2(l))
    tl.store(lse_log2_ptr + row + start_q + offs_q, lse_log2, mask=offs_q < n_q - start_q)


def forward_launch(inputs: Inputs, o: Tensor, lse_log2: Tensor, *, capability: int) -> Launch:
    """One program for each block of queries of each head.

    Args:
        inputs: q, k, v of any strides, and what is visible
        o, lse_log2: contiguous, to be written
        capability: the chip
    Returns: the launch
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP, less the hidden blocks. Each program reads its q once and
        its visible k and v: in float16 2 B H n_q n_k (d_k + d_v) / BLOCK_Q bytes in all, mostly
        from the cache.
    """
    q = inputs.q
    tiles = forward_tiles(q.dtype, inputs.max_width, capability, inputs.changed)
    negative = inputs.scale < 0
    arguments = common_arguments(inputs._replace(scale=abs(inputs.scale)), tiles, capability)
    arguments |= dict(o_ptr=o, lse_log2_ptr=lse_log2, NEGATIVE=negative)
    # Not 0: hidden scores are −inf, and −inf * 0 is NaN.
    arguments["scale_log2"] = max(arguments["scale_log2"], torch.finfo(torch.float32).tiny)
    grid = (triton.cdiv(q.shape[2], tiles.block_q) * q.shape[0] * q.shape[1],)
    return Launch(flash_forward_kernel, grid, arguments, *tiles[2:])
