"""The launches of the decode kernels: the number of splits, and tile sizes by chip."""

import math
from typing import Any

import torch
from torch import Tensor

from attention_src.kvcache.kernel.decode import decode_contiguous_kernel, decode_paged_kernel
from attention_src.kvcache.kernel.int8 import decode_int8_kernel
from attention_src.triton_support.launch import Launch, triton

LOG2_E = math.log2(math.e)
MAX_SPLITS = 128  # the merge holds all splits of a query in one tile
PROGRAMS_AT_ONCE = 2  # on each multiprocessor: more do not fit in its shared memory
# Bytes of a tile of keys, from each capability on. A program has `num_stages - 1` tiles of keys and
# as many of values in flight: together these must cover bandwidth times latency.
TILE_BYTES = {75: 2 << 10, 80: 8 << 10, 90: 16 << 10}


def choose_splits(n_programs: int, capacity: int, n_multiprocessors: int) -> int:
    """How many splits to divide each sequence into, so that the whole chip has work.

    One wave of programs fills the chip. Several waves balance sequences of different lengths, but
    each program also costs time to start and to finish. So the goal is one wave, with splits of at
    least 128 keys, and up to four waves while splits have at least 1024 keys.

    Args:
        n_programs: programs for one split: batch * key/value heads * tiles of query heads
        capacity: keys that the cache can hold for each sequence
        n_multiprocessors: of the chip
    Returns: 1 to MAX_SPLITS
    Source: Dao et al. 2023, "Flash-Decoding for long-context inference".
    """
    wave = PROGRAMS_AT_ONCE * n_multiprocessors
    one_wave = min(triton.cdiv(wave, max(1, n_programs)), capacity // 128)
    four_waves = min(triton.cdiv(4 * wave, max(1, n_programs)), capacity // 1024)
    return max(1, min(MAX_SPLITS, max(one_wave, four_waves)))


def n_tiles(q: Tensor, n_kv_heads: int, d_v: int) -> int:
    """How many tiles the query heads of one key/value head make; each tile reads the cache.

    Args:
        q: [B, H, 1, d_k]
        n_kv_heads: H_kv
        d_v: width of a value
    Returns: 1, or more for a group of more than 16 query heads
    """
    return triton.cdiv(q.shape[1] // n_kv_heads, _block_g(q, n_kv_heads, d_v))


def contiguous_launch(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor,
    o: Tensor, lse_log2: Tensor | None, scale: float, *, capability: int,
) -> Launch:  # fmt: skip
    """The launch of `decode_contiguous_kernel`.

    Args:
        q, k, v, lengths, scale: as for `decode_contiguous`
        o: to be written, contiguous: float32 [B, H, n_splits, d_v], or the final [B, H, 1, d_v]
        lse_log2: to be written, contiguous: float32 [B, H, n_splits]; None if o is final
        capability: of the chip, as from `triton_support.launch.capability`
    Returns: the launch, not yet run
    """
    common = _common(q, k, v, lengths, o, lse_log2, scale, capability)
    arguments: dict[str, Any] = dict(k_ptr=k, v_ptr=v, capacity=k.shape[2])
    arguments |= _strides(q, "q", "bh_d") | _strides(k, "k", "bhnd") | _strides(v, "v", "bhnd")
    return _launch(decode_contiguous_kernel, q, k, o, arguments | common, capability)


def paged_launch(
    q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, lengths: Tensor,
    o: Tensor, lse_log2: Tensor | None, scale: float, *, capability: int,
) -> Launch:  # fmt: skip
    """The launch of `decode_paged_kernel`.

    Args:
        q, k_pages, v_pages, block_table, lengths, scale: as for `decode_paged`
        o, lse_log2, capability: as for `contiguous_launch`
    Returns: the launch, not yet run
    """
    common = _common(q, k_pages, v_pages, lengths, o, lse_log2, scale, capability)
    arguments: dict[str, Any] = dict(k_ptr=k_pages, v_ptr=v_pages, table_ptr=block_table)
    arguments |= dict(n_pages=k_pages.shape[0], PAGE=k_pages.shape[2])
    arguments |= dict(capacity=paged_capacity(k_pages, block_table))
    arguments |= _strides(q, "q", "bh_d") | _strides(block_table, "t", "bn")
    arguments |= _strides(k_pages, "k", "phnd") | _strides(v_pages, "v", "phnd")
    return _launch(decode_paged_kernel, q, k_pages, o, arguments | common, capability)


def int8_launch(
    q: Tensor, k: Tensor, k_scale: Tensor, v: Tensor, v_scale: Tensor, lengths: Tensor,
    o: Tensor, lse_log2: Tensor | None, scale: float, *, capability: int,
) -> Launch:  # fmt: skip
    """The launch of `decode_int8_kernel`.

    Args:
        q, k, k_scale, v, v_scale, lengths, scale: as for `decode_int8`
        o, lse_log2, capability: as for `contiguous_launch`
    Returns: the launch, not yet run
    """
    common = _common(q, k, v, lengths, o, lse_log2, scale, capability)
    v = v.view(torch.int16)  # pairs
    arguments: dict[str, Any] = dict(k_ptr=k, v_ptr=v, k_scale_ptr=k_scale, v_scale_ptr=v_scale)
    arguments |= dict(capacity=k.shape[2], WIDE=q.dtype == torch.float32)
    arguments |= _strides(q, "q", "bh_d") | _strides(k, "k", "bhnd") | _strides(v, "v", "bhnd")
    arguments |= _strides(k_scale, "ks", "bhn") | _strides(v_scale, "vs", "bhn")
    return _launch(decode_int8_kernel, q, k, o, arguments | common, capability)


def paged_capacity(k_pages: Tensor, block_table: Tensor) -> int:
    """The number of keys that a row of the block table can address.

    Args:
        k_pages: [n_pages, H_kv, page_size, d_k]
        block_table: [B, max_pages]
    Returns: max_pages * page_size; 0 without pages
    """
    return block_table.shape[1] * k_pages.shape[2] if k_pages.shape[0] else 0


def _block_g(q: Tensor, n_kv_heads: int, d_v: int) -> int:
    """Query heads in a tile: 16 (the least for matrix units) to 64, as many as fit in 16 KiB."""
    most = (16 << 10) // (q.element_size() * max(_block_d(q.shape[3]), _block_d(d_v)))
    return max(16, min(64, most, triton.next_power_of_2(q.shape[1] // n_kv_heads)))


def _block_d(d: int) -> int:
    """Width of a tile: at least 32, because matrix units need 16 and int8 values come in pairs."""
    return max(32, triton.next_power_of_2(d))


def _strides(x: Tensor, name: str, axes: str) -> dict[str, int]:
    """stride_kb, stride_kh, ...: one argument for each axis except "_"."""
    return {f"stride_{name}{a}": s for a, s in zip(axes, x.stride(), strict=True) if a != "_"}


def _common(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor,
    o: Tensor, lse_log2: Tensor | None, scale: float, capability: int,
) -> dict[str, Any]:  # fmt: skip
    """The arguments of every decode kernel."""
    n_kv_heads, d_k, d_v = k.shape[1], k.shape[3], v.shape[3]
    block_g, block_dk, block_dv = _block_g(q, n_kv_heads, d_v), _block_d(d_k), _block_d(d_v)
    block_k = _block_k(q, k, block_g, max(block_dk, block_dv), capability)
    # Three tf32 products give float32 accuracy, 1e-7, on matrix units.
    precision = "tf32x3" if capability >= 80 and q.dtype == torch.float32 else "ieee"
    arguments: dict[str, Any] = dict(q_ptr=q, lengths_ptr=lengths, o_ptr=o, lse_log2_ptr=lse_log2)
    arguments |= dict(n_splits=o.shape[2], n_tiles=n_tiles(q, n_kv_heads, d_v))
    arguments |= dict(n_kv_heads=n_kv_heads, group=q.shape[1] // n_kv_heads, d_k=d_k, d_v=d_v)
    arguments |= dict(scale_log2=scale * LOG2_E, PRECISION=precision)
    arguments |= dict(BLOCK_G=block_g, BLOCK_K=block_k, BLOCK_DK=block_dk, BLOCK_DV=block_dv)
    return arguments | dict(EVEN_DK=block_dk == d_k, EVEN_DV=block_dv == d_v)


def _block_k(q: Tensor, k: Tensor, block_g: int, block_d: int, capability: int) -> int:
    """Keys in a tile: fewer for many queries, and for numbers that take a register each."""
    if capability == 0:
        return 32  # interpreted: small, so that small tests cross tile boundaries
    tile_bytes = TILE_BYTES[max(chip for chip in TILE_BYTES if chip <= max(75, capability))]
    number_bytes = 8 if q.dtype == torch.float32 else k.element_size()
    if block_g > 16:
        tile_bytes //= 2
    most = 128 if k.dtype == torch.int8 else 64
    return min(most, max(16, tile_bytes // (number_bytes * block_d)))


def _launch(
    kernel: Any, q: Tensor, k: Tensor, o: Tensor, arguments: dict[str, Any], capability: int
) -> Launch:
    grid = (q.shape[0] * k.shape[1] * arguments["n_tiles"] * o.shape[2],)
    # More warps have more registers: needed for many queries, and on chips without matrix units,
    # where a thread holds whole rows. Paged decoding takes two more stages, because a tile has to
    # wait for its page numbers.
    many = capability < 80 or arguments["BLOCK_G"] > 16
    num_stages = 5 if "table_ptr" in arguments else 3
    return Launch(kernel, grid, arguments, num_warps=8 if many else 4, num_stages=num_stages)
