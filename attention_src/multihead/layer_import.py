"""Attention of other libraries as a `MultiHeadAttention`: the same function, or a ValueError."""

from typing import Any

from torch import Tensor, nn

from attention_src.multihead.layer_compare import difference, randomised, window_of
from attention_src.multihead.layer_recognise import (
    gain_of,
    norms_of,
    options_of,
    projections_of,
    rotations_of,
)
from attention_src.multihead.layer_rotary import Rotary

TOLERANCE = 1e-4  # of the largest output; both run in float32


def from_torch(cls: Any, theirs: nn.MultiheadAttention, **options: Any) -> Any:
    """A module with the weights of a torch.nn.MultiheadAttention.

    Args:
        cls: `MultiHeadAttention`
        theirs: its keys and values are as wide as its queries; no add_bias_kv or add_zero_attn
        options: arguments of cls, except d_model, n_heads and bias, which are theirs
    Returns: the same function of x [B, n, d_model]
    Raises:
        ValueError: theirs uses an option that cls does not have
    """
    if theirs.in_proj_weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError(
            "theirs has its own widths for keys and values, add_bias_kv or add_zero_attn; it "
            "should have none of them"
        )
    bias = theirs.in_proj_bias is not None
    ours = cls(theirs.embed_dim, theirs.num_heads, bias=bias, **options)
    weights = [*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight]
    loaded = {f"{name}_proj.weight": w for name, w in zip("qkvo", weights, strict=True)}
    if bias:
        biases = [*theirs.in_proj_bias.chunk(3), theirs.out_proj.bias]
        loaded |= {f"{name}_proj.bias": b for name, b in zip("qkvo", biases, strict=True)}
    return _load(ours, loaded)


def from_transformers(
    cls: Any, theirs: Any, *, rope: bool | Rotary | None = None, impl: str = "auto"
) -> Any:
    """A module with the weights of a decoder's self-attention from transformers.

    Each part of theirs must be one that is known here. Then both run on random weights and tokens,
    and must agree. That also tells which components their rotation pairs: no config says so.

    Args:
        cls: `MultiHeadAttention`
        theirs: a LlamaAttention, or like it: q_proj, k_proj, v_proj and o_proj, perhaps with
            biases, norms of queries and keys, a window, a softcap or sinks; its model gives it
            rotary positions and a causal mask
        rope: instead of their rotation, which is then not compared; None = theirs
        impl: as for cls
    Returns: the same function of x; call it with causal=True. Another mask that its model makes
        (between the tokens of an image, for example) is not part of theirs: pass it as mask=.
    Raises:
        ValueError: names the part of theirs that cls does not have; the results differ
    Cost: two copies of the weights, in float32.
    """
    options = options_of(theirs)
    rotations = rotations_of(theirs) if rope is None else [rope]
    twin = randomised(theirs)
    options |= dict(window=window_of(twin))
    for rotation in rotations:
        ours = _convert(cls, twin, dict(options, rope=rotation, impl="dense"))
        if difference(ours, twin, rotated=rope is None) < TOLERANCE:
            return _convert(cls, theirs, dict(options, rope=rotation, impl=impl))
    raise ValueError(
        f"theirs is a {type(theirs).__name__} of known parts, but on random weights and tokens its "
        "results differ from a MultiHeadAttention of these parts: it does something else with them"
    )


def _convert(cls: Any, theirs: Any, options: dict[str, Any]) -> Any:
    """A module of these options with the weights of theirs."""
    ours = cls(**options)
    loaded: dict[str, Tensor] = {}
    for name, part in zip("qkvo", projections_of(theirs), strict=True):
        loaded |= {f"{name}_proj.{key}": tensor for key, tensor in part.state_dict().items()}
    if ours.qk_norm is not None:
        for name, norm in zip(("q_norm", "k_norm"), norms_of(theirs), strict=True):
            loaded[f"{name}.weight"] = gain_of(norm)
    if ours.sink_logits is not None:
        loaded["sink_logits"] = theirs.sinks
    return _load(ours, loaded).train(theirs.training)


def _load(ours: nn.Module, tensors: dict[str, Tensor]) -> nn.Module:
    """Copy all parameters, by name, in the dtype and on the device of the given; return ours."""
    ours.to(tensors["q_proj.weight"])
    ours.load_state_dict(tensors)
    return ours
