"""The steps that the decode kernels share: find the split's keys, load, accumulate, store.

One program handles one split of one key/value head: a range of its keys, and the queries of the
`group` heads that share it. So each byte of the cache is read once, however many heads use it.
Logarithms are base 2: the chip has exp2, and scale_log2 = scale * log2(e) costs nothing.
"""

from attention_src.triton_support.launch import tl, triton


@triton.jit
def program(n_splits, n_tiles, n_kv_heads):
    """This program's batch, key/value head, tile of query heads, and split.

    Splits vary fastest, so that programs which run together read neighbouring memory.
    """
    i = tl.program_id(0)
    split = i % n_splits
    tile = i // n_splits % n_tiles
    head = i // n_splits // n_tiles
    return (head // n_kv_heads).to(tl.int64), (head % n_kv_heads).to(tl.int64), tile, split


@triton.jit
def split_range(lengths_ptr, b, split, n_splits, capacity, BLOCK_K: tl.constexpr):
    """The keys [first, last) of a split, and the start value of its l.

    A split is whole blocks, except at the end of a sequence. Each sequence is split by its own
    length, so no program waits for a longer one. For an impossible length nothing is read, and l
    starts as NaN instead of 0, so that the output is NaN.
    """
    length = tl.load(lengths_ptr + b)  # reads 4 bytes
    possible = (length >= 0) & (length <= capacity)
    length = tl.where(possible, length, 0)
    blocks = tl.cdiv(tl.cdiv(length, BLOCK_K), n_splits)  # in each split
    first = tl.minimum(split * blocks * BLOCK_K, length)
    last = tl.minimum(first + blocks * BLOCK_K, length)
    return first, last, tl.where(possible, 0.0, float("nan"))


@triton.jit
def load_rows(rows, offs_d, stride_d, mask_rows, mask_d):
    """A tile [rows, d], given the address of each row; masked elements are 0 and are not read."""
    x_ptr = rows[:, None] + offs_d[None, :] * stride_d
    mask = mask_rows[:, None]
    if mask_d is not None:  # d is narrower than the tile
        mask = mask & mask_d[None, :]
    return tl.load(x_ptr, mask=mask, other=0)


@triton.jit
def online_softmax_step(s_log2, m_log2, l):
    """One block of the online softmax: its weights, the rescaling factor, and the new m and l."""
    m_new = tl.maximum(m_log2, tl.max(s_log2, 1))  # [BLOCK_G]
    rescale = tl.exp2(m_log2 - m_new)  # [BLOCK_G]
    p = tl.exp2(s_log2 - m_new[:, None])  # [BLOCK_G, BLOCK_K]
    return p, rescale, m_new, l * rescale + tl.sum(p, 1)


@triton.jit
def accumulate(s_log2, v, o, m_log2, l, PRECISION: tl.constexpr):
    """Add a block of scores [BLOCK_G, BLOCK_K] and values [BLOCK_K, BLOCK_DV] to o, m and l."""
    p, rescale, m_log2, l = online_softmax_step(s_log2, m_log2, l)
    o = tl.dot(p.to(v.dtype), v, o * rescale[:, None], input_precision=PRECISION)
    return o, m_log2, l


@triton.jit
def store_split(o_ptr, lse_log2_ptr, o, m_log2, l, rows, mask_g, offs_d, d_v):
    """Write o [BLOCK_G, d_v] of a split and, for the merge, its lse [BLOCK_G].

    A split without keys has o = 0 and lse = −inf. Writes group * d_v numbers of o and group of lse.
    """
    fully_masked = l == 0.0
    l = tl.where(fully_masked, 1.0, l)
    o = o / l[:, None]
    o_ptr += rows[:, None] * d_v + offs_d[None, :]
    mask = mask_g[:, None] & (offs_d < d_v)[None, :]
    tl.store(o_ptr, o.to(o_ptr.dtype.element_ty), mask=mask)
    if lse_log2_ptr is not None:
        lse_log2 = tl.where(fully_masked, -float("inf"), m_log2 + tl.log2(l))
        tl.store(lse_log2_ptr + rows, lse_log2, mask=mask_g)
