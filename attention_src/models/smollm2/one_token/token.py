"""The forward pass for one token on packed weights, in a few compiled calls a layer.

It computes what `forward` does; read that first. There each step is an operation of torch
on a whole tensor. For one token most of them take longer to call than to compute, so here only the
products are torch's, and what stands between two of them is one of `loops`.
"""

import functools
import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import BFloat16, Float32, Int16, Int64, Shaped
from torch import Tensor

from attention_src.kvcache.cache import KVCache
from attention_src.kvcache.cache_base import Layout
from attention_src.models.smollm2.config import Config
from attention_src.models.smollm2.weights import Weights
from attention_src.rope.layer import cos_sin

SLOWER = "each new token then takes about 1.6 times as long"


def next_token_logits(
    config: Config,
    weights: Weights,
    ids: Int64[Tensor, "1 1"],
    positions: Shaped[Tensor, "*one 1"],
    caches: Sequence[KVCache],
) -> Float32[Tensor, "1 1 n_vocabulary"]:
    """Compute what the model expects after one more token.

    Args:
        config, weights, ids, positions, caches: as for `forward`; `takes` says when they fit. The
            token's keys and values are appended to the caches.
    Returns: float32 [1, 1, n_vocabulary]
    """
    c, loops = config, compiled_loops()
    cos, sin = (x.numpy().ravel() for x in cos_sin(positions, c.d_head, base=c.rope_base))
    x = weights.embed(ids).numpy().ravel()  # [d_model], to which each layer adds
    (h, h_bits), (o, o_bits), (a, a_bits) = map(_row, (c.d_model, c.n_heads * c.d_head, c.d_ffn))
    y = np.zeros_like(h_bits)  # nothing to add before the first layer
    for layer, cache in zip(weights.layers, caches, strict=True):
        loops.add_norm(x, y, layer.attention_norm.numpy(), c.epsilon, h_bits)
        qkv, n = _product(h, layer.qkv), len(cache)
        cache.reserve(1)
        keys, values = cache.storage_bits()
        loops.attend(qkv, cos, sin, keys[0], values[0], n, o_bits)
        cache.extend(1)
        y = _product(o, layer.output)
        loops.add_norm(x, y, layer.ffn_norm.numpy(), c.epsilon, h_bits)
        loops.gate(_product(h, layer.gate_up), a_bits)
        y = _product(a, layer.down)
    loops.add_norm(x, y, weights.final_norm.numpy(), c.epsilon, h_bits)
    logits = _product(h, weights.unembedding)  # bits [n_vocabulary]
    return torch.from_numpy(logits).view(torch.bfloat16).float()[None, None]


def takes(
    config: Config,
    weights: Weights,
    ids: Int64[Tensor, "B n"],
    caches: Sequence[Any] | None,
    *,
    plain: bool,
) -> bool:
    """Whether `next_token_logits` can compute what `forward` would.

    Args:
        config, weights, ids, caches: as for `forward`
        plain: whether it has no mask, scaling or probe, and impl "auto"
    Returns: True for one token after others in contiguous caches, if all matrices are packed and
        numba can be used
    """
    if not plain or caches is None or ids.numel() != 1 or not weights.packed:
        return False
    c = config
    layout = Layout(c.n_kv_heads, c.d_head, c.d_head, torch.bfloat16, ids.device)
    fits = all(type(x) is KVCache and x.layout == layout and x.batch == 1 for x in caches)
    return fits and compiled_loops() is not None


def compiled_loops() -> Any:
    """The module `loops`, imported when first needed: that takes half a second, and more memory.

    Returns: None without numba, which may still be installed later; where it is installed but
        cannot be used, one warning tells why
    """
    return _import_loops() if has_numba() else None


@functools.cache
def _import_loops() -> Any:
    try:
        from attention_src.models.smollm2.one_token import loops
    except Exception as error:  # too old for NumPy or the loops; no folder or room for its code
        warnings.warn(f"numba cannot be used, and {SLOWER}: {error}", stacklevel=3)
        return None
    return loops


def has_numba() -> bool:
    """Whether numba is installed, without importing it.

    Returns: True if it can be found
    """
    return importlib.util.find_spec("numba") is not None


def warn_without_numba() -> None:
    """Warn where one token will take torch's operations because numba is not installed."""
    if not has_numba():
        warnings.warn(f"numba is not installed, and {SLOWER}: pip install numba", stacklevel=3)


def _row(d: int) -> tuple[BFloat16[Tensor, "1 d"], Int16[np.ndarray, "d"]]:
    """A new row of numbers for the products, and its bits for the loops."""
    row = torch.empty(1, d, dtype=torch.bfloat16, device="cpu")
    return row, _bits(row)


def _product(x: BFloat16[Tensor, "1 d_in"], w: Any) -> Int16[np.ndarray, "d_out"]:
    """The bits of x @ w; w is packed."""
    return _bits(w.multiply_rows(x))


def _bits(x: BFloat16[Tensor, "1 *axes"]) -> Int16[np.ndarray, "*axes"]:
    """The bits of x[0], in the same memory."""
    return x.view(torch.int16).numpy()[0]
