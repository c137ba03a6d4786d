"""Chunkwise linear attention with one gate for each position: decays, states, then outputs.

    S_t = g_t S_{t-1} + k_t v_t^T,   o_t = S_t^T q_t

The first kernel sums the log gates of each chunk. The second walks over the chunks and stores the
state before each of them; the third computes all chunks in parallel. The second also takes gates
for each channel.
"""

from attention_src.linear.kernel.tiles import (
    decay_between,
    decay_to_end,
    decay_whole,
    load_gates,
    load_tile,
    log2_between,
    log2_from_start,
)
from attention_src.triton_support.launch import tl, triton


@triton.jit
def chunk_decays_kernel(
    g_ptr, decays_ptr, stride_gb, stride_gh, stride_gn, n_heads, n, BLOCK_T: tl.constexpr
):
    """A program sums one chunk's log gates, once for all programs of the other kernels."""
    program = tl.program_id(0).to(tl.int64)
    n_chunks = tl.cdiv(n, BLOCK_T)
    chunk, bh = program % n_chunks, program // n_chunks
    b, h = bh // n_heads, bh % n_heads
    rows = chunk * BLOCK_T + tl.arange(0, BLOCK_T)
    at_g = g_ptr + b * stride_gb + h * stride_gh + rows * stride_gn
    # [BLOCK_T]  reads the gates, writes both parts of the sums
    high, low = log2_from_start(tl.load(at_g, mask=rows < n, other=0.0))
    at = decays_ptr + (bh * n_chunks + chunk) * 2 * BLOCK_T + tl.arange(0, BLOCK_T)
    tl.store(at, high)
    tl.store(at + BLOCK_T, low)


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

    GATES: "k" or "v", to whose channels they belong, or "one" for all channels, with g_ptr as
    `chunk_decays_kernel` wrote it. That one scales v, so that k goes to the matrix units as it was
    loaded.
    """
    program = tl.program_id(0).to(tl.int64)
    block_v, program = program % n_blocks_v, program // n_blocks_v
    block_k, bh = program % n_blocks_k, program // n_blocks_k
    b, h = bh // n_heads, bh % n_heads
    k_ptr += b * stride_kb + h * stride_kh
    v_ptr += b * stride_vb + h * stride_vh
    g_ptr += b * stride_gb + h * stride_gh
    states_ptr += bh * tl.cdiv(n, BLOCK_T) * d_k * d_v
    rows, step = tl.arange(0, BLOCK_T), tl.full([], BLOCK_T, tl.int64)
    offs_k = block_k * BLOCK_K + tl.arange(0, BLOCK_K)
    offs_v = block_v * BLOCK_V + tl.arange(0, BLOCK_V)
    offs_g = offs_k if GATES == "k" else offs_v
    mask = (offs_k < d_k)[:, None] & (offs_v < d_v)[None, :]
    at = offs_k[:, None] * d_v + offs_v[None, :]
    # [BLOCK_K, BLOCK_V]  reads the first state
    S = tl.load(start_ptr + bh * d_k * d_v + at, mask=mask, other=0.0)
    for first in range(0, n, BLOCK_T):
        left = n - first
        # [BLOCK_K, BLOCK_V]  writes a state for each chunk
        tl.store(states_ptr + at, S.to(states_ptr.dtype.element_ty), mask=mask)
        # [BLOCK_K, BLOCK_T], [BLOCK_T, BLOCK_V]  reads k and v
        k = load_tile(k_ptr, offs_k, rows, stride_kd, stride_kn, d_k, left)
        v = load_tile(v_ptr, rows, offs_v, stride_vn, stride_vd, left, d_v)
        if GATES == "one":
            # [BLOCK_T, 1], a number  reads decays
            high, low = tl.load(g_ptr + rows), tl.load(g_ptr + BLOCK_T + rows)
            high_end, low_end = tl.load(g_ptr + BLOCK_T - 1), tl.load(g_ptr + 2 * BLOCK_T - 1)
            to_end = tl.exp2(log2_between(high, low, high_end, low_end))[:, None]
            whole = tl.exp2(high_end)
            g_ptr += 2 * BLOCK_T
        else:
            # [BLOCK_T, c], [c]  reads gates twice
            g = load_gates(g_ptr, rows, offs_g, stride_gn, stride_gd, left, n_gates)
            to_end = decay_to_end(g_ptr, 0, offs_g, stride_gn, stride_gd, left, n_gates, BLOCK_T)
            whole = decay_whole(g)[:, None] if GATES == "k" else decay_whole(g)[None, :]
            g_ptr += step * stride_gn
        if GATES == "k":
            k = (k * tl.trans(to_end)).to(k.dtype)
        else:
            v = (v * to_end).to(v.dtype)
        S *= whole
        S += tl.dot(k, v, input_precision=PRECISION)
        k_ptr += step * stride_kn
        v_ptr += step * stride_vn
        states_ptr += d_k * d_v
    tl.store(last_ptr + bh * d_k * d_v + at, S, mask=mask)


@triton.jit
def chunk_outputs_kernel(
    q_ptr, k_ptr, v_ptr, decays_ptr, states_ptr, o_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd, stride_ob, stride_oh, stride_on, stride_od,
    n_heads, n, n_blocks_v, d_k: tl.constexpr, d_v: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """A program computes BLOCK_V channels of one chunk's outputs."""
    program = tl.program_id(0).to(tl.int64)
    block_v, program = program % n_blocks_v, program // n_blocks_v
    n_chunks = tl.cdiv(n, BLOCK_T)
    chunk, bh = program % n_chunks, program // n_chunks
    b, h = bh // n_heads, bh % n_heads
    first = chunk * BLOCK_T
    q_ptr += b * stride_qb + h * stride_qh + first * stride_qn
    k_ptr += b * stride_kb + h * stride_kh + first * stride_kn
    v_ptr += b * stride_vb + h * stride_vh + first * stride_vn
    decays_ptr += (bh * n_chunks + chunk) * 2 * BLOCK_T
    o_ptr += b * stride_ob + h * stride_oh + first * stride_on
    states_ptr += (bh * n_chunks + chunk) * d_k * d_v
    left = tl.minimum(n - first, BLOCK_T).to(tl.int32)  # positions in the chunk
    rows = tl.arange(0, BLOCK_T)
    offs_k = tl.arange(0, BLOCK_K)
    offs_v = block_v * BLOCK_V + tl.arange(0, BLOCK_V)
    step = tl.full([], BLOCK_K, tl.int64)
    w = tl.zeros([BLOCK_T, BLOCK_T], tl.float32)
    o = tl.zeros([BLOCK_T, BLOCK_V], tl.float32)
    for start in range(0, d_k, BLOCK_K):
        # [BLOCK_T, BLOCK_K], [BLOCK_K, BLOCK_V]  reads q, k and the state before the chunk
        q = load_tile(q_ptr, rows, offs_k, stride_qn, stride_qd, left, d_k - start)
        k = load_tile(k_ptr, rows, offs_k, stride_kn, stride_kd, left, d_k - start)
        S = load_tile(states_ptr, offs_k, offs_v, d_v, 1, d_k - start, d_v)
        w += tl.dot(q, tl.trans(k), input_precision=PRECISION)
        o += tl.dot(q, S.to(q.dtype), input_precision=PRECISION)
        q_ptr += step * stride_qd
        k_ptr += step * stride_kd
        states_ptr += step * d_v
    # [BLOCK_T, BLOCK_V], [BLOCK_T]  reads v and decays
    v = load_tile(v_ptr, rows, offs_v, stride_vn, stride_vd, left, d_v)
    high, low = tl.load(decays_ptr + rows), tl.load(decays_ptr + BLOCK_T + rows)
    w *= decay_between(high, low, BLOCK_T)
    # [BLOCK_T, BLOCK_V]  writes o
    decay = tl.exp2(high)[:, None]  # from the chunk's start
    o = o * decay + tl.dot(w.to(v.dtype), v, input_precision=PRECISION)
    mask = (rows < left)[:, None] & (offs_v < d_v)[None, :]
    at = rows.to(tl.int64)[:, None] * stride_on + offs_v[None, :] * stride_od
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=mask)
