"""One query per head against a long cache, split over the chip: contiguous and paged.

Read `decode_contiguous_kernel` first; the paged one differs only in how it finds a key.
"""

from attention_src.kvcache.kernel.steps import (
    accumulate,
    load_rows,
    program,
    split_range,
    store_split,
)
from attention_src.triton_support.launch import tl, triton


@triton.jit
def decode_contiguous_kernel(
    q_ptr, k_ptr, v_ptr, lengths_ptr, o_ptr, lse_log2_ptr,
    stride_qb, stride_qh, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    n_splits, n_tiles, n_kv_heads, group, capacity, d_k, d_v, scale_log2,
    BLOCK_G: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    EVEN_DK: tl.constexpr, EVEN_DV: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, h_kv, tile, split = program(n_splits, n_tiles, n_kv_heads)
    first, last, l_start = split_range(lengths_ptr, b, split, n_splits, capacity, BLOCK_K)
    offs_g = tile * BLOCK_G + tl.arange(0, BLOCK_G)  # query heads within the group
    offs_k = tl.arange(0, BLOCK_K).to(tl.int64)
    offs_dk = tl.arange(0, BLOCK_DK).to(tl.int64)
    offs_dv = tl.arange(0, BLOCK_DV).to(tl.int64)
    mask_g = offs_g < group
    mask_dk = None if EVEN_DK else offs_dk < d_k
    mask_dv = None if EVEN_DV else offs_dv < d_v

    # [BLOCK_G, d_k]  reads group * d_k numbers, once
    h = h_kv * group + offs_g
    q = load_rows(q_ptr + b * stride_qb + h * stride_qh, offs_dk, stride_qd, mask_g, mask_dk)
    k_ptr += b * stride_kb + h_kv * stride_kh
    v_ptr += b * stride_vb + h_kv * stride_vh
    o = tl.zeros([BLOCK_G, BLOCK_DV], tl.float32)
    m_log2 = tl.full([BLOCK_G], -float("inf"), tl.float32)
    l = tl.zeros([BLOCK_G], tl.float32) + l_start

    for start in range(first, last, BLOCK_K):
        mask_k = start + offs_k < last  # later keys may hold anything
        # [BLOCK_K, d_k], [BLOCK_K, d_v]  reads BLOCK_K * (d_k + d_v) numbers
        k = load_rows(k_ptr + (start + offs_k) * stride_kn, offs_dk, stride_kd, mask_k, mask_dk)
        v = load_rows(v_ptr + (start + offs_k) * stride_vn, offs_dv, stride_vd, mask_k, mask_dv)
        s_log2 = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale_log2
        s_log2 = tl.where(mask_k[None, :], s_log2, -float("inf"))
        o, m_log2, l = accumulate(s_log2, v, o, m_log2, l, PRECISION)

    rows = (b * n_kv_heads * group + h) * n_splits + split
    store_split(o_ptr, lse_log2_ptr, o, m_log2, l, rows, mask_g, offs_dv, d_v)


@triton.jit
def find_rows(table_ptr, stride_tn, offs_k, mask_k, n_pages, PAGE: tl.constexpr):
    """The page of each key, its slot there, and whether that page exists.

    Reads 4 bytes a page. Where `mask_k` is false the result is undefined and not used.
    """
    page = tl.load(table_ptr + (offs_k // PAGE).to(tl.int64) * stride_tn, mask=mask_k)
    exists = (page >= 0) & (page < n_pages)
    return tl.where(exists, page, 0).to(tl.int64), (offs_k % PAGE).to(tl.int64), exists


@triton.jit
def decode_paged_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, o_ptr, lse_log2_ptr,
    stride_qb, stride_qh, stride_qd,
    stride_kp, stride_kh, stride_kn, stride_kd,
    stride_vp, stride_vh, stride_vn, stride_vd,
    stride_tb, stride_tn,
    n_splits, n_tiles, n_kv_heads, group, n_pages, capacity, d_k, d_v, scale_log2,
    PAGE: tl.constexpr,
    BLOCK_G: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    EVEN_DK: tl.constexpr, EVEN_DV: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    b, h_kv, tile, split = program(n_splits, n_tiles, n_kv_heads)
    first, last, l_start = split_range(lengths_ptr, b, split, n_splits, capacity, BLOCK_K)
    offs_g = tile * BLOCK_G + tl.arange(0, BLOCK_G)  # query heads within the group
    offs_dk = tl.arange(0, BLOCK_DK).to(tl.int64)
    offs_dv = tl.arange(0, BLOCK_DV).to(tl.int64)
    mask_g = offs_g < group
    mask_dk = None if EVEN_DK else offs_dk < d_k
    mask_dv = None if EVEN_DV else offs_dv < d_v

    # [BLOCK_G, d_k]  reads group * d_k numbers, once
    h = h_kv * group + offs_g
    q = load_rows(q_ptr + b * stride_qb + h * stride_qh, offs_dk, stride_qd, mask_g, mask_dk)
    k_ptr += h_kv * stride_kh
    v_ptr += h_kv * stride_vh
    table_ptr += b * stride_tb
    o = tl.zeros([BLOCK_G, BLOCK_DV], tl.float32)
    m_log2 = tl.full([BLOCK_G], -float("inf"), tl.float32)
    l = tl.zeros([BLOCK_G], tl.float32) + l_start

    for start in range(first, last, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < last  # later keys, and entries of the table, may be anything
        page, slot, exists = find_rows(table_ptr, stride_tn, offs_k, mask_k, n_pages, PAGE)
        k_rows = k_ptr + page * stride_kp + slot * stride_kn
        v_rows = v_ptr + page * stride_vp + slot * stride_vn
        # [BLOCK_K, d_k], [BLOCK_K, d_v]  reads BLOCK_K * (d_k + d_v) numbers
        k = load_rows(k_rows, offs_dk, stride_kd, mask_k, mask_dk)
        v = load_rows(v_rows, offs_dv, stride_vd, mask_k, mask_dv)
        s_log2 = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale_log2
        s_log2 = tl.where(exists[None, :], s_log2, float("nan"))
        s_log2 = tl.where(mask_k[None, :], s_log2, -float("inf"))
        o, m_log2, l = accumulate(s_log2, v, o, m_log2, l, PRECISION)

    rows = (b * n_kv_heads * group + h) * n_splits + split
    store_split(o_ptr, lse_log2_ptr, o, m_log2, l, rows, mask_g, offs_dv, d_v)
