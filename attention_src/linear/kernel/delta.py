"""The delta rule, chunk by chunk, with one gate for each position.

    S_t = g_t S_{t-1} + beta_t k_t (v_t - g_t S_{t-1}^T k_t)^T,   o_t = S_t^T q_t

What position i adds depends on what earlier positions of its chunk added: a triangular system.
"""

from attention_src.linear.kernel.tiles import decay_between, load_tile, log2_from_start
from attention_src.triton_support.launch import tl, triton


@triton.jit
def solve(A, target, T: tl.constexpr):
    """x [T, c] of (I + A) x = target, for a strictly lower triangular A [T, T].

    Row by row, x_i = target_i - sum_{j<i} A_ij x_j. Powers of A would take fewer steps, but lose
    all digits where keys are nearly equal.
    """
    i = tl.arange(0, T)[:, None]
    for row in range(1, T):
        a = tl.sum(tl.where(i == row, A, 0.0), axis=0)  # [T]  this row of A, 0 from column `row` on
        correction = tl.sum(a[:, None] * target, axis=0)  # [c]
        target = tl.where(i == row, target - correction[None, :], target)
    return target


@triton.jit
def delta_forward_kernel(
    q_ptr, k_ptr, v_ptr, beta_ptr, g_ptr, o_ptr, last_ptr,
    stride_qb, stride_qh, stride_qn, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd, stride_betab, stride_betah, stride_betan,
    stride_gb, stride_gh, stride_gn,
    n_heads, n, d_k, d_v, n_blocks_v,
    PRECISION: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """A program computes BLOCK_V columns of one head's state.

    q, k and whole columns would not fit in registers. So the columns stay in `last`, which the
    cache holds, and are loaded BLOCK_K rows at a time. No load may be moved ahead of the stores of
    the chunk before, so these loops have one stage whatever the launch says.
    """
    program = tl.program_id(0).to(tl.int64)
    block_v, bh = program % n_blocks_v, program // n_blocks_v
    b, h = bh // n_heads, bh % n_heads
    q_ptr += b * stride_qb + h * stride_qh
    k_ptr += b * stride_kb + h * stride_kh
    v_ptr += b * stride_vb + h * stride_vh
    beta_ptr += b * stride_betab + h * stride_betah
    g_ptr += b * stride_gb + h * stride_gh
    last_ptr += bh * d_k * d_v
    offs_v = block_v * BLOCK_V + tl.arange(0, BLOCK_V)
    below = tl.arange(0, BLOCK_T)[:, None] > tl.arange(0, BLOCK_T)[None, :]
    for first in tl.range(0, n, BLOCK_T, num_stages=1):
        rows = first + tl.arange(0, BLOCK_T).to(tl.int64)
        overlap = tl.zeros([BLOCK_T, BLOCK_T], tl.float32)
        w = tl.zeros([BLOCK_T, BLOCK_T], tl.float32)
        held = tl.zeros([BLOCK_T, BLOCK_V], tl.float32)
        o = tl.zeros([BLOCK_T, BLOCK_V], tl.float32)
        for start_k in tl.range(0, d_k, BLOCK_K, num_stages=1):
            offs_k = start_k + tl.arange(0, BLOCK_K).to(tl.int64)
            # [BLOCK_T, BLOCK_K], [BLOCK_K, BLOCK_V]  reads q and k, and the state from the cache
            q = load_tile(q_ptr, rows, offs_k, stride_qn, stride_qd, n, d_k)
            k = load_tile(k_ptr, rows, offs_k, stride_kn, stride_kd, n, d_k)
            S = load_tile(last_ptr, offs_k, offs_v, d_v, 1, d_k, d_v).to(k.dtype)
            overlap += tl.dot(k, tl.trans(k), input_precision=PRECISION)
            w += tl.dot(q, tl.trans(k), input_precision=PRECISION)
            held += tl.dot(k, S, input_precision=PRECISION)
            o += tl.dot(q, S, input_precision=PRECISION)
        beta = tl.load(beta_ptr + rows * stride_betan, mask=rows < n, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + rows * stride_gn, mask=rows < n, other=0.0).to(tl.float32)
        high, low = log2_from_start(g)  # [T]
        between = decay_between(high, low, BLOCK_T)  # [T, T]
        from_start = tl.exp2(high)[:, None]
        # [BLOCK_T, BLOCK_V]  reads v; added replaces what the state holds for the keys
        v = load_tile(v_ptr, rows, offs_v, stride_vn, stride_vd, n, d_v)
        target = beta[:, None] * (v.to(tl.float32) - from_start * held)
        overlap = tl.where(below, beta[:, None] * overlap * between, 0.0)
        added = solve(overlap, target, BLOCK_T).to(v.dtype)
        o = from_start * o + tl.dot((w * between).to(v.dtype), added, input_precision=PRECISION)
        # [BLOCK_T, BLOCK_V]  writes o
        mask = (rows < n)[:, None] & (offs_v < d_v)[None, :]
        at_o = (bh * n + rows[:, None]) * d_v + offs_v[None, :]
        tl.store(o_ptr + at_o, o.to(o_ptr.dtype.element_ty), mask=mask)
        last_row = tl.arange(0, BLOCK_T)[:, None] == BLOCK_T - 1
        to_end = tl.sum(tl.where(last_row, between, 0.0), axis=0)  # [T]
        whole = tl.exp(tl.sum(g, axis=0))
        tl.debug_barrier()  # all threads have read the old state
        for start_k in tl.range(0, d_k, BLOCK_K, num_stages=1):
            offs_k = start_k + tl.arange(0, BLOCK_K).to(tl.int64)
            k = load_tile(k_ptr, rows, offs_k, stride_kn, stride_kd, n, d_k)
            k = tl.trans((k * to_end[:, None]).to(k.dtype))
            S = whole * load_tile(last_ptr, offs_k, offs_v, d_v, 1, d_k, d_v)
            S += tl.dot(k, added, input_precision=PRECISION)
            mask = (offs_k < d_k)[:, None] & (offs_v < d_v)[None, :]
            # [BLOCK_K, BLOCK_V]  writes the new state to the cache
            tl.store(last_ptr + offs_k[:, None] * d_v + offs_v[None, :], S, mask=mask)
        tl.debug_barrier()  # all threads have written the new one
