"""SmolLM2's forward pass in named parts, yours or ours: `smollm2.forward`, step by step in NumPy.

Norms, feed-forward parts and the last product are not exercises: they stay in torch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Shaped
from torch import Tensor

from attention_src.models.smollm2 import operations as torch_parts
from attention_src.models.smollm2.config import Config
from attention_src.models.smollm2.learner.dispatch import Parts
from attention_src.models.smollm2.trace import Probe
from attention_src.models.smollm2.weights import Layer, Weights
from attention_src.rope.scaling import Scaling
from attention_src.tensors import as_tensor


def forward(
    parts: Parts,
    config: Config,
    weights: Weights,
    ids: Int[Tensor, "B n"],
    positions: Shaped[Tensor, "*B_or_none n"],
    *,
    caches: Sequence[Any] | None,
    mask: Any,
    impl: str,
    scaling: Scaling | None,
    probe: Probe,
    last: bool,
) -> Float32[Tensor, "B n_out n_vocabulary"]:
    """As `smollm2.forward.forward`, on parts.

    Args:
        parts: yours and ours
        config, weights, ids, positions, caches, mask, impl, scaling, probe, last: as for
            `smollm2.forward.forward`
    Returns: float32 [B, n, n_vocabulary]; with last, n = 1
    Raises:
        PartError: a part raised an error, or its answer is not what it should be
        ValueError: impl, scaling, caches or positions that parts cannot follow
    """
    _check(positions, caches, impl, scaling)
    c, where = config, positions.numpy()
    x = weights.embed(ids)  # [B, n, d_model]
    probe.hidden(0, x)
    for l, layer in enumerate(weights.layers):
        h = torch_parts.rms_norm(x, layer.attention_norm, c.epsilon).numpy()
        q, k, v = parts.project(h, *split_weights(layer, c))  # [B, n, H d_head], [B, n, H_kv …]
        q = parts.split_heads(q, c.n_heads)  # [B, H, n, d_head]
        k, v = parts.split_heads(k, c.n_kv_heads), parts.split_heads(v, c.n_kv_heads)
        q, k = parts.rotate(q, where, c.rope_base), parts.rotate(k, where, c.rope_base)
        keys, values = (k, v) if caches is None else caches[l].append_and_read(k, v)
        visible = causal(q.shape[-2], keys.shape[-2], mask)
        o = parts.grouped_attention(q, keys, values, visible)  # [B, H, n, d_head]
        o = probe.attended(l, *map(_tensor, (q, k, v, o))).numpy()
        x = x + torch_parts.project(_tensor(parts.merge_heads(o)), layer.output)
        normed = torch_parts.rms_norm(x, layer.ffn_norm, c.epsilon)
        x = x + torch_parts.feed_forward(normed, layer.gate_up, layer.down)
        probe.hidden(l + 1, x)
    x = torch_parts.rms_norm(x[:, -1:] if last else x, weights.final_norm, c.epsilon)
    return torch_parts.project(x, weights.unembedding)  # [B, n, n_vocabulary]


def split_weights(
    layer: Layer, config: Config
) -> tuple[
    Float[np.ndarray, "d_model d_q"],
    Float[np.ndarray, "d_model d_kv"],
    Float[np.ndarray, "d_model d_kv"],
]:
    """The matrices of queries, keys and values, which a layer holds side by side.

    Args:
        layer: one layer's weights
        config: H, H_kv and d_head
    Returns: w_q [d_model, H d_head]; w_k and w_v [d_model, H_kv d_head]; not to be written to
    """
    assert isinstance(layer.qkv, Tensor)
    qkv, c = layer.qkv.numpy(), config
    qkv.flags.writeable = False
    end_q, end_k = c.n_heads * c.d_head, (c.n_heads + c.n_kv_heads) * c.d_head
    return qkv[:, :end_q], qkv[:, end_q:end_k], qkv[:, end_k:]


def causal(n_q: int, n_k: int, mask: Any) -> Bool[np.ndarray, "*batch n_q n_k"]:
    """Which token sees which: itself and those before it; the queries are the last tokens.

    Args:
        n_q, n_k: new tokens, and all of them
        mask: bool, hides more; None = no more
    Returns: bool [n_q, n_k], or with the axes of mask; True = may attend
    """
    visible = np.tri(n_q, n_k, n_k - n_q, dtype=bool)
    if mask is None:
        return visible
    return visible & as_tensor(mask, "mask", "a boolean tensor or array").numpy()


def _tensor(x: np.ndarray) -> Tensor:
    """x as a tensor in float32, the precision of the rest."""
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))


def _check(
    positions: Tensor, caches: Sequence[Any] | None, impl: str, scaling: Scaling | None
) -> None:
    """Refuse what parts cannot follow."""
    if positions.ndim != 1:
        raise ValueError(
            f"positions has shape {list(positions.shape)}; on parts it should be [n], the same for "
            "all texts: give texts of one length, or one after the other"
        )
    if impl != "auto":
        raise ValueError(f'impl is {impl!r}; the parts are the implementation, so it is "auto"')
    if scaling is not None:
        raise ValueError("scaling is given, but the part rotate takes none; it should be None")
    for cache in caches or ():
        if not hasattr(cache, "append_and_read"):
            raise ValueError(
                f"caches holds a {type(cache).__name__}; on parts they come from new_caches"
            )
