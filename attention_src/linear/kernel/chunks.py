"""Chunkwise linear attention with one gate for each position: first the states, then the outputs.

    S_t = g_t S_{t-1} + k_t v_t^T,   o_t = S_t^T q_t

The first kernel walks over the chunks and stores the state before each of them; the second computes
all chunks in parallel. The first also takes gates for each channel.
"""

from attention_src.linear.kernel.tiles import (
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    load_gates,
    load_tile,
)
from attention_src.triton_support.launch import tl, triton


@triton.jit
def chunk_states_kernel(
    k_ptr, v_ptr, g_ptr, start_ptr, states_ptr, last_ptr,
    stride_kb, stride_kh, stride_kn, stride_kd, stride_vb, stride_vh, stride_vn, stride_vd,
    stride_gb, stride_gh, stride_gn, stride_gd,
    n_heads, n, n_blocks_k, n_blocks_v,
    d_k: tl.constexpr, d_v: tl.constexpr, n_gates: tl.constexpr, GATES: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """A program computes a [BLOCK_K, BLOCK_V] tile of one head's state.

    GATES: "k" or "v", to whose channels they belong, or "one" for all channels. That one scales v,
    so that k goes to the matrix units as it was loaded.
    """
    program = tl.program_id(0).to(tl.int64)
    block_v, program = program % n_blocks_v, program // n_blocks_v
    block_k, bh = program % n_blocks_k, program // n_blocks_k
    b, h = bh // n_heads, bh % n_heads
    k_ptr += b * stride_kb + h * stride_kh
    v_ptr += b * stride_vb + h * stride_vh
    g_ptr += b * stride_gb + h * stride_gh
    offs_k = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
    offs_v = block_v * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_g = offs_k if GATES == "k" else offs_v if GATES == "v" else tl.arange(0, 1)
    mask = (offs_k < d_k)[:, None] & (offs_v < d_v)[None, :]
    at = offs_k[:, None] * d_v + offs_v[None, :]
    n_chunks = tl.cdiv(n, BLOCK_T)
    # [BLOCK_K, BLOCK_V]  reads the first state
    S = tl.load(start_ptr + bh * d_k * d_v + at, mask=mask, other=0.0)
    for chunk in range(0, n_chunks):
        # [BLOCK_K, BLOCK_V]  writes a state for each chunk
        at_chunk = (bh * n_chunks + chunk) * d_k * d_v + at
        tl.store(states_ptr + at_chunk, S.to(states_ptr.dtype.element_ty), mask=mask)
        first = chunk * BLOCK_T
        rows = first + tl.arange(0, BLOCK_T).to(tl.int64)
        # [BLOCK_T, BLOCK_K], [BLOCK_T, BLOCK_V]  reads k, v and twice the gates
        k = load_tile(k_ptr, rows, offs_k, stride_kn, stride_kd, n, d_k)
        v = load_tile(v_ptr, rows, offs_v, stride_vn, stride_vd, n, d_v)
        g = load_gates(g_ptr, rows, offs_g, stride_gn, stride_gd, n, n_gates)
        to_end = decay_to_end(g_ptr, first, offs_g, stride_gn, stride_gd, n, n_gates, BLOCK_T)
        if GATES == "k":
            k = (k * to_end).to(k.dtype)
            S *= decay_whole(g)[:, None]
        else:
            v = (v * to_end).to(v.dtype)
            S *= decay_whole(g)[None, :]
        S += tl.dot(tl.trans(k), v, input_precision=PRECISION)
    tl.store(last_ptr + bh * d_k * d_v + at, S, mask=mask)


@triton.jit
def chunk_outputs_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, states_ptr, o_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd, stride_gb, stride_gh, stride_gn,
    stride_ob, stride_oh, stride_on, stride_od,
    n_heads, n, d_k, d_v, n_blocks_v,
    PRECISION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """A program computes BLOCK_V channels of one chunk's outputs."""
    program = tl.program_id(0).to(tl.int64)
    block_v, program = program % n_blocks_v, program // n_blocks_v
    n_chunks = tl.cdiv(n, BLOCK_T)
    chunk, bh = program % n_chunks, program // n_chunks
    b, h = bh // n_heads, bh % n_heads
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h * stride_kh
    v_ptr += b * stride_vb + h * stride_vh
    states_ptr += (bh * n_chunks + chunk) * d_k * d_v
    rows = chunk * BLOCK_T + tl.arange(0, BLOCK_T)
    offs_v = block_v * BLOCK_V + tl.arange(0, BLOCK_V)
    w = tl.zeros([BLOCK_T, BLOCK_T], tl.float32)
    o = tl.zeros([BLOCK_T, BLOCK_V], tl.float32)
    for start in range(0, d_k, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K).to(tl.int64)
        # [BLOCK_T, BLOCK_K], [BLOCK_K, BLOCK_V]  reads q, k and the state before the chunk
        q = load_tile(q_ptr, rows, offs_k, stride_qn, stride_qd, n, d_k)
        k = load_tile(k_ptr, rows, offs_k, stride_kn, stride_kd, n, d_k)
        S = load_tile(states_ptr, offs_k, offs_v, d_v, 1, d_k, d_v)
        w += tl.dot(q, tl.trans(k), input_precision=PRECISION)
        o += tl.dot(q, S.to(q.dtype), input_precision=PRECISION)
    at_g = g_ptr + b * stride_gb + h * stride_gh + rows * stride_gn
    g = tl.load(at_g, mask=rows < n, other=0.0).to(tl.float32)  # [BLOCK_T]
    w *= decay_between(g, BLOCK_T)
    # [BLOCK_T, BLOCK_V]  reads v, writes o
    v = load_tile(v_ptr, rows, offs_v, stride_vn, stride_vd, n, d_v)
    o = o * decay_from_start(g[:, None]) + tl.dot(w.to(v.dtype), v, input_precision=PRECISION)
    o_ptr += b * stride_ob + h * stride_oh
    mask = (rows < n)[:, None] & (offs_v < d_v)[None, :]
    at = rows[:, None] * stride_on + offs_v[None, :] * stride_od
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=mask)
