"""Flash attention backward: dq, dk, dv tile by tile, with the weights recomputed from lse_log2."""

import math

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
    query_spans,
    store_tile,
    with_alibi,
)
from attention_src.flash.kernel.config import Inputs, common_arguments
from attention_src.flash.kernel.tiles import dkdv_tiles, dq_tiles
from attention_src.triton_support.launch import Launch, tl, triton

LOG2E = tl.constexpr(math.log2(math.e))


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, key_lengths_ptr, slopes_ptr, o_ptr, lse_log2_ptr, do_ptr, dlse_log2_ptr,
    lse_padded_ptr, delta_ptr, dq_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_dob, stride_doh, stride_don, stride_dod,
    n_heads, n_kv_heads, n_q, n_k, n_padded, window, sinks,
    scale, cap_scale, score_scale, scale_log2,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    LOOKAHEAD: tl.constexpr, PRECISION: tl.constexpr,
    D_K: tl.constexpr, D_V: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, STEP: tl.constexpr, INT64: tl.constexpr,
):  # fmt: skip
    stride_qb, stride_qh, stride_qn = in_steps(stride_qb, stride_qh, stride_qn, STEP)
    stride_kb, stride_kh, stride_kn = in_steps(stride_kb, stride_kh, stride_kn, STEP)
    stride_vb, stride_vh, stride_vn = in_steps(stride_vb, stride_vh, stride_vn, STEP)
    stride_dob, stride_doh, stride_don = in_steps(stride_dob, stride_doh, stride_don, STEP)
    b, h, start_q = query_block(n_q, n_heads, BLOCK_Q)
    q_ptr += b * stride_qb + h * stride_qh
    h_kv = h // (n_heads // n_kv_heads)
    k_ptr += b * stride_kb + h_kv * stride_kh
    v_ptr += b * stride_vb + h_kv * stride_vh
    do_ptr += b * stride_dob + h * stride_doh
    row = (b * n_heads + h) * n_q  # first row of o, lse_log2, dlse_log2 and dq
    key_length = key_count(key_lengths_ptr, b, n_k)
    first_t = start_q + key_length - n_q + LOOKAHEAD
    offs_q, offs_k = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_K)
    slope = tl.load(slopes_ptr + h) if ALIBI else 0.0

    # [BLOCK_Q, d_k] and twice [BLOCK_Q, d_v]  reads BLOCK_Q (d_k + 2 d_v) numbers, once
    q = load_tile(q_ptr, start_q, n_q, stride_qn, stride_qd, BLOCK_Q, D_K, BLOCK_DK, True, INT64)
    do = load_tile(do_ptr, start_q, n_q, stride_don, stride_dod,
                   BLOCK_Q, D_V, BLOCK_DV, True, INT64)  # fmt: skip
    o = load_tile(o_ptr + row * D_V, start_q, n_q, D_V, 1, BLOCK_Q, D_V, BLOCK_DV, True, INT64)
    # [BLOCK_Q]  reads 2 BLOCK_Q numbers; writes 2 BLOCK_Q, for flash_dkdv_kernel
    inside = offs_q < n_q - start_q
    # From the scores on all is in base 2: what is large loses digits when it changes its base.
    lse_log2 = tl.load(lse_log2_ptr + row + start_q + offs_q, mask=inside, other=-float("inf"))
    dlse = LOG2E * tl.load(dlse_log2_ptr + row + start_q + offs_q, mask=inside, other=0.0)
    fully_masked = lse_log2 == -float("inf")  # then p = exp2(s − inf) = 0, and no gradient
    lse_log2 = tl.where(lse_log2 == float("inf"), float("nan"), lse_log2)  # as p is
    lse_log2 = tl.where(fully_masked, float("inf"), lse_log2)
    delta = tl.where(fully_masked, 0.0, tl.sum(o.to(tl.float32) * do.to(tl.float32), 1) - dlse)
    padded = (b * n_heads + h) * n_padded + start_q
    tl.store(lse_padded_ptr + padded + offs_q, lse_log2)
    tl.store(delta_ptr + padded + offs_q, delta)

    dq = tl.zeros([BLOCK_Q, BLOCK_DK], tl.float32)
    sink_stop, left, full, right, stop = key_spans(
        first_t, key_length, window, sinks, BLOCK_Q, BLOCK_K, CAUSAL, WINDOW
    )
    masked_blocks = sink_stop + (full - left) + (stop - right)
    for MASKED in tl.static_range(2):  # first the blocks that need no mask
        for index in range(0, masked_blocks if MASKED else right - full):
            start_k = nth_block(index, sink_stop, left, full, right, MASKED) * BLOCK_K
            # [BLOCK_K, d_k] and [BLOCK_K, d_v]  reads BLOCK_K (d_k + d_v) numbers
            k = load_tile(k_ptr, start_k, key_length, stride_kn, stride_kd,
                          BLOCK_K, D_K, BLOCK_DK, MASKED, INT64)  # fmt: skip
            v = load_tile(v_ptr, start_k, key_length, stride_vn, stride_vd,
                          BLOCK_K, D_V, BLOCK_DV, MASKED, INT64)  # fmt: skip
            s = tl.dot(q, tl.trans(k), input_precision=PRECISION)  # [BLOCK_Q, BLOCK_K]
            tanh = bounded(s, cap_scale, SOFTCAP)
            from_start_k = first_t - LOOKAHEAD - start_k + offs_q[:, None]
            s = with_alibi(tanh, from_start_k, offs_k[None, :], slope, score_scale, ALIBI)
            log2_p = s * scale_log2 - lse_log2[:, None]
            if MASKED:
                t, j = first_t + offs_q[:, None], start_k + offs_k[None, :]
                visible = is_visible(t, j, key_length, window, sinks, CAUSAL, WINDOW)
                log2_p = tl.where(visible, log2_p, -float("inf"))
            p = tl.exp2(log2_p)
            if SOFTCAP:  # the derivative of tanh, for ds
                p *= 1.0 - tanh * tanh
            # [BLOCK_Q, BLOCK_K]  dp − delta: the accumulator starts at −delta
            dp = tl.broadcast_to(-delta[:, None], (BLOCK_Q, BLOCK_K))
            dp = tl.dot(do, tl.trans(v), dp, input_precision=PRECISION)
            ds = p * dp
            dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=PRECISION)
    # [BLOCK_Q, d_k]  writes BLOCK_Q d_k numbers, once
    store_tile(dq_ptr + row * D_K, dq * scale, start_q, n_q, BLOCK_Q, D_K, BLOCK_DK)


@triton.jit
def flash_dkdv_kernel(
    q_ptr, k_ptr, v_ptr, key_lengths_ptr, slopes_ptr, do_ptr, lse_padded_ptr, delta_ptr,
    dk_ptr, dv_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_dob, stride_doh, stride_don, stride_dod,
    n_heads, n_kv_heads, n_q, n_k, n_padded, window, sinks,
    scale, cap_scale, score_scale, scale_log2,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    LOOKAHEAD: tl.constexpr, PRECISION: tl.constexpr,
    D_K: tl.constexpr, D_V: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    GROUP: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, STEP: tl.constexpr,
    INT64: tl.constexpr,
):  # fmt: skip
    stride_qb, stride_qh, stride_qn = in_steps(stride_qb, stride_qh, stride_qn, STEP)
    stride_kb, stride_kh, stride_kn = in_steps(stride_kb, stride_kh, stride_kn, STEP)
    stride_vb, stride_vh, stride_vn = in_steps(stride_vb, stride_vh, stride_vn, STEP)
    stride_dob, stride_doh, stride_don = in_steps(stride_dob, stride_doh, stride_don, STEP)
    # The first keys of a causal head are visible to the most queries: longest programs first.
    n_blocks = tl.cdiv(n_k, BLOCK_K)
    start_k = tl.program_id(0) % n_blocks * BLOCK_K
    head = tl.program_id(0) // n_blocks
    b, h_kv = (head // n_kv_heads).to(tl.int64), (head % n_kv_heads).to(tl.int64)
    k_ptr += b * stride_kb + h_kv * stride_kh
    v_ptr += b * stride_vb + h_kv * stride_vh
    h = h_kv * GROUP  # the first of the query heads that share these keys
    q_ptr += b * stride_qb + h * stride_qh
    do_ptr += b * stride_dob + h * stride_doh
    lse_padded_ptr += (b * n_heads + h) * n_padded
    delta_ptr += (b * n_heads + h) * n_padded
    row_k = head.to(tl.int64) * n_k  # first row of dk and dv
    key_length = key_count(key_lengths_ptr, b, n_k)
    shift = key_length - n_q + LOOKAHEAD  # query i is at position i + shift - LOOKAHEAD
    offs_q, offs_k = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_K)

    # [BLOCK_K, d_k] and [BLOCK_K, d_v]  reads BLOCK_K (d_k + d_v) numbers, once
    k = load_tile(k_ptr, start_k, key_length, stride_kn, stride_kd,
                  BLOCK_K, D_K, BLOCK_DK, True, INT64)  # fmt: skip
    v = load_tile(v_ptr, start_k, key_length, stride_vn, stride_vd,
                  BLOCK_K, D_V, BLOCK_DV, True, INT64)  # fmt: skip
    dk = tl.zeros([BLOCK_K, BLOCK_DK], tl.float32)
    dv = tl.zeros([BLOCK_K, BLOCK_DV], tl.float32)
    first, full, right, stop = query_spans(
        start_k, shift, n_q, key_length, window, sinks, BLOCK_Q, BLOCK_K, CAUSAL, WINDOW
    )
    masked_blocks = (full - first) + (stop - right)
    for MASKED in tl.static_range(2):  # first the blocks that need no mask
        # One loop over blocks of queries and heads of the group, so that loads are in flight
        # across heads too.
        for index in range(0, (masked_blocks if MASKED else right - full) * GROUP):
            member = index % GROUP
            if INT64:
                member = tl.cast(member, tl.int64)
            start_q = nth_block(index // GROUP, 0, first, full, right, MASKED) * BLOCK_Q
            row = member * n_padded + start_q  # first row of lse_padded and delta
            # [BLOCK_Q, d_k] and [BLOCK_Q]  reads BLOCK_Q (d_k + 1) numbers
            q = load_tile(q_ptr + member * stride_qh, start_q, n_q, stride_qn, stride_qd,
                          BLOCK_Q, D_K, BLOCK_DK, MASKED, INT64)  # fmt: skip
            lse_log2 = tl.load(lse_padded_ptr + row + offs_q)
            s = tl.dot(k, tl.trans(q), input_precision=PRECISION)  # [BLOCK_K, BLOCK_Q]
            slope = tl.load(slopes_ptr + h + member) if ALIBI else 0.0
            tanh = bounded(s, cap_scale, SOFTCAP)
            from_start_k = start_q + shift - LOOKAHEAD - start_k + offs_q[None, :]
            s = with_alibi(tanh, from_start_k, offs_k[:, None], slope, score_scale, ALIBI)
            log2_p = s * scale_log2 - lse_log2[None, :]
            if MASKED:
                t, j = start_q + shift + offs_q[None, :], start_k + offs_k[:, None]
                visible = is_visible(t, j, key_length, window, sinks, CAUSAL, WINDOW)
                log2_p = tl.where(visible, log2_p, -float("inf"))
            p = tl.exp2(log2_p)
            # [BLOCK_Q, d_v] and [BLOCK_Q]  reads BLOCK_Q (d_v + 1) numbers
            do = load_tile(do_ptr + member * stride_doh, start_q, n_q, stride_don, stride_dod,
                           BLOCK_Q, D_V, BLOCK_DV, MASKED, INT64)  # fmt: skip
            delta = tl.load(delta_ptr + row + offs_q)
            dv = tl.dot(p.to(do.dtype), do, dv, input_precision=PRECISION)
            if SOFTCAP:  # the derivative of tanh, for ds
                p *= 1.0 - tanh * tanh
            # [BLOCK_K, BLOCK_Q]  dp − delta
            dp = tl.broadcast_to(-delta[None, :], (BLOCK_K, BLOCK_Q))
            dp = tl.dot(v, tl.trans(do), dp, input_precision=PRECISION)
            ds = p * dp
            dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=PRECISION)
    # [BLOCK_K, d_k] and [BLOCK_K, d_v]  writes BLOCK_K (d_k + d_v) numbers, once
    store_tile(dk_ptr + row_k * D_K, dk * scale, start_k, n_k, BLOCK_K, D_K, BLOCK_DK)
    store_tile(dv_ptr + row_k * D_V, dv, start_k, n_k, BLOCK_K, D_V, BLOCK_DV)


def dq_launch(
    inputs: Inputs, o: Tensor, lse_log2: Tensor, do: Tensor, dlse_log2: Tensor,
    lse_padded: Tensor, delta: Tensor, dq: Tensor, *, capability: int,
) -> Launch:  # fmt: skip
    """One program for each block of queries of each head.

    Args:
        inputs: as for the forward launch
        o, lse_log2, dlse_log2: contiguous
        do: any strides
        lse_padded, delta: float32 [B, H, n_padded], contiguous, to be written, for `dkdv_launch`;
            n_padded is n_q rounded up to a multiple of MAX_TILE_ROWS
        dq: [B, H, n_q, d_k], contiguous, to be written
        capability: the chip
    Returns: the launch
    Cost: 2 B H n_q n_k (2 d_k + d_v) FLOP, less the hidden blocks.
    """
    q = inputs.q
    tiles = dq_tiles(q.dtype, inputs.max_width, capability, inputs.changed)
    arguments = common_arguments(inputs, tiles, capability, do=do)
    arguments |= dict(o_ptr=o, lse_log2_ptr=lse_log2, dlse_log2_ptr=dlse_log2)
    arguments |= dict(lse_padded_ptr=lse_padded, delta_ptr=delta, dq_ptr=dq)
    arguments |= dict(n_padded=delta.shape[2], scale=inputs.scale)
    grid = (triton.cdiv(q.shape[2], tiles.block_q) * q.shape[0] * q.shape[1],)
    return Launch(flash_dq_kernel, grid, arguments, *tiles[2:])


def dkdv_launch(
    inputs: Inputs, do: Tensor, lse_padded: Tensor, delta: Tensor, dk: Tensor, dv: Tensor,
    *, capability: int,
) -> Launch:  # fmt: skip
    """One program for each block of keys of each key/value head, after `dq_launch` has run.

    A program sums over the query heads that share its keys, in a fixed order: no copies of k and v,
    no atomics, and the same bits on every run.

    Args:
        inputs: as for the forward launch
        do: any strides
        lse_padded, delta: as `dq_launch` wrote them
        dk: [B, H_kv, n_k, d_k], contiguous, to be written
        dv: [B, H_kv, n_k, d_v], contiguous, to be written
        capability: the chip
    Returns: the launch
    Cost: 4 B H n_q n_k (d_k + d_v) FLOP, less the hidden blocks.
    """
    k = inputs.k
    tiles = dkdv_tiles(k.dtype, inputs.max_width, capability, inputs.changed)
    arguments = common_arguments(inputs, tiles, capability, do=do)
    arguments |= dict(lse_padded_ptr=lse_padded, delta_ptr=delta, dk_ptr=dk, dv_ptr=dv)
    arguments |= dict(n_padded=delta.shape[2], scale=inputs.scale, GROUP=inputs.group)
    grid = (triton.cdiv(k.shape[2], tiles.block_k) * k.shape[0] * k.shape[1],)
    return Launch(flash_dkdv_kernel, grid, arguments, *tiles[2:])
