"""Decoding over keys and values in int8: half the bytes of fp16, so nearly half the time.

A row of the cache is a scale times int8 numbers, so both scales move out of the matrix products: a
key's scale multiplies its score, a value's its weight. Int8 numbers are exact in every dtype.

With half the bytes to load, the arithmetic must be cheap too. A matrix unit needs the values of
neighbouring keys side by side, and shared memory can transpose only 16-bit numbers. So values are
read as pairs of int8 in an int16, with one product for even and one for odd components.
"""

from attention_src.kvcache.kernel.steps import (
    load_rows,
    online_softmax_step,
    program,
    split_range,
    store_split,
)
from attention_src.triton_support.launch import tl, triton


@triton.jit
def low_byte(x, WIDE: tl.constexpr):
    """The int8 in the low half of an int16: in fp32 if WIDE, else times 2**-24 in fp16.

    Conversion is slow. But the bits of a small integer n, read as fp16, already mean n * 2**-24: a
    subnormal number, and exact.
    """
    if WIDE:
        y = (x << 8 >> 8).to(tl.float32)
    else:
        magnitude, sign = x & 0x7F, x & 0x80
        y = magnitude.to(tl.float16, bitcast=True) - sign.to(tl.float16, bitcast=True)
    return y


@triton.jit
def scores_int8(q, k, k_scale, scale_log2, PRECISION: tl.constexpr):
    """[BLOCK_G, BLOCK_K]  base-2 scores of q [BLOCK_G, BLOCK_DK] and int8 k [BLOCK_K, BLOCK_DK]."""
    s_log2 = tl.dot(q, tl.trans(k.to(q.dtype)), input_precision=PRECISION)
    return s_log2 * (k_scale * scale_log2)[None, :]


@triton.jit
def accumulate_int8(
    s_log2, v, v_scale, o_even, o_odd, m_log2, l, WIDE: tl.constexpr, PRECISION: tl.constexpr
):
    """Add a block of scores [BLOCK_G, BLOCK_K] and pairs v [BLOCK_K, BLOCK_DV / 2] to o, m and l.

    Scales are divided by the block's largest before they multiply weights, so that the product of a
    weight and a small scale does not underflow in fp16.
    """
    p, rescale, m_log2, l = online_softmax_step(s_log2, m_log2, l)
    largest = tl.max(tl.abs(v_scale), 0)
    p *= (v_scale / tl.where(largest == 0.0, 1.0, largest))[None, :]
    if not WIDE:
        p = p.to(tl.float16)
        largest *= 16777216.0  # 2**24: see low_byte
    even = tl.dot(p, low_byte(v, WIDE), input_precision=PRECISION)  # [BLOCK_G, BLOCK_DV / 2]
    odd = tl.dot(p, low_byte(v >> 8, WIDE), input_precision=PRECISION)
    o_even = o_even * rescale[:, None] + even * largest
    o_odd = o_odd * rescale[:, None] + odd * largest
    return o_even, o_odd, m_log2, l


@triton.jit
def decode_int8_kernel(
    q_ptr, k_ptr, k_scale_ptr, v_ptr, v_scale_ptr, lengths_ptr, o_ptr, lse_log2_ptr,
    stride_qb, stride_qh, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_ksb, stride_ksh, stride_ksn,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_vsb, stride_vsh, stride_vsn,
    n_splits, n_tiles, n_kv_heads, group, capacity, d_k, d_v, scale_log2,
    BLOCK_G: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    EVEN_DK: tl.constexpr, EVEN_DV: tl.constexpr, WIDE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, h_kv, tile, split = program(n_splits, n_tiles, n_kv_heads)
    first, last, l_start = split_range(lengths_ptr, b, split, n_splits, capacity, BLOCK_K)
    offs_g = tile * BLOCK_G + tl.arange(0, BLOCK_G)  # query heads within the group
    offs_k = tl.arange(0, BLOCK_K).to(tl.int64)
    offs_dk = tl.arange(0, BLOCK_DK).to(tl.int64)
    offs_dv = tl.arange(0, BLOCK_DV // 2).to(tl.int64)  # of pairs
    mask_g = offs_g < group
    mask_dk = None if EVEN_DK else offs_dk < d_k
    mask_dv = None if EVEN_DV else 2 * offs_dv < d_v

    # [BLOCK_G, d_k]  reads group * d_k numbers, once
    h = h_kv * group + offs_g
    q = load_rows(q_ptr + b * stride_qb + h * stride_qh, offs_dk, stride_qd, mask_g, mask_dk)
    k_ptr += b * stride_kb + h_kv * stride_kh
    v_ptr += b * stride_vb + h_kv * stride_vh
    k_scale_ptr += b * stride_ksb + h_kv * stride_ksh
    v_scale_ptr += b * stride_vsb + h_kv * stride_vsh
    o_even = tl.zeros([BLOCK_G, BLOCK_DV // 2], tl.float32)
    o_odd = tl.zeros([BLOCK_G, BLOCK_DV // 2], tl.float32)
    m_log2 = tl.full([BLOCK_G], -float("inf"), tl.float32)
    l = tl.zeros([BLOCK_G], tl.float32) + l_start

    for start in range(first, last, BLOCK_K):
        mask_k = start + offs_k < last  # later keys may hold anything
        # [BLOCK_K, d_k], [BLOCK_K, d_v / 2]  reads BLOCK_K * (d_k + d_v) bytes
        k = load_rows(k_ptr + (start + offs_k) * stride_kn, offs_dk, stride_kd, mask_k, mask_dk)
        v = load_rows(v_ptr + (start + offs_k) * stride_vn, offs_dv, stride_vd, mask_k, mask_dv)
        # [BLOCK_K] twice  reads BLOCK_K * 8 bytes
        k_scale = tl.load(k_scale_ptr + (start + offs_k) * stride_ksn, mask=mask_k, other=0)
        v_scale = tl.load(v_scale_ptr + (start + offs_k) * stride_vsn, mask=mask_k, other=0)
        s_log2 = scores_int8(q, k, k_scale, scale_log2, PRECISION)
        s_log2 = tl.where(mask_k[None, :], s_log2, -float("inf"))
        o_even, o_odd, m_log2, l = accumulate_int8(
            s_log2, v, v_scale, o_even, o_odd, m_log2, l, WIDE, PRECISION
        )

    rows = (b * n_kv_heads * group + h) * n_splits + split
    store_split(o_ptr, lse_log2_ptr, o_even, m_log2, l, rows, mask_g, 2 * offs_dv, d_v)
    store_split(o_ptr, None, o_odd, m_log2, l, rows, mask_g, 2 * offs_dv + 1, d_v)
