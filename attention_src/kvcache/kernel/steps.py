"""The steps that the decode kernels share: which keys are mine, load a tile, take it in, store.

One program serves one split of one key/value head: the queries of the `group` heads that share it,
against a run of its keys. So each byte of the cache is read once, however many heads look at it.
Base-2 logarithms throughout: the chip has exp2, and scale_log2 = scale * log2(e) costs nothing.
"""

from attention_src.triton_support.launch import tl, triton


@triton.jit
def program(n_splits, n_tiles, n_kv_heads):
    """(batch, key/value head, tile of its query heads, split): splits first, so that neighbours
    in time are neighbours in memory."""
    i = tl.program_id(0)
    split = i % n_splits
    tile = i // n_splits % n_tiles
    head = i // n_splits // n_tiles
    return (head // n_kv_heads).to(tl.int64), (head % n_kv_heads).to(tl.int64), tile, split


@triton.jit
def split_range(lengths_ptr, b, split, n_splits, capacity, BLOCK_K: tl.constexpr):
    """Which keys belong to a split: [first, last), whole blocks but for a sequence's last one.

    Each sequence is divided by its own length, so no split waits for another. A length that the
    cache cannot have reads nothing and makes the answer NaN: l_start is NaN instead of 0.
    """
    length = tl.load(lengths_ptr + b)  # reads 4 bytes
    possible = (length >= 0) & (length <= capacity)
    length = tl.where(possible, length, 0)
    blocks = tl.cdiv(tl.cdiv(length, BLOCK_K), n_splits)  # of each split
    first = tl.minimum(split * blocks * BLOCK_K, length)
    last = tl.minimum(first + blocks * BLOCK_K, length)
    return first, last, tl.where(possible, 0.0, float("nan"))


@triton.jit
def load_rows(rows, offs_d, stride_d, mask_rows, mask_d):
    """A tile [rows, d] from the address of each row. What a mask hides is not read, and is 0."""
    x_ptr = rows[:, None] + offs_d[None, :] * stride_d
    mask = mask_rows[:, None]
    if mask_d is not None:  # d fills its tile only in part
        mask = mask & mask_d[None, :]
    return tl.load(x_ptr, mask=mask, other=0)


@triton.jit
def online_weights(s_log2, m_log2, l):
    """The online softmax, one block on: its weights, and what the sums so far shrink by."""
    m_new = tl.maximum(m_log2, tl.max(s_log2, 1))  # [BLOCK_G]
    shrink = tl.exp2(m_log2 - m_new)  # [BLOCK_G]
    p = tl.exp2(s_log2 - m_new[:, None])  # [BLOCK_G, BLOCK_K]
    return p, shrink, m_new, l * shrink + tl.sum(p, 1)


@triton.jit
def take_in(s_log2, v, o, m_log2, l, PRECISION: tl.constexpr):
    """One block of scores [BLOCK_G, BLOCK_K] and values [BLOCK_K, BLOCK_DV] into o, m and l."""
    p, shrink, m_log2, l = online_weights(s_log2, m_log2, l)
    o = tl.dot(p.to(v.dtype), v, o * shrink[:, None], input_precision=PRECISION)
    return o, m_log2, l


@triton.jit
def store_split(o_ptr, lse_log2_ptr, o, m_log2, l, rows, mask_g, offs_d, d_v):
    """Write o [BLOCK_G, d_v] of a split and its lse [BLOCK_G]; without keys, 0 and -inf.

    Writes group * d_v numbers of o and, for the merge, group of lse.
    """
    none = l == 0.0
    o = o / tl.where(none, 1.0, l)[:, None]
    o_ptr += rows[:, None] * d_v + offs_d[None, :]
    mask = mask_g[:, None] & (offs_d < d_v)[None, :]
    tl.store(o_ptr, o.to(o_ptr.dtype.element_ty), mask=mask)
    if lse_log2_ptr is not None:
        lse_log2 = tl.where(none, -float("inf"), m_log2 + tl.log2(tl.where(none, 1.0, l)))
        tl.store(lse_log2_ptr + rows, lse_log2, mask=mask_g)
