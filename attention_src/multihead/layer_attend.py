"""Attention with and without a cache, to which new tokens are appended first."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.attention.layer import attention, attention_weights
from attention_src.attention.masks import window_mask
from attention_src.flash.layer import flash_attention
from attention_src.kvcache.cache import WindowedKVCache
from attention_src.kvcache.cache_base import Cache, restored_on_error
from attention_src.kvcache.layer import decode_attention
from attention_src.shapes import check_mask, check_size
from attention_src.tensors import as_tensor


def attend(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    *,
    mask: Any = None,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    impl: str = "auto",
    **options: Any,
) -> Float[Tensor, "B H n_q d_v"]:
    """`attention.layer.attention` or `flash.layer.flash_attention`, whichever has the impl.

    Args:
        q, k, v, mask, causal: as for `attention`
        window, sinks: as for `flash_attention`: the window implies causal
        impl: "dense", "sdpa" or "auto" as in `attention`; "tiled" or "triton" as in
            `flash_attention`
        options: scale, softcap and sink_logits, as for `attention`
    Returns: [B, H, n_q, d_v]
    Raises:
        ValueError: as those two; a mask for "tiled" or "triton"
    """
    if impl not in ("tiled", "triton"):
        mask = _with_window(mask, q, k, window, sinks)
        return attention(q, k, v, mask=mask, causal=causal, impl=impl, **options)
    if mask is not None:
        raise ValueError(
            f"mask is given, but impl is {impl!r}, which never makes a matrix of scores to apply "
            'it to; it should be None, or impl "dense" or "sdpa"'
        )
    options |= dict(window=window, sinks=sinks)
    return flash_attention(q, k, v, causal=causal, impl=impl, **options)


def attend_with_cache(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H_kv n d_k"],
    v: Float[Tensor, "B H_kv n d_v"],
    cache: Cache,
    *,
    mask: Any = None,
    window: int | None = None,
    sinks: int = 0,
    impl: str = "auto",
    **options: Any,
) -> Float[Tensor, "B H n d_v"]:
    """Causal attention of n new tokens: each sees the cached tokens and the new ones up to itself.

    A windowed cache also hides what is outside each token's window. One new token that sees all
    cached ones goes through `decode_attention`, the others through `attend`.

    Args:
        q: [B, H, n, d_k]  queries of the new tokens, already rotated
        k, v: [B, H_kv, n, d_k] and [B, H_kv, n, d_v]  their keys, already rotated, and values
        cache: from `kvcache.cache`, for this layer; afterwards it also holds the new tokens, unless
            an error is raised
        mask: bool, broadcast to [B, H, n, n_k], for the n_k keys in order of position; True = may
            attend
        window, sinks, impl, options: as for `attend`; they hold whatever the cache keeps
    Returns: [B, H, n, d_v]. Cached keys and values carry no gradient.
    Raises:
        ValueError: as `attend` and `cache.append`; "tiled" or "triton" where a mask is needed: a
            mask is given, sequences have different lengths, or a windowed cache holds tokens; keys
            or values that require gradients
    """
    check_cache(cache, causal=True, n=q.shape[-2])
    with restored_on_error([cache], k.shape[-2]):
        return _attend_appended(q, k, v, cache, mask, window, sinks, impl, options)


def _attend_appended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cache: Cache,
    mask: Any,
    window: int | None,
    sinks: int,
    impl: str,
    options: dict[str, Any],
) -> Tensor:
    """As `attend_with_cache`, but with an error the cache may hold the new tokens."""
    check_no_gradients(k, v)
    plain = set(options) <= {"scale"}  # all that decode_attention takes
    own: dict[str, Any] = {}  # the window that the cache keeps
    if isinstance(cache, WindowedKVCache):
        own = dict(window=cache.window, sinks=cache.sinks)
    same = bool(own) and (window is None or own == dict(window=window, sinks=sinks))
    if q.shape[-2] == 1 and mask is None and plain and (same or window is None):
        cache.append(k, v)
        return decode_attention(q, cache, impl=impl, **options)
    options |= dict(impl=impl)
    if same and impl in ("tiled", "triton") and mask is None and cache.n_seen == 0:
        cache.append(k, v)
        return flash_attention(q, k, v, causal=True, **own, **options)
    keys, values, visible = _append(k, v, cache, window, sinks)
    if visible is None:
        near: dict[str, Any] = dict(causal=True, window=window, sinks=sinks)
        return attend(q, keys, values, mask=mask, **near, **options)
    return attend(q, keys, values, mask=_and(mask, visible, q), **options)


def attend_with_weights(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n d_k"],
    v: Float[Tensor, "B H_kv n d_v"],
    cache: Cache | None = None,
    *,
    mask: Any = None,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    impl: str = "auto",
    **options: Any,
) -> tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H n_q n_k"]]:
    """As `attend`, or as `attend_with_cache` where a cache is given, and the weights too.

    Args:
        q, k, v, cache, mask, causal, window, sinks, impl, options: as for `attend`; with a cache,
            causal is not used
    Returns:
        o: [B, H, n_q, d_v], by the impl
        p: [B, H, n_q, n_k], by `attention_weights`; with a cache, for the n_k keys
            in order of position: those it held, and the new ones
    Raises:
        ValueError: as those two; "tiled" or "triton" for a windowed cache
    Cost: O(n_q n_k) memory for p, and its scores are computed a second time.
    """
    with restored_on_error([] if cache is None else [cache], k.shape[-2]):
        if cache is not None:
            check_no_gradients(k, v)
            k, v, visible = _append(k, v, cache, window, sinks)
            causal = visible is None
            if visible is not None:
                mask, window, sinks = _and(mask, visible, q), None, 0
        options |= dict(causal=causal)
        o = attend(q, k, v, mask=mask, window=window, sinks=sinks, impl=impl, **options)
        return o, attention_weights(q, k, mask=_with_window(mask, q, k, window, sinks), **options)


def check_no_gradients(k: Tensor, v: Tensor) -> None:
    """Check that no gradient is expected from what is about to go into a cache.

    Args:
        k, v: new keys and values
    Raises:
        ValueError: gradients are enabled, and k or v require one
    """
    if torch.is_grad_enabled() and (k.requires_grad or v.requires_grad):
        raise ValueError(
            "cache is given, but the new keys and values require gradients, which a cache does not "
            "carry: their projections would not learn. Use torch.no_grad(), or call without cache"
        )


def check_cache(cache: Any, causal: bool, n: int) -> None:
    """Check the cache that a module is given with n new tokens.

    Args:
        cache: should be one of `kvcache.cache`
        causal: as the module was given it
        n: number of new tokens
    Raises:
        ValueError: it is not a cache; several tokens without causal
    """
    if not isinstance(cache, Cache):
        raise ValueError(
            f"cache is a {type(cache).__name__}; it should be one of attention_src.kvcache.cache"
        )
    if not causal and n > 1:
        raise ValueError(
            f"causal is False, but x has {n} tokens that follow what the cache holds, and a token "
            "cannot see later ones through a cache; it should be True"
        )


def _with_window(mask: Any, q: Tensor, k: Tensor, window: int | None, sinks: int) -> Any:
    """The mask, and a window where there is one."""
    if window is None:
        return mask
    near = torch.as_tensor(window_mask(q.shape[-2], k.shape[-2], window, sinks))
    return _and(mask, near.to(q.device), q)


def _and(mask: Any, visible: Tensor, q: Tensor) -> Tensor:
    """Both masks as one, on the device of the second; [..., n_q, n_k] with four axes."""
    visible = visible[None, None] if visible.ndim == 2 else visible
    if mask is None:
        return visible
    mask = as_tensor(mask, "mask", "a boolean tensor or array", device=visible.device)
    check_mask(mask, (*q.shape[:3], visible.shape[-1]))
    return mask & visible


def _append(
    k: Tensor, v: Tensor, cache: Cache, window: int | None, sinks: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """All keys and values, and a mask unless only causal and the window hide keys."""
    if isinstance(cache, WindowedKVCache):
        return _append_windowed(k, v, cache, window, sinks)
    n = k.shape[-2]
    cache.append(k, v)
    keys, values = cache.read()
    lengths = cache.lengths.to(k.device)
    if bool((lengths == keys.shape[-2]).all()):
        return keys, values, None
    t = lengths[:, None, None, None] - n + torch.arange(n, device=k.device)[:, None]  # [B, 1, n, 1]
    j = torch.arange(keys.shape[-2], device=k.device)
    return keys, values, _near(t, j, window, sinks)  # [B, 1, n, n_k]


def _append_windowed(
    k: Tensor, v: Tensor, cache: WindowedKVCache, window: int | None, sinks: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Cached and new keys and values, and which token sees which key.

    The cache is read first, because appending drops keys that the first new tokens still see.
    """
    start, n = cache.n_seen, k.shape[-2]
    t = start + torch.arange(n, device=k.device)  # positions of the new tokens
    keys, values, j = k, v, t
    if start:
        keys, values = cache.read()
        j = torch.cat([cache.positions.to(k.device), t])
    cache.append(k, v)  # which checks them
    if start:
        keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    t = t[:, None]
    visible = _near(t, j, cache.window, cache.sinks) & _near(t, j, window, sinks)
    return keys, values, visible  # [n, n_k]


def _near(t: Tensor, j: Tensor, window: int | None, sinks: int) -> Tensor:
    """As `masks.window_mask`, for tokens at positions t and keys at positions j."""
    visible = j <= t
    if window is None:
        return visible
    window, sinks = check_size(window, "window", at_least=1), check_size(sinks, "sinks")
    return visible & ((t - j < window) | (j < sinks))
