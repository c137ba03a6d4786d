"""Caches by name, so that one argument changes what a model remembers, and how."""

import re
from collections.abc import Callable
from typing import Any

from attention_src.kvcache.cache import (
    Cache,
    KVCache,
    PagedKVCache,
    QuantizedKVCache,
    WindowedKVCache,
)
from attention_src.kvcache.reference import pages_for
from attention_src.shapes import check_size

NAMES = ("contiguous", "windowed", "int8", "int4", "paged")
WINDOW, SINKS, PAGE_SIZE = 256, 4, 16
MOST = 8192  # tokens in a window or page: all that the model was trained for


def make_caches(cache: Any, n_layers: int, batch: int, max_tokens: int) -> list[Cache]:
    """Make empty caches, one per layer.

    Args:
        cache: one of NAMES, perhaps with sizes: "windowed(256, 4)", "paged(16)"; or a function
            without arguments that makes one layer's cache
        n_layers: number of layers
        batch, max_tokens: paged caches have room for batch sequences of max_tokens
    Returns: n_layers caches
    Raises:
        ValueError: None, an unknown cache, sizes that it does not take or above MOST, or a function
            that does not make a new cache in each call
    """
    if cache is None:
        raise ValueError("cache is None, so there is nothing to make: leave caches=None")
    make = cache if callable(cache) else _maker(cache, batch, max_tokens)
    caches = [make() for _ in range(n_layers)]
    if not all(isinstance(made, Cache) for made in caches):
        raise ValueError(
            f"cache makes a {type(caches[0]).__name__}; it should make one of kvcache.cache"
        )
    if len({id(made) for made in caches}) < n_layers:
        raise ValueError(
            "cache makes one cache for several layers; it should make a new one a call"
        )
    return caches


def check_padding(cache: Any) -> None:
    """Check that masked padding does not change what a cache holds of the other tokens.

    Args:
        cache: one layer's
    Raises:
        ValueError: a windowed cache, whose first tokens would be padding, or one that quantises
            groups of tokens, which would include padding
    """
    grouped = isinstance(cache, QuantizedKVCache) and cache.scheme == "per_channel"
    if grouped or isinstance(cache, WindowedKVCache):
        raise ValueError(
            "prompt has texts of different lengths, and the shorter ones are padded; a cache that "
            'is "windowed" or "int4" would take padding for tokens. Choose "contiguous", "paged" '
            'or "int8", or generate one text after the other'
        )


def _maker(cache: Any, batch: int, max_tokens: int) -> Callable[[], Cache]:
    """Parse a name into a function that makes one layer's cache."""
    found = (
        re.fullmatch(r"(\w+)(?:\( *([0-9]+(?: *, *[0-9]+)*) *\))?", cache)
        if isinstance(cache, str)
        else None
    )
    name, sizes = (found[1], _sizes(cache, found[2])) if found else ("", [])
    if name == "contiguous" and not sizes:
        return KVCache
    if name in ("int8", "int4") and not sizes:
        return lambda: QuantizedKVCache(int(name[3:]))
    if name == "windowed" and len(sizes) in (0, 2):
        window, sinks = sizes or (WINDOW, SINKS)
        return lambda: WindowedKVCache(window, sinks)
    if name == "paged" and len(sizes) in (0, 1):
        page_size = check_size(sizes[0] if sizes else PAGE_SIZE, "page_size", at_least=1)
        return lambda: PagedKVCache(page_size, batch * pages_for(max_tokens, page_size))
    raise ValueError(
        f"cache is {cache!r:.60}; it should be None or one of {', '.join(NAMES)}, with sizes where "
        "it has some: windowed(window, sinks), paged(page_size)"
    )


def _sizes(cache: str, text: str | None) -> list[int]:
    sizes = [size.strip().lstrip("0") or "0" for size in text.split(",")] if text else []
    if any(len(size) > len(str(MOST)) or int(size) > MOST for size in sizes):
        raise ValueError(f"cache is {cache!r:.60}; its sizes should be at most {MOST} tokens")
    return [int(size) for size in sizes]
