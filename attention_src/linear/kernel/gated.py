"""The outputs of linear attention with a gate for each channel, all chunks in parallel.

Within BLOCK_T positions the decay depends on the pair and the channel, so no matrix product can
compute it. Blocks are therefore short, and a program walks over the blocks of its chunk.
"""

from attention_src.linear.kernel.tiles import (
    decay_between_channels,
    decay_from_start,
    decay_to_end,
    decay_whole,
    load_gates,
    load_tile,
)
from attention_src.triton_support.launch import tl, triton


@triton.jit
def gated_outputs_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, states_ptr, o_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd, stride_gb, stride_gh, stride_gn, stride_gd,
    stride_ob, stride_oh, stride_on, stride_od,
    n_heads, n, d_k, d_v, n_blocks_v,
    GATES_OF_V: tl.constexpr, PRECISION: tl.constexpr, CHUNK: tl.constexpr,
    BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """A program computes BLOCK_V channels of one chunk's outputs; BLOCK_K covers d_k."""
    program = tl.program_id(0).to(tl.int64)
    block_v, program = program % n_blocks_v, program // n_blocks_v
    n_chunks = tl.cdiv(n, CHUNK)
    chunk, bh = program % n_chunks, program // n_chunks
    b, h = bh // n_heads, bh % n_heads
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h * stride_kh
    v_ptr += b * stride_vb + h * stride_vh
    g_ptr += b * stride_gb + h * stride_gh
    o_ptr += b * stride_ob + h * stride_oh
    offs_k = tl.arange(0, BLOCK_K)
    offs_v = block_v * BLOCK_V + tl.arange(0, BLOCK_V)
    # [BLOCK_K, BLOCK_V]  reads the state before the chunk
    states_ptr += (bh * n_chunks + chunk) * d_k * d_v
    S = load_tile(states_ptr, offs_k, offs_v, d_v, 1, d_k, d_v)
    stop = tl.minimum((chunk + 1) * CHUNK, n)
    for first in range(chunk * CHUNK, stop, BLOCK_T):
        rows = first + tl.arange(0, BLOCK_T).to(tl.int64)
        # [BLOCK_T, BLOCK_K], [BLOCK_T, BLOCK_V]  reads q, k, v and the gates
        q = load_tile(q_ptr, rows, offs_k, stride_qn, stride_qd, n, d_k)
        k = load_tile(k_ptr, rows, offs_k, stride_kn, stride_kd, n, d_k)
        v = load_tile(v_ptr, rows, offs_v, stride_vn, stride_vd, n, d_v)
        if GATES_OF_V:
            w = tl.dot(q, tl.trans(k), input_precision=PRECISION)  # [BLOCK_T, BLOCK_T]
            g = load_gates(g_ptr, rows, offs_v, stride_gn, stride_gd, n, d_v)
            o = tl.sum(w[:, :, None] * decay_between_channels(g, BLOCK_T) * v[None, :, :], axis=1)
            o += decay_from_start(g) * tl.dot(q, S.to(q.dtype), input_precision=PRECISION)
            if CHUNK > BLOCK_T:  # the next block needs the state
                to_end = decay_to_end(g_ptr, first, offs_v, stride_gn, stride_gd, n, d_v, BLOCK_T)
                v = (v * to_end).to(v.dtype)
                S *= decay_whole(g)[None, :]
        else:
            w = tl.zeros([BLOCK_T, BLOCK_T], tl.float32)
            for start in range(0, d_k, BLOCK_C):  # q and k again, from the cache
                offs_c = start + tl.arange(0, BLOCK_C)
                q_c = load_tile(q_ptr, rows, offs_c, stride_qn, stride_qd, n, d_k)
                k_c = load_tile(k_ptr, rows, offs_c, stride_kn, stride_kd, n, d_k)
                g_c = load_gates(g_ptr, rows, offs_c, stride_gn, stride_gd, n, d_k)
                pairs = q_c.to(tl.float32)[:, None, :] * k_c[None, :, :]  # [T, T, BLOCK_C]
                w += tl.sum(pairs * decay_between_channels(g_c, BLOCK_T), axis=2)
            g = load_gates(g_ptr, rows, offs_k, stride_gn, stride_gd, n, d_k)
            q = (q * decay_from_start(g)).to(q.dtype)
            o = tl.dot(w.to(v.dtype), v, input_precision=PRECISION)
            o += tl.dot(q, S.to(q.dtype), input_precision=PRECISION)
            if CHUNK > BLOCK_T:
                to_end = decay_to_end(g_ptr, first, offs_k, stride_gn, stride_gd, n, d_k, BLOCK_T)
                k = (k * to_end).to(k.dtype)
                S *= decay_whole(g)[:, None]
        if CHUNK > BLOCK_T:
            S += tl.dot(tl.trans(k), v, input_precision=PRECISION)
        # [BLOCK_T, BLOCK_V]  writes o
        mask = (rows < n)[:, None] & (offs_v < d_v)[None, :]
        at = rows[:, None] * stride_on + offs_v[None, :] * stride_od
        tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=mask)
