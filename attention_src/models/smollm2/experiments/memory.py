"""What SmolLM2 loses with less memory: windows, quantised caches, merged heads, far positions.

Each experiment has small defaults (under 20 seconds on two cores), reports its steps to `progress`
(None = silent) and returns perplexities. Compare orderings: differences of a few hundredths are
noise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from attention_src.kvcache.cache import Cache, KVCache, QuantizedKVCache
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.experiments import Progress, corpus_ids, perplexity, say
from attention_src.models.smollm2.weights import Layer, Weights
from attention_src.rope.scaling import NTK, PositionInterpolation, YaRN
from attention_src.shapes import check_groups

# Caches, by the names to show. Without a residual, which would keep the newest tokens exact and
# hide the effect.
QUANTIZED: dict[str, Callable[[], Cache]] = {
    "float32": KVCache,
    "int8": lambda: QuantizedKVCache(8),
    "int4 symmetric": lambda: QuantizedKVCache(4, scheme="per_token"),
    "int4 per channel": lambda: QuantizedKVCache(4, scheme="per_channel", residual=0),
}
TRAINED = 8192
SCALINGS: dict[str, Any] = {
    "none": None,
    "PI × 4": PositionInterpolation(4.0),
    "NTK × 4": NTK(4.0),
    "YaRN × 4": YaRN(4.0, TRAINED),
}


@dataclass(frozen=True)
class Streaming:
    """Perplexity of the tokens after the first window.

    full: with all tokens visible
    windowed: by number of sinks
    """

    full: float
    windowed: dict[int, float]


def streaming(
    model: SmolLM2,
    *,
    window: int = 128,
    sinks: Sequence[int] = (0, 1, 4),
    n: int = 768,
    text: str = "tide_mill",
    progress: Progress = print,
) -> Streaming:
    """Limit the model to a window, with and without the first tokens.

    The cache holds `window` tokens in all: the first `sinks` and the last `window − sinks`, at
    their own positions. One pass through a windowed cache equals feeding tokens one by one.

    Args:
        model: SmolLM2
        window: tokens in the cache
        sinks: numbers of first tokens among them, each tried
        n: number of tokens of text
        text: one of `corpus.TEXTS`
        progress: called with a line for each step; None = silent
    Returns: Streaming
    Raises:
        ValueError: sinks that fill the window; a window as long as the text
    Cost: a pass of n tokens for each of sinks, and one more.
    Source: Xiao et al. 2023 (StreamingLLM), arXiv:2309.17453, Table 1; they rotate by positions in
        the cache, we by positions in the text.
    """
    ids = corpus_ids(model, n, text)
    if not max(sinks, default=0) < window < n - 1:
        raise ValueError(
            f"window is {window}; it should be above all of sinks, {list(sinks)}, and below "
            f"n - 1 = {n - 1}"
        )
    say(progress, f"streaming: all {n} tokens in sight")
    full = perplexity(model.nll(ids)[window:])
    windowed = {}
    for first in sinks:
        say(progress, f"streaming: {first} first and {window - first} last tokens in sight")
        caches = model.new_caches(f"windowed({window - first}, {first})")
        windowed[first] = perplexity(model.nll(ids, caches=caches)[window:])
    return Streaming(full, windowed)


def quantized_caches(
    model: SmolLM2,
    caches: Mapping[str, Callable[[], Cache]] = QUANTIZED,
    *,
    n: int = 384,
    text: str = "rivers",
    progress: Progress = print,
) -> dict[str, float]:
    """Store keys and values in fewer bits, and measure perplexity.

    Every query reads all keys and values from the cache, its own included.

    Args:
        model: SmolLM2
        caches: maps names to functions that make one layer's cache
        n, text, progress: as for `streaming`
    Returns: perplexity by name
    Cost: a pass of n tokens for each cache.
    Source: Liu et al. 2024 (KIVI), arXiv:2402.02750, Table 1.
    """
    ids = corpus_ids(model, n, text)
    found = {}
    for name, make in caches.items():
        say(progress, f"cache: {name}")
        found[name] = perplexity(model.nll(ids, caches=model.new_caches(make)))
    return found


def position_gap(
    model: SmolLM2,
    *,
    gaps: Sequence[int] = (0, 4096, 16384),
    scalings: Mapping[str, Any] = SCALINGS,
    n: int = 384,
    moved: int = 192,
    text: str = "rivers",
    progress: Progress = print,
) -> dict[str, dict[int, float]]:
    """Move the end of a text far from its beginning, and measure perplexity there.

        positions: 0 … n − moved − 1, then the last `moved` tokens `gap` places further on

    Distances within each part stay the same; those between the parts exceed the trained ones: a
    cheap stand-in for a text of that length.

    Args:
        model: SmolLM2, trained on 8,192 positions
        gaps: distances, each tried
        scalings: maps names to None or one of `rope.scaling`
        n, text, progress: as for `streaming`
        moved: number of tokens that are moved
    Returns: perplexity of the moved tokens, by name and gap
    Raises:
        ValueError: moved is not between 1 and n − 2
    Cost: a pass of n tokens for each gap and scaling.
    Source: Chen et al. 2023, arXiv:2306.15595 (PI); Peng et al. 2023, arXiv:2309.00071 (YaRN).
    """
    ids = corpus_ids(model, n, text)
    if not 1 <= moved <= n - 2:
        raise ValueError(f"moved is {moved}; it should be from 1 to n - 2 = {n - 2}")
    found: dict[str, dict[int, float]] = {}
    for name, scaling in scalings.items():
        found[name] = {}
        for gap in gaps:
            say(progress, f"gap: {gap} positions, scaling {name}")
            positions = torch.arange(n)
            positions[n - moved :] += gap
            nll = model.nll(ids, positions=positions, scaling=scaling)
            found[name][gap] = perplexity(nll[n - moved :])
    return found


def pool_kv_heads(model: SmolLM2, n_kv_heads: int = 1) -> SmolLM2:
    """The model with fewer key/value heads: the mean of each group of them, without training.

        W_K' = mean over the group of W_K,  W_V' = mean over the group of W_V

    Args:
        model: SmolLM2, with 3 key/value heads
        n_kv_heads: number of heads that remain; divides 3
    Returns: a SmolLM2 that shares all other weights; its caches take n_kv_heads / 3 of the bytes
    Raises:
        ValueError: n_kv_heads does not divide; weights that were loaded as "int4"
    Source: Ainslie et al. 2023 (GQA), arXiv:2305.13245, section 2.1.
    """
    if model.stored == "int4":
        raise ValueError("model has weights in 4 bits, which have no mean; load them as 'float'")
    c = model.config
    group = check_groups(c.n_kv_heads, n_kv_heads)
    widths = [heads * c.d_head for heads in (c.n_heads, c.n_kv_heads, c.n_kv_heads)]

    def pooled(layer: Layer) -> Layer:
        assert isinstance(layer.qkv, torch.Tensor)
        q, k, v = layer.qkv.split(widths, dim=1)
        k, v = (w.unflatten(1, (n_kv_heads, group, c.d_head)).mean(2).flatten(1) for w in (k, v))
        return replace(layer, qkv=torch.cat([q, k, v], dim=1))

    w = model.weights
    weights = Weights(w.unembedding, [pooled(layer) for layer in w.layers], w.final_norm)
    return SmolLM2(replace(c, n_kv_heads=n_kv_heads), weights, model.tokenizer)


def mean_pooled_heads(
    model: SmolLM2, *, n: int = 384, text: str = "rivers", progress: Progress = print
) -> dict[int, float]:
    """Merge the key/value heads into one, and measure perplexity: why uptraining is needed.

    Args:
        model: SmolLM2
        n, text, progress: as for `streaming`
    Returns: perplexity by number of key/value heads
    Cost: two passes of n tokens.
    Source: Ainslie et al. 2023 (GQA), arXiv:2305.13245, sections 2.1 and 3.3.
    """
    ids = corpus_ids(model, n, text)
    found = {}
    for heads in (model.config.n_kv_heads, 1):
        say(progress, f"key/value heads: {heads}")
        found[heads] = perplexity(pool_kv_heads(model, heads).nll(ids))
    return found
