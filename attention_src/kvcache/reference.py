"""Caches of keys and values in NumPy: what each returns, and attention over it.

A cache changes where keys and values are stored, which are kept, or how precisely; never what
attention does with them. So each cache is defined by what its `read` returns after `k` and `v` were
appended, and `decode` attends to that. Rounding to few bits is in `reference_quantization`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_src.attention.masks import padding_mask
from attention_src.attention.reference import attention
from attention_src.errstate import own_errstate
from attention_src.kvcache.reference_quantization import (
    dequantize_asymmetric,
    dequantize_per_channel,
    dequantize_symmetric,
    pack_int4,
    quantize_asymmetric,
    quantize_per_channel,
    quantize_symmetric,
    quantized_tokens,
    read_quantized,
    unpack_int4,
)
from attention_src.shapes import (
    as_array,
    as_float64,
    check_heads,
    check_shape,
    check_size,
    check_whole,
)
from attention_src.softmax.reference import log_sum_exp

__all__ = [
    "decode",
    "dequantize_asymmetric",
    "dequantize_per_channel",
    "dequantize_symmetric",
    "merge_partials",
    "pack_int4",
    "pages_for",
    "quantize_asymmetric",
    "quantize_per_channel",
    "quantize_symmetric",
    "quantized_tokens",
    "read_contiguous",
    "read_paged",
    "read_quantized",
    "read_windowed",
    "unpack_int4",
    "window_positions",
]

MOST = np.iinfo(np.int64).max


@own_errstate()
def decode(
    q: Any, k: Any, v: Any, *, lengths: Any = None, scale: float | None = None
) -> Float[np.ndarray, "B H 1 d_v"]:
    """One query per head, the newest token's, attends to everything a cache returned.

        o = softmax(scale * q k^T) v

    Args:
        q: [B, H, 1, d_k]  the newest token's queries
        k: [B, H_kv, n, d_k]; v: [B, H_kv, n, d_v]  from the cache, including the newest token;
            query head h uses key/value head h // (H / H_kv)
        lengths: int [B]  number of tokens of each sequence; None = n for all
        scale: None = d_k ** -0.5
    Returns: [B, H, 1, d_v]  o, in q's dtype; 0 for a sequence without tokens
    Raises:
        ValueError: shapes that do not fit; more than one query; lengths that are not B whole
            numbers from 0 to n
    Cost: 2 B H n (d_k + d_v) FLOP and one pass over the B H_kv n (d_k + d_v) numbers of the cache:
        2 H / H_kv FLOP a number, so memory bandwidth is the limit.
    Source: Shazeer 2019, arXiv:1911.02150, section 2.4 (incremental) and 3 (one head for many).
    """
    q, k, v = as_array(q, "q"), as_array(k, "k"), as_array(v, "v")
    check_heads(q, k, v)
    if q.shape[-2] != 1:
        raise ValueError(f"q has n_q={q.shape[-2]}; decoding takes one query a head")
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    mask = None
    if lengths is not None:
        check_shape(as_array(lengths, "lengths"), "lengths", "[B]", q.shape[:1])
        mask = padding_mask(lengths, k.shape[-2])
        v = np.where(mask.swapaxes(-1, -2), v, 0)  # because 0 · NaN is NaN
        k = np.where(mask.swapaxes(-1, -2), k, 0)
    return attention(q, k, v, mask=mask, scale=scale)


@own_errstate()
def merge_partials(
    o_parts: Any, lse_parts: Any
) -> tuple[Float[np.ndarray, "*rows d_v"], Float[np.ndarray, "*rows"]]:
    """Join attention over separate parts of the keys into attention over all of them.

        lse = log(sum_s exp(lse_s))        o = sum_s exp(lse_s - lse) o_s

    Each o_s is weighted by its part's share of the softmax denominator. The order of the parts does
    not matter, so they can be computed in parallel.

    Args:
        o_parts: [S, ..., d_v]  attention output of each part
        lse_parts: [S, ...]  natural log of each part's softmax denominator; −inf = fully masked in
            this part, whose o is then ignored
    Returns: o [..., d_v], lse [...]; a row that is fully masked in all parts gives 0 and −inf
    Raises:
        ValueError: o_parts and lse_parts differ in their leading axes
    Cost: 2 S d_v FLOP a row.
    Source: Dao et al. 2023, Flash-Decoding for long-context inference (the last step). The rule is
        that of online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867, section 3.1.
    """
    o_parts, dtype = as_float64(o_parts, "o_parts")
    lse_parts, _ = as_float64(lse_parts, "lse_parts")
    if o_parts.ndim < 2 or o_parts.shape[:-1] != lse_parts.shape:
        raise ValueError(
            f"lse_parts has shape {list(lse_parts.shape)} but o_parts has {list(o_parts.shape)}; "
            "they should be [S, ...] and [S, ..., d_v]"
        )
    lse = log_sum_exp(lse_parts, axis=0)  # [...]
    share = np.exp(lse_parts - np.where(lse == -np.inf, 0, lse))[..., None]  # [S, ..., 1]
    o = (share * np.where(share > 0, o_parts, 0)).sum(axis=0)
    return o.astype(dtype), lse.astype(dtype)


def read_contiguous(
    blocks: Sequence[tuple[Any, Any]],
) -> tuple[Float[np.ndarray, "*rows n d_k"], Float[np.ndarray, "*rows n d_v"]]:
    """What the contiguous cache returns: everything appended, in order.

    Args:
        blocks: pairs k [..., n_i, d_k], v [..., n_i, d_v], in the order they were appended
    Returns: k [..., n, d_k], v [..., n, d_v], with n the sum of all n_i
    Raises:
        ValueError: no blocks, blocks that differ in another axis than n, or k and v of different n
    """
    if not blocks:
        raise ValueError("blocks is empty; it should hold at least one pair k, v")
    for i, (k, v) in enumerate(blocks):
        _check_pair(as_array(k, "k"), as_array(v, "v"), f"blocks[{i}]: ")
    k, v = zip(*blocks, strict=True)
    joined = [
        np.concatenate([as_array(x, name) for x in parts], axis=-2)
        for name, parts in (("k", k), ("v", v))
    ]
    return joined[0], joined[1]


def _check_pair(k: np.ndarray, v: np.ndarray, where: str = "") -> None:
    """Keys and values of the same tokens."""
    if min(k.ndim, v.ndim) < 2 or k.shape[:-1] != v.shape[:-1]:
        raise ValueError(
            f"{where}k has shape {list(k.shape)} and v {list(v.shape)}; they should be [..., n, "
            "d_k] and [..., n, d_v]"
        )


def window_positions(n: int, window: int, sinks: int = 0) -> Int[np.ndarray, "held"]:
    """Which of n tokens a windowed cache holds: the first `sinks` and the last `window`.

        held = {j : j < sinks or n - j <= window}

    Args:
        n: number of tokens appended
        window: number of last tokens to hold, at least 1
        sinks: number of first tokens to hold for good
    Returns: int [min(n, sinks + window)]  0-based positions, ascending: the keys that the last
        query sees under `attention.masks.window_mask`
    Raises:
        ValueError: a window below 1; a negative or fractional size
    Source: Xiao et al. 2023 (StreamingLLM), arXiv:2309.17453, section 3.2.
    """
    n, sinks = check_size(n, "n"), check_size(sinks, "sinks")
    window = check_size(window, "window", at_least=1)
    j = np.arange(n)
    return j[(j < sinks) | (n - j <= window)]


def read_windowed(
    k: Any, v: Any, window: int, sinks: int = 0
) -> tuple[Float[np.ndarray, "*rows held d_k"], Float[np.ndarray, "*rows held d_v"]]:
    """What a windowed cache returns: the held tokens, in order of position.

    Args:
        k: [..., n, d_k]; v: [..., n, d_v]  everything appended so far
        window, sinks: as for `window_positions`
    Returns: k [..., held, d_k], v [..., held, d_v]
    Raises:
        ValueError: as `window_positions`; k and v of different n
    """
    k, v = as_array(k, "k"), as_array(v, "v")
    _check_pair(k, v)
    held = window_positions(k.shape[-2], window, sinks)
    return k[..., held, :], v[..., held, :]


def pages_for(n: int, page_size: int) -> int:
    """Number of pages for n tokens; the last one may be partly empty.

    Args:
        n: number of tokens
        page_size: tokens in a page, at least 1
    Returns: ceil(n / page_size)
    Raises:
        ValueError: a negative or fractional number, or pages without room
    """
    return -(-check_size(n, "n") // check_size(page_size, "page_size", at_least=1))


def read_paged(pages: Any, block_table: Any, lengths: Any) -> Float[np.ndarray, "B H_kv n d"]:
    """What a paged cache returns: sequences spread over pages, found by a table of page numbers.

        x[b, :, j] = pages[block_table[b, j // page_size], :, j % page_size]  for j < lengths[b]

    Args:
        pages: [n_pages, H_kv, page_size, d]  the storage of all sequences
        block_table: int [B, max_pages]  the pages of each sequence, in order; entries after its
            last page are ignored
        lengths: int [B]  number of tokens of each sequence
    Returns: [B, H_kv, max(lengths), d], with 0 after the end of each sequence
    Raises:
        ValueError: shapes that do not fit, or a page_size of 0; lengths or pages in use that are
            not whole numbers in range; a sequence longer than its row of the table
    Source: Kwon et al. 2023 (vLLM), arXiv:2309.06180, section 4.1 and Eq. 4; a page is their KV
        block.
    """
    pages, table = as_array(pages, "pages"), as_array(block_table, "block_table")
    lengths = as_array(lengths, "lengths")
    if pages.ndim != 4 or table.ndim != 2 or lengths.shape != table.shape[:1]:
        raise ValueError(
            f"pages, block_table and lengths have shapes {list(pages.shape)}, {list(table.shape)} "
            f"and {list(lengths.shape)}; they should be [n_pages, H_kv, page_size, d], "
            "[B, max_pages] and [B]"
        )
    page_size = check_size(pages.shape[2], "page_size, pages.shape[2],", at_least=1)
    lengths = check_whole(lengths, "lengths", 0, MOST)
    longest = int(lengths.max(initial=0))
    if pages_for(longest, page_size) > table.shape[1]:
        raise ValueError(
            f"lengths is {lengths}, but block_table has {table.shape[1]} pages of {page_size} "
            "tokens a sequence; it should have room for the longest"
        )
    used = np.arange(table.shape[1]) * page_size < lengths[:, None]  # [B, max_pages]
    check_whole(table[used], "block_table", 0, len(pages) - 1)
    table = np.where(used, table, 0).astype(np.int64)  # NumPy takes no uint64 as an index
    x = np.zeros((len(lengths), pages.shape[1], longest, pages.shape[3]), dtype=pages.dtype)
    for b, n in enumerate(lengths):
        j = np.arange(n)
        x[b, :, :n] = pages[table[b, j // page_size], :, j % page_size].swapaxes(0, 1)
    return x
