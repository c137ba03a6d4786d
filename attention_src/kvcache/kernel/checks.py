"""What the decode operators accept. A ValueError names the argument, its value and the fix."""

import torch
from torch import Tensor

from attention_src.kvcache.kernel.launch import MAX_SPLITS, paged_capacity
from attention_src.shapes import check_groups, check_heads, check_shape, check_size, shape
from attention_src.triton_support.launch import check_kernel_tensors

MAX_D = 256  # a row of a tile is held in registers
MAX_CAPACITY = 2**30  # positions fit in int32, even those of the last tile past the end


def check_contiguous(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> None:
    """Check the arguments of `decode_contiguous`.

    Args:
        q, k, v, lengths: as for `decode_contiguous`
    Raises:
        ValueError: a shape, dtype, device or size that the kernel does not take
    """
    check_kernel_tensors(q=q, k=k, v=v)
    _check_dense(q, k, v, lengths)


def check_paged(
    q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, lengths: Tensor
) -> None:
    """Check the arguments of `decode_paged`; the entries of the table are not validated.

    Args:
        q, k_pages, v_pages, block_table, lengths: as for `decode_paged`
    Raises:
        ValueError: a shape, dtype, device or size that the kernel does not take; page_size 0
    """
    check_kernel_tensors(q=q, k_pages=k_pages, v_pages=v_pages)
    for name, x, d in (("k_pages", k_pages, "d_k"), ("v_pages", v_pages, "d_v")):
        if x.ndim != 4:
            raise ValueError(
                f"{name} has shape {shape(x)}; it should be [n_pages, H_kv, page_size, {d}]"
            )
    if k_pages.shape[2] == 0:
        raise ValueError("k_pages has page_size=0; a page should hold at least one key")
    axes = "[n_pages, H_kv, page_size, d_v]"
    check_shape(v_pages, "v_pages", axes, (*k_pages.shape[:3], v_pages.shape[-1]))
    _check_query(q, k_pages, v_pages)
    if block_table.ndim != 2:
        raise ValueError(f"block_table has shape {shape(block_table)}; it should be [B, max_pages]")
    _check_dtype("block_table", block_table, torch.int32, q)
    check_shape(block_table, "block_table", "[B, max_pages]", (q.shape[0], block_table.shape[1]))
    _check_lengths(lengths, q)
    _check_capacity(paged_capacity(k_pages, block_table))


def check_int8(
    q: Tensor, k: Tensor, k_scale: Tensor, v: Tensor, v_scale: Tensor, lengths: Tensor
) -> None:
    """Check the arguments of `decode_int8`.

    Args:
        q, k, k_scale, v, v_scale, lengths: as for `decode_int8`
    Raises:
        ValueError: a shape, dtype, device or size that the kernel does not take; values that cannot
            be read in pairs
    """
    check_kernel_tensors(q=q)
    _check_dense(q, k, v, lengths)
    for name, x in (("k", k), ("v", v)):
        _check_dtype(name, x, torch.int8, q)
    for name, x in (("k_scale", k_scale), ("v_scale", v_scale)):
        _check_dtype(name, x, torch.float32, q)
        check_shape(x, name, "[B, H_kv, N]", k.shape[:3])
    even = all(n % 2 == 0 for n in (v.shape[3], v.storage_offset(), *v.stride()[:3]))
    if not even or v.stride(3) != 1:
        raise ValueError(
            f"v has shape {shape(v)}, strides {list(v.stride())} and offset {v.storage_offset()}; "
            "the int8 kernel reads values in pairs: d_v, the offset and all strides but the last "
            "should be even, and the last 1. Try v.contiguous(), or another impl if d_v is odd"
        )


def check_splits(n_splits: int) -> None:
    """Check the number of splits.

    Args:
        n_splits: of each sequence
    Raises:
        ValueError: below 1 or above MAX_SPLITS
    """
    if check_size(n_splits, "n_splits", at_least=1) > MAX_SPLITS:
        raise ValueError(f"n_splits is {n_splits}; it should be 1 to {MAX_SPLITS}, or None")


def _check_dense(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> None:
    """q [B, H, 1, d_k], k [B, H_kv, N, d_k], v [B, H_kv, N, d_v], lengths int32 [B]."""
    check_heads(q, k, v)
    _check_query(q, k, v)
    _check_lengths(lengths, q)
    _check_capacity(k.shape[2])


def _check_query(q: Tensor, k: Tensor, v: Tensor) -> None:
    """One query a head, with the heads and widths of k and v [..., H_kv, ..., d]."""
    if q.ndim != 4 or q.shape[2] != 1:
        raise ValueError(f"q has shape {shape(q)}; decoding takes one query: [B, H, 1, d_k]")
    if q.shape[3] != k.shape[3]:
        raise ValueError(f"the keys have d_k={k.shape[3]} but q has d_k={q.shape[3]}")
    check_groups(q.shape[1], k.shape[1])
    for name, d in (("d_k", q.shape[3]), ("d_v", v.shape[3])):
        if d > MAX_D:
            raise ValueError(f"{name} is {d}; kernels take up to {MAX_D}. Choose another impl")
    if q.shape[3] == 0:
        raise ValueError("q has d_k=0; a query should have at least one component")


def _check_lengths(lengths: Tensor, q: Tensor) -> None:
    _check_dtype("lengths", lengths, torch.int32, q)
    check_shape(lengths, "lengths", "[B]", q.shape[:1])


def _check_dtype(name: str, x: Tensor, dtype: torch.dtype, q: Tensor) -> None:
    """x has exactly this dtype, on q's device."""
    if x.dtype != dtype or x.device != q.device:
        raise ValueError(f"{name} is {x.dtype} on {x.device}; it should be {dtype} on {q.device}")


def _check_capacity(capacity: int) -> None:
    if capacity > MAX_CAPACITY:
        raise ValueError(
            f"the cache holds {capacity} keys a sequence; kernels take up to {MAX_CAPACITY}"
        )
