"""Decoding: one query per head attends to a cache, whatever kind of cache it is."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.attention.layer import attention, attention_lse
from attention_src.attention.layer_fused import torch_attention
from attention_src.attention.layer_scores import fused_attention, is_trusted
from attention_src.kvcache.cache import (
    Cache,
    KVCache,
    PagedKVCache,
    QuantizedKVCache,
    WindowedKVCache,
)
from attention_src.shapes import check_groups, check_impl, check_scale
from attention_src.tensors import (
    call_kernel,
    check_tensors,
    compute_dtype,
    kernel_takes,
    without_autocast,
)
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

IMPLS = ("auto", "dense", "sdpa", "tiled", "triton")
TILE = 256  # keys in a tile of impl "tiled"
KERNEL_MAX_D = 256  # the widest d_k and d_v that the kernels take


@without_autocast
def decode_attention(
    q: Float[Tensor, "B H one d_k"],
    cache: Cache,
    *,
    scale: float | None = None,
    impl: str = "auto",
) -> Float[Tensor, "B H one d_v"]:
    """The newest token's queries attend to everything a cache holds.

        o = softmax(scale * q k^T) v,  k, v = cache.read()

    There is no mask: append the token's own key and value first, then every held key is visible.

    Args:
        q: [B, H, 1, d_k]  query head h uses key/value head h // (H / H_kv)
        cache: of the same B, d_k, dtype and device
        scale: None = d_k ** -0.5
        impl: "dense": read the cache, then attend; works for every cache. "sdpa": the same with
            torch's fused function. "tiled": dense on tiles of 256 keys, joined by `merge_partials`
            as the kernels do. "triton": a kernel attends to the cache's storage in place, without
            a copy and without gradients; for contiguous, windowed and paged caches, and for
            symmetric 8-bit codes without a residual. "auto": "triton" for CUDA tensors in float16,
            bfloat16 or float32 that require no gradient, with such a cache and d_k and d_v of at
            most 256 (8-bit codes: an even d_v), else "sdpa".
    Returns: [B, H, 1, d_v]  o, in q's dtype, differentiable in q; 0 for a sequence without tokens.
        Before the first append a cache does not know d_v; then d_k is taken.
    Raises:
        ValueError: more than one query; a shape, dtype or device other than the cache's; an unknown
            impl; "triton" for a cache without a kernel
        RuntimeError: a derivative that the impl lacks
    Cost: as `reference.decode`.
    Source: Shazeer 2019, arXiv:1911.02150, section 2.4. "tiled": Dao et al. 2023, Flash-Decoding.
    """
    check_impl(impl, IMPLS)
    if not _fits(q, cache):
        _check_query(q, cache)
    scale = check_scale(scale, q.shape[-1])
    if impl == "triton" and not has_kernel(cache):
        raise ValueError(
            f"impl is 'triton', but {_describe(cache)} has no kernel; choose 'dense' or 'tiled', "
            "or QuantizedKVCache(8)"
        )
    if cache.layout is None:
        return torch.zeros_like(q)
    if impl == "auto":
        impl = "triton" if _prefers_kernel(q, cache) else "sdpa"
    if impl == "triton":
        return _triton(q, cache, scale)
    if impl == "tiled":
        return _tiled(q, cache, scale)
    k, v = cache.read()
    visible = _visible(cache, k.shape[-2])
    o = None
    if impl == "sdpa" and k.shape[-2]:
        o = _fused(q, k, v, visible, scale)
    return attention(q, k, v, mask=visible, scale=scale, impl="dense") if o is None else o


def _fused(
    q: Float[Tensor, "B H one d_k"],
    k: Float[Tensor, "B H_kv n d_k"],
    v: Float[Tensor, "B H_kv n d_v"],
    visible: Tensor | None,
    scale: float,
) -> Float[Tensor, "B H one d_v"] | None:
    """torch's fused function on what was checked already; None = use dense."""
    if visible is not None or not q.is_cpu:
        return fused_attention(q, k, v, visible, None, scale, is_causal=False)
    o = _on_cpu(q, k, v, scale)
    return o if is_trusted(o) else None


def _on_cpu(
    q: Float[Tensor, "B H one d_k"],
    k: Float[Tensor, "B H_kv n d_k"],
    v: Float[Tensor, "B H_kv n d_v"],
    scale: float,
) -> Float[Tensor, "B H one d_v"]:
    """torch's fused function, in the form that a CPU computes faster.

    In 16 bits its enable_gqa takes several times as long as in float32. The queries that share a
    head see all keys, so they can as well be several rows of that head, which is faster.
    """
    (B, H), H_kv = q.shape[:2], k.shape[1]
    if H_kv == H or q.element_size() > 2:
        return torch_attention(q, k, v, None, scale)
    rows = q.reshape(B, H_kv, H // H_kv, -1)
    return torch_attention(rows, k, v, None, scale).reshape(B, H, 1, -1)


def merge_partials(
    o_parts: Float[Tensor, "S *rows d_v"], lse_parts: Float[Tensor, "S *rows"]
) -> tuple[Float[Tensor, "*rows d_v"], Float[Tensor, "*rows"]]:
    """As `reference.merge_partials`, on tensors.

    Returns: o [..., d_v] and lse [...], in float32 at least
    Raises:
        ValueError: not floating-point tensors; they differ in their leading axes
    """
    check_tensors(one_dtype=False, o_parts=o_parts, lse_parts=lse_parts)
    if o_parts.ndim < 2 or o_parts.shape[:-1] != lse_parts.shape:
        raise ValueError(
            f"lse_parts has shape {list(lse_parts.shape)} but o_parts has {list(o_parts.shape)}; "
            "they should be [S, ...] and [S, ..., d_v]"
        )
    dtype = compute_dtype(o_parts)
    lse_parts = lse_parts.to(dtype)
    lse = lse_parts.logsumexp(dim=0)  # [...]
    share = (lse_parts - lse.masked_fill(lse == -torch.inf, 0)).exp()[..., None]  # [S, ..., 1]
    o = (share * o_parts.to(dtype).masked_fill(share == 0, 0)).sum(dim=0)
    return o, lse


def has_kernel(cache: Cache) -> bool:
    """Whether a kernel attends to this cache's storage.

    Args:
        cache: any of the caches
    Returns: True for contiguous, windowed and paged caches, and for symmetric 8-bit codes without
        a residual
    """
    if isinstance(cache, QuantizedKVCache):
        return cache.is_int8
    return isinstance(cache, KVCache | WindowedKVCache | PagedKVCache)


def _prefers_kernel(q: Tensor, cache: Cache) -> bool:
    known = cache.layout
    assert known is not None
    if not kernel_takes(q) or (q.requires_grad and torch.is_grad_enabled()):
        return False
    fits = max(known.d_k, known.d_v) <= KERNEL_MAX_D
    if isinstance(cache, QuantizedKVCache):
        fits = fits and known.d_v % 2 == 0
    return has_kernel(cache) and fits


def _fits(q: Any, cache: Any) -> bool:
    """Whether q fits the cache: a quick test, as every layer runs it for every token."""
    if type(cache) is not KVCache or cache.layout is None or type(q) is not Tensor or q.ndim != 4:
        return False
    known, (B, H, n, d_k) = cache.layout, q.shape
    return (
        (B, n, d_k) == (cache.batch, 1, known.d_k)
        and H > 0 == H % known.H_kv
        and q.dtype == known.dtype
        and q.device == known.device
        and q.layout is torch.strided
    )


def _check_query(q: Tensor, cache: Cache) -> None:
    check_tensors(q=q)
    if not isinstance(cache, Cache):
        raise ValueError(f"cache is a {type(cache).__name__}; it should be one of kvcache.cache")
    if q.ndim != 4 or q.shape[-2] != 1:
        raise ValueError(
            f"q has shape {list(q.shape)}; it should be [B, H, 1, d_k]. For several queries at "
            "once, a prefill, use attention.layer.attention(q, *cache.read(), causal=True)"
        )
    known = cache.layout
    if known is None:
        return
    if (q.shape[0], q.shape[3]) != (cache.batch, known.d_k):
        raise ValueError(
            f"q has B={q.shape[0]} and d_k={q.shape[3]}, but the cache holds B={cache.batch} and "
            f"d_k={known.d_k}"
        )
    check_groups(q.shape[1], known.H_kv)
    if (q.dtype, q.device) != (known.dtype, known.device):
        raise ValueError(
            f"q is {q.dtype} on {q.device}, but the cache holds {known.dtype} on {known.device}"
        )


def _describe(cache: Cache) -> str:
    if isinstance(cache, QuantizedKVCache):
        return (
            f"QuantizedKVCache with bits={cache.bits}, scheme={cache.scheme!r}, "
            f"residual={cache.residual}"
        )
    return type(cache).__name__


def _visible(cache: Cache, n: int) -> Tensor | None:
    """bool [B, 1, 1, n]  the keys before each sequence's end; None = all are visible."""
    if not isinstance(cache, PagedKVCache):
        return None
    lengths = cache.lengths
    return (torch.arange(n, device=lengths.device) < lengths[:, None])[:, None, None]


def _tiled(q: Tensor, cache: Cache, scale: float) -> Tensor:
    """Attend to each tile of keys on its own, then join the results.

    Here the tiles follow one another; the kernels handle their splits in parallel.
    """
    k, v = cache.read()
    visible = _visible(cache, k.shape[-2])
    dtype = compute_dtype(q)  # partial results are not rounded to q's dtype
    q_wide = q.to(dtype)
    o_parts, lse_parts = [], []
    for start in range(0, max(1, k.shape[-2]), TILE):
        tile = slice(start, start + TILE)
        k_tile, v_tile = k[:, :, tile].to(dtype), v[:, :, tile].to(dtype)
        mask = None if visible is None else visible[..., tile]
        o_parts.append(attention(q_wide, k_tile, v_tile, mask=mask, scale=scale, impl="dense"))
        lse_parts.append(attention_lse(q_wide, k_tile, mask=mask, scale=scale))
    o, _ = merge_partials(torch.stack(o_parts), torch.stack(lse_parts))
    return o.to(q.dtype)


def _triton(q: Tensor, cache: Any, scale: float) -> Tensor:
    """Run the kernel for this cache on its storage."""
    from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged

    if isinstance(cache, PagedKVCache):
        pages = cache.k_pages, cache.v_pages
        return call_kernel(
            decode_paged, "dense", q, *pages, cache.block_table, cache.lengths, scale
        )
    if isinstance(cache, QuantizedKVCache):
        return call_kernel(decode_int8, "dense", q, *cache.stored_int8(), cache.lengths, scale)
    # The whole storage of a contiguous cache has the same shape for many tokens, so they share one
    # launch. The kernel reads up to the lengths.
    k, v = cache.storage() if isinstance(cache, KVCache) else cache.stored()
    return call_kernel(decode_contiguous, "dense", q, k, v, cache.lengths, scale)
