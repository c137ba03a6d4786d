"""SmolLM2's forward pass, from token ids to logits: read this first."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float, Float32, Int, Shaped
from torch import Tensor

from attention_src.kvcache.cache import Cache
from attention_src.models.smollm2.config import Config
from attention_src.models.smollm2.operations import feed_forward, project, rms_norm
from attention_src.models.smollm2.trace import Probe
from attention_src.models.smollm2.weights import Weights
from attention_src.multihead.layer_attend import attend, attend_with_cache
from attention_src.rope.layer import apply_rotation, cos_sin
from attention_src.rope.scaling import Scaling


def forward(
    config: Config,
    weights: Weights,
    ids: Int[Tensor, "B n"],
    positions: Shaped[Tensor, "*B_or_none n"],
    *,
    caches: Sequence[Cache] | None,
    mask: Any,
    impl: str,
    scaling: Scaling | None,
    probe: Probe,
    last: bool,
) -> Float32[Tensor, "B n_out n_vocabulary"]:
    """Compute what the model expects after each token.

        x = embed(ids)
        x = x + W_o attention(rms_norm(x)),  x = x + feed_forward(rms_norm(x))   in each layer
        logits = W_u rms_norm(x)

    Args:
        config, weights: the model
        ids: [B, n]  token ids, checked
        positions: [n] or [B, n]
        caches, mask, impl, scaling, probe, last: as for `SmolLM2.logits`
    Returns: float32 [B, n, n_vocabulary]; with last, n = 1
    Raises:
        ValueError: mask, scaling or positions that attention or the rotation refuse
    """
    c = config
    cos, sin = cos_sin(positions, c.d_head, base=c.rope_base, scaling=scaling)
    x = weights.embed(ids)  # [B, n, d_model]
    probe.hidden(0, x)
    for l, layer in enumerate(weights.layers):
        h = rms_norm(x, layer.attention_norm, c.epsilon)
        q, k, v = split_qkv(project(h, layer.qkv), c)
        q, k = apply_rotation(q, k, cos, sin)
        if caches is None:
            o = attend(q, k, v, mask=mask, causal=True, impl=impl)  # [B, H, n, d_head]
        else:
            o = attend_with_cache(q, k, v, caches[l], mask=mask, impl=impl)
        o = probe.attended(l, q, k, v, o)
        if last and l == c.n_layers - 1:
            x, o = x[:, -1:], o[:, :, -1:]  # from here on only the last token is needed
        x = x + project(o.transpose(1, 2).flatten(2), layer.output)
        h = rms_norm(x, layer.ffn_norm, c.epsilon)
        x = x + feed_forward(h, layer.gate_up, layer.down)
        probe.hidden(l + 1, x)
    x = rms_norm(x, weights.final_norm, c.epsilon)
    return project(x, weights.unembedding).float()  # [B, n, n_vocabulary]


def split_qkv(
    x: Float[Tensor, "B n d_qkv"], config: Config
) -> tuple[
    Float[Tensor, "B H n d_head"],
    Float[Tensor, "B H_kv n d_head"],
    Float[Tensor, "B H_kv n d_head"],
]:
    """Split a layer's joint projection into q, k and v, each with its heads.

    Args:
        x: [B, n, (H + 2 H_kv) d_head]
        config: H, H_kv and d_head
    Returns: q [B, H, n, d_head]; k and v [B, H_kv, n, d_head]
    """
    c = config
    heads = x.view(*x.shape[:2], -1, c.d_head).transpose(1, 2)  # [B, H + 2 H_kv, n, d_head]
    q, k, v = heads.split_with_sizes((c.n_heads, c.n_kv_heads, c.n_kv_heads), dim=1)
    return q, k, v
