"""The selective scan's two kernels: the forward, and all gradients backward in time.

A program computes BLOCK_D channels of one sequence and walks over its tokens, BLOCK_T at a time.
One associative scan gives all states of such a tile; between tiles the state stays in registers.
No state is stored, except one before each tile for the backward.
"""

from attention_src.triton_support.launch import tl, triton

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _compose(a_first, b_first, a_then, b_then):
    """h -> a_first h + b_first, then h -> a_then h + b_then, as one step (a, b)."""
    return a_then * a_first, a_then * b_first + b_then


@triton.jit
def _load(ptr, stride_row, stride_column, rows, columns, mask):
    """[rows, columns] of a matrix in float32; 0 where masked."""
    offsets = rows[:, None] * stride_row + columns[None, :] * stride_column
    return tl.load(ptr + offsets, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _row(x, index, BLOCK_T: tl.constexpr):
    """Row `index` of a tile [BLOCK_T, BLOCK_D, BLOCK_N]."""
    rows = tl.arange(0, BLOCK_T)[:, None, None]
    return tl.sum(tl.where(rows == index, x, 0.0), axis=0)


@triton.jit
def selective_scan_forward_kernel(
    x_ptr, dt_ptr, A_ptr, B_ptr, C_ptr, D_ptr, start_ptr, y_ptr, last_ptr, states_ptr,
    stride_xb, stride_xt, stride_xd, stride_tb, stride_tt, stride_td, stride_Ad, stride_AN,
    stride_Bb, stride_Bt, stride_BN, stride_Cb, stride_Ct, stride_CN,
    n, d, N, n_blocks,
    STATES: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """y and the last state; with STATES only the state before each tile, for the backward."""
    b = (tl.program_id(0) // n_blocks).to(tl.int64)
    offs_d = (tl.program_id(0) % n_blocks).to(tl.int64) * BLOCK_D + tl.arange(0, BLOCK_D)
    offs_N = tl.arange(0, BLOCK_N).to(tl.int64)
    mask_d, mask_N = offs_d < d, offs_N < N
    mask_h = mask_d[:, None] & mask_N[None, :]
    at_h = offs_d[:, None] * N + offs_N[None, :]
    # [BLOCK_D, BLOCK_N]  reads A and the first state once
    A = _load(A_ptr, stride_Ad, stride_AN, offs_d, offs_N, mask_h)
    h = tl.load(start_ptr + b * d * N + at_h, mask=mask_h, other=0.0)
    skip = tl.load(D_ptr + offs_d, mask=mask_d, other=0.0).to(tl.float32)
    for start in range(0, n, BLOCK_T):
        offs_t = start + tl.arange(0, BLOCK_T).to(tl.int64)
        mask_t = offs_t < n
        mask = mask_t[:, None] & mask_d[None, :]
        mask_B = mask_t[:, None] & mask_N[None, :]
        if STATES:
            # [BLOCK_D, BLOCK_N]  writes a state for each tile
            tile = b * tl.cdiv(n, BLOCK_T) + start // BLOCK_T
            tl.store(states_ptr + tile * d * N + at_h, h, mask=mask_h)
        # [BLOCK_T, BLOCK_D] and [BLOCK_T, BLOCK_N]  reads x, dt and B once. Past the end dt is 0:
        # such a step leaves the state as it is.
        x = _load(x_ptr + b * stride_xb, stride_xt, stride_xd, offs_t, offs_d, mask)
        dt = _load(dt_ptr + b * stride_tb, stride_tt, stride_td, offs_t, offs_d, mask)
        B = _load(B_ptr + b * stride_Bb, stride_Bt, stride_BN, offs_t, offs_N, mask_B)
        # [BLOCK_T, BLOCK_D, BLOCK_N]  what each step keeps and writes
        keep = tl.exp2(dt[:, :, None] * (A * LOG2_E)[None, :, :])
        write = (dt * x)[:, :, None] * B[:, None, :]
        keep, write = tl.associative_scan((keep, write), 0, _compose)
        states = keep * h[None, :, :] + write
        if not STATES:
            # [BLOCK_T, BLOCK_D]  reads C, writes y
            C = _load(C_ptr + b * stride_Cb, stride_Ct, stride_CN, offs_t, offs_N, mask_B)
            y = tl.sum(states * C[:, None, :], axis=2) + skip[None, :] * x
            at_y = (b * n + offs_t[:, None]) * d + offs_d[None, :]
            tl.store(y_ptr + at_y, y.to(y_ptr.dtype.element_ty), mask=mask)
        h = _row(states, BLOCK_T - 1, BLOCK_T)
    if not STATES:
        tl.store(last_ptr + b * d * N + at_h, h, mask=mask_h)


@triton.jit
def selective_scan_backward_kernel(
    x_ptr, dt_ptr, A_ptr, B_ptr, C_ptr, D_ptr, states_ptr, dy_ptr, dlast_ptr,
    dx_ptr, ddt_ptr, dA_ptr, dB_ptr, dC_ptr, dD_ptr, dstart_ptr,
    stride_xb, stride_xt, stride_xd, stride_tb, stride_tt, stride_td, stride_Ad, stride_AN,
    stride_Bb, stride_Bt, stride_BN, stride_Cb, stride_Ct, stride_CN,
    n, d, N, n_blocks,
    BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """All gradients, from the last tile to the first; g is the gradient of each state.

    dB and dC are sums over all channels: each program writes its own part, [n_blocks, B, n, N].
    """
    b = (tl.program_id(0) // n_blocks).to(tl.int64)
    block = (tl.program_id(0) % n_blocks).to(tl.int64)
    offs_d = block * BLOCK_D + tl.arange(0, BLOCK_D)
    offs_N = tl.arange(0, BLOCK_N).to(tl.int64)
    mask_d, mask_N = offs_d < d, offs_N < N
    mask_h = mask_d[:, None] & mask_N[None, :]
    at_h = offs_d[:, None] * N + offs_N[None, :]
    n_tiles = tl.cdiv(n, BLOCK_T)
    share = block * (tl.num_programs(0) // n_blocks) + b  # of dB and dC
    # [BLOCK_D, BLOCK_N]  reads A and the last state's gradient once
    A = _load(A_ptr, stride_Ad, stride_AN, offs_d, offs_N, mask_h)
    A_log2 = (A * LOG2_E)[None, :, :]
    g_next = tl.load(dlast_ptr + b * d * N + at_h, mask=mask_h, other=0.0)
    skip = tl.load(D_ptr + offs_d, mask=mask_d, other=0.0).to(tl.float32)
    dA = tl.zeros([BLOCK_D, BLOCK_N], tl.float32)
    dD = tl.zeros([BLOCK_D], tl.float32)
    x_ptr += b * stride_xb
    dt_ptr += b * stride_tb
    B_ptr += b * stride_Bb
    C_ptr += b * stride_Cb
    for done in range(0, n_tiles):
        tile = n_tiles - 1 - done
        first = tl.arange(0, BLOCK_T) == 0
        offs_t = (tile * BLOCK_T + tl.arange(0, BLOCK_T)).to(tl.int64)
        mask_t = offs_t < n
        mask = mask_t[:, None] & mask_d[None, :]
        mask_B = mask_t[:, None] & mask_N[None, :]
        # [BLOCK_T, BLOCK_D] and [BLOCK_T, BLOCK_N]  reads x, dt, dy, B and C once
        x = _load(x_ptr, stride_xt, stride_xd, offs_t, offs_d, mask)
        dt = _load(dt_ptr, stride_tt, stride_td, offs_t, offs_d, mask)
        dy = _load(dy_ptr + b * n * d, d, 1, offs_t, offs_d, mask)
        B = _load(B_ptr, stride_Bt, stride_BN, offs_t, offs_N, mask_B)
        C = _load(C_ptr, stride_Ct, stride_CN, offs_t, offs_N, mask_B)
        # The state before each step: the same scan, one token earlier (still in the cache). The
        # tile's first row leaves the state as it is.
        mask_p = mask & ~first[:, None]
        x_p = _load(x_ptr - stride_xt, stride_xt, stride_xd, offs_t, offs_d, mask_p)
        dt_p = _load(dt_ptr - stride_tt, stride_tt, stride_td, offs_t, offs_d, mask_p)
        mask_p = mask_B & ~first[:, None]
        B_p = _load(B_ptr - stride_Bt, stride_Bt, stride_BN, offs_t, offs_N, mask_p)
        h = tl.load(states_ptr + (b * n_tiles + tile) * d * N + at_h, mask=mask_h, other=0.0)
        keep = tl.exp2(dt_p[:, :, None] * A_log2)
        keep, write = tl.associative_scan(
            (keep, (dt_p * x_p)[:, :, None] * B_p[:, None, :]), 0, _compose
        )
        before = keep * h[None, :, :] + write  # [BLOCK_T, BLOCK_D, BLOCK_N]
        # g_t = C_t dy_t + keep_{t+1} g_{t+1}: a scan from the end. g_next already includes what the
        # next tile's first step keeps.
        inside = (tl.arange(0, BLOCK_T) < BLOCK_T - 1) & (offs_t + 1 < n)
        mask_n = inside[:, None] & mask_d[None, :]
        dt_n = _load(dt_ptr + stride_tt, stride_tt, stride_td, offs_t, offs_d, mask_n)
        keep_n = tl.exp2(dt_n[:, :, None] * A_log2)
        keep_n, write = tl.associative_scan(
            (keep_n, dy[:, :, None] * C[:, None, :]), 0, _compose, reverse=True
        )
        g = keep_n * g_next[None, :, :] + write  # [BLOCK_T, BLOCK_D, BLOCK_N]
        keep = tl.exp2(dt[:, :, None] * A_log2)
        after = keep * before + (dt * x)[:, :, None] * B[:, None, :]
        g_next = _row(keep * g, 0, BLOCK_T)
        z = g * keep * before  # the gradient of dt A
        g_B = tl.sum(g * B[:, None, :], axis=2)  # [BLOCK_T, BLOCK_D]
        dA += tl.sum(z * dt[:, :, None], axis=0)
        dD += tl.sum(dy * x, axis=0)
        # [BLOCK_T, BLOCK_D]  writes dx and ddt; [BLOCK_T, BLOCK_N]  writes this part of dB and dC
        at = (b * n + offs_t[:, None]) * d + offs_d[None, :]
        dx = dt * g_B + skip[None, :] * dy
        ddt = tl.sum(z * A[None, :, :], axis=2) + x * g_B
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        tl.store(ddt_ptr + at, ddt.to(ddt_ptr.dtype.element_ty), mask=mask)
        at = (share * n + offs_t[:, None]) * N + offs_N[None, :]
        tl.store(dB_ptr + at, tl.sum(g * (dt * x)[:, :, None], axis=1), mask=mask_B)
        tl.store(dC_ptr + at, tl.sum(after * dy[:, :, None], axis=1), mask=mask_B)
    tl.store(dA_ptr + b * d * N + at_h, dA, mask=mask_h)
    tl.store(dD_ptr + b * d + offs_d, dD, mask=mask_d)
    tl.store(dstart_ptr + b * d * N + at_h, g_next, mask=mask_h)
