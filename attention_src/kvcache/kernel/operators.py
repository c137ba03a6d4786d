"""Decoding as torch operators: one query per head against a contiguous, paged or int8 cache.

    o = softmax(scale * q k^T) v   over the first lengths[b] keys of sequence b

Flash-Decoding: each sequence is divided into splits that run in parallel. Each split writes its own
output and log-sum-exp, and a second kernel merges them; a single split writes the final output.
The cache is read once, in place: any strides, query heads grouped by key/value head. Keys after a
sequence's end are never read, so they may hold anything.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from attention_src.kvcache.kernel.checks import (
    check_contiguous,
    check_int8,
    check_paged,
    check_splits,
)
from attention_src.kvcache.kernel.launch import (
    choose_splits,
    contiguous_launch,
    int8_launch,
    n_tiles,
    paged_capacity,
    paged_launch,
)
from attention_src.kvcache.kernel.merge import merge_launch
from attention_src.shapes import check_scale
from attention_src.tensors import refuse_derivatives
from attention_src.triton_support.launch import INTERPRETED, Launch, capability
from attention_src.triton_support.launch_cache import Prepared, planned


@torch.library.custom_op("attention_src::decode_contiguous", mutates_args=())
def decode_contiguous(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, scale: float, n_splits: int | None = None
) -> Tensor:
    """One query per head against contiguous keys and values.

        o = softmax(scale * q k^T) v   over the first lengths[b] keys

    Args:
        q: [B, H, 1, d_k]  query head h uses key/value head h // (H / H_kv)
        k, v: [B, H_kv, N, d_k] and [B, H_kv, N, d_v], any strides; d_k and d_v up to 256
        lengths: int32 [B]  number of keys of each sequence, 0 to N. Others are not refused but
            give NaN, because a check would synchronise with the GPU
        scale: factor on the scores
        n_splits: number of splits of each sequence; None = enough to fill the chip
    Returns: [B, H, 1, d_v]  o, in q's dtype; 0 for an empty sequence. It has no derivatives.
    Raises:
        ValueError: as `check_contiguous`; n_splits or scale out of range
    Cost: 2 B H n (d_k + d_v) FLOP; reads the B H_kv n (d_k + d_v) numbers of the cache once for
        every tile of up to 64 query heads of a group.
    Source: Dao et al. 2023, Flash-Decoding; each split is Dao et al. 2022, arXiv:2205.14135,
        Algorithm 1 for one query (their l, m are ours).
    """
    return _contiguous(q, k, v, lengths, scale, n_splits)[0]


@torch.library.custom_op("attention_src::decode_paged", mutates_args=())
def decode_paged(
    q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, lengths: Tensor,
    scale: float, n_splits: int | None = None,
) -> Tensor:  # fmt: skip
    """One query per head against keys and values on pages, found by a block table.

        key j of sequence b is k_pages[block_table[b, j // page_size], :, j % page_size]

    Args:
        q: [B, H, 1, d_k]
        k_pages, v_pages: [n_pages, H_kv, page_size, d_k] and [..., d_v], any strides and page size;
            sequences may share pages
        block_table: int32 [B, max_pages]; entries after a sequence's end are ignored; before it, a
            page that does not exist gives NaN
        lengths: int32 [B]  as for `decode_contiguous`, 0 to max_pages * page_size
        scale, n_splits: as for `decode_contiguous`
    Returns: [B, H, 1, d_v]  o, in q's dtype
    Raises:
        ValueError: as `check_paged`; n_splits or scale out of range
    Cost: as `decode_contiguous`, and 4 bytes of the block table for each page.
    Source: Kwon et al. 2023, arXiv:2309.06180, section 4.1 (their KV block is our page).
    """
    return _paged(q, k_pages, v_pages, block_table, lengths, scale, n_splits)[0]


@torch.library.custom_op("attention_src::decode_int8", mutates_args=())
def decode_int8(
    q: Tensor, k: Tensor, k_scale: Tensor, v: Tensor, v_scale: Tensor, lengths: Tensor,
    scale: float, n_splits: int | None = None,
) -> Tensor:  # fmt: skip
    """One query per head against keys and values in int8, with one scale for each.

        o = softmax(scale * q (k k_scale)^T) (v v_scale)

    Args:
        q: [B, H, 1, d_k]
        k, v: int8 [B, H_kv, N, d_k] and [B, H_kv, N, d_v]. Values are read in pairs: v's last
            stride is 1, its other strides, offset and d_v are even
        k_scale, v_scale: float32 [B, H_kv, N]
        lengths, scale, n_splits: as for `decode_contiguous`
    Returns: [B, H, 1, d_v]  o, in q's dtype
    Raises:
        ValueError: as `check_int8`; n_splits or scale out of range
    Cost: as `decode_contiguous`, with 1 byte a number and 8 bytes of scales for each key.
    Source: Dao et al. 2023, Flash-Decoding; scales of each token as in Dettmers et al. 2022,
        arXiv:2208.07339, section 2.1 (absmax quantization of each row).
    """
    return _int8(q, k, k_scale, v, v_scale, lengths, scale, n_splits)[0]


@planned
def _contiguous(q, k, v, lengths, scale, n_splits):
    check_contiguous(q, k, v, lengths)
    launch = functools.partial(contiguous_launch, q, k, v, lengths)
    return _prepared(launch, q, k.shape[1], v.shape[3], k.shape[2], scale, n_splits)


@planned
def _paged(q, k_pages, v_pages, block_table, lengths, scale, n_splits):
    check_paged(q, k_pages, v_pages, block_table, lengths)
    launch = functools.partial(paged_launch, q, k_pages, v_pages, block_table, lengths)
    capacity = paged_capacity(k_pages, block_table)
    return _prepared(launch, q, k_pages.shape[1], v_pages.shape[3], capacity, scale, n_splits)


@planned
def _int8(q, k, k_scale, v, v_scale, lengths, scale, n_splits):
    check_int8(q, k, k_scale, v, v_scale, lengths)
    launch = functools.partial(int8_launch, q, k, k_scale, v, v_scale, lengths)
    return _prepared(launch, q, k.shape[1], v.shape[3], k.shape[2], scale, n_splits)


def _prepared(
    launch: Callable[..., Launch], q: Tensor,
    n_kv_heads: int, d_v: int, capacity: int, scale: float, n_splits: int | None,
) -> Prepared:  # fmt: skip
    """The output, and a decode kernel and, if there is more than one split, the merge."""
    batch, n_heads = q.shape[:2]
    scale = check_scale(scale, q.shape[3])
    if n_splits is None:
        n_programs = batch * n_kv_heads * n_tiles(q, n_kv_heads, d_v)
        n_splits = choose_splits(n_programs, capacity, _multiprocessors(q))
    check_splits(n_splits)
    o = q.new_empty(batch, n_heads, 1, d_v)
    if o.numel() == 0:
        return (o,), []
    chip = capability(q)
    if n_splits == 1:
        return (o,), [launch(o, None, scale, capability=chip)]
    o_splits = q.new_empty(batch, n_heads, n_splits, d_v, dtype=torch.float32)
    lse_log2 = q.new_empty(batch, n_heads, n_splits, dtype=torch.float32)
    splits = launch(o_splits, lse_log2, scale, capability=chip)
    return (o, o_splits, lse_log2), [splits, merge_launch(o_splits, lse_log2, o)]


def _multiprocessors(q: Tensor) -> int:
    """Of q's chip; 1 in the interpreter, which runs programs one after another."""
    return 1 if INTERPRETED else torch.cuda.get_device_properties(q.device).multi_processor_count


@decode_contiguous.register_fake
def _(q, k, v, lengths, scale, n_splits=None):
    return q.new_empty(q.shape[0], q.shape[1], 1, v.shape[3])


@decode_paged.register_fake
def _(q, k_pages, v_pages, block_table, lengths, scale, n_splits=None):
    return q.new_empty(q.shape[0], q.shape[1], 1, v_pages.shape[3])


@decode_int8.register_fake
def _(q, k, k_scale, v, v_scale, lengths, scale, n_splits=None):
    return q.new_empty(q.shape[0], q.shape[1], 1, v.shape[3])


for operator in (decode_contiguous, decode_paged, decode_int8):
    refuse_derivatives(operator, "dense", "no derivatives")
