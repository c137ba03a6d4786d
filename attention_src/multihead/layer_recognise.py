"""What a transformers attention module consists of, as arguments of `MultiHeadAttention`.

Whatever is not on these lists is refused by name: it may change the function.
"""

import copy
import inspect
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_src.multihead.layer_rotary import Rotary

OUTPUTS = ("o_proj", "out_proj", "dense")
NORMS = (("q_norm", "k_norm"), ("q_layernorm", "k_layernorm"))
ARGUMENTS = {
    "hidden_states", "position_embeddings", "attention_mask", "past_key_values", "position_ids",
    "cache_position", "output_attentions", "use_cache",
}  # fmt: skip
# Read below; or sizes, which the weights give too; or switches whose effect shows in any output, so
# that `layer_import` sees it when it compares.
ATTRIBUTES = {
    "training", "config", "layer_idx", "head_dim", "scaling", "is_causal", "sliding_window",
    "attention_dropout", "attn_logit_softcapping", "num_key_value_groups", "num_heads",
    "num_attention_heads", "num_key_value_heads", "hidden_size", "layer_type", "attention_type",
    "is_sliding", "use_rope", "force_rope", "use_qk_norm", "qk_layernorm", "rotary_ndims",
    "partial_rotary_factor", "rope_parameters", "max_position_embeddings",
    "sliding_window_pattern",
}  # fmt: skip
# They change large values or far positions only, which a comparison may miss; or what the model
# gives to the module.
SETTINGS = {
    "clip_qkv", "attention_chunk_size", "mrope_section", "mrope_interleaved",
    "llama_4_scaling_beta",
}  # fmt: skip


def options_of(theirs: Any) -> dict[str, Any]:
    """The arguments of `MultiHeadAttention` that theirs needs, but for rope, window and impl.

    Args:
        theirs: an attention module of transformers
    Returns: arguments by name
    Raises:
        ValueError: names what is not known here
    """
    _check_parts(theirs)
    _check_settings(theirs)
    q, k, v, o = projections_of(theirs)
    d_k = theirs.head_dim
    n_heads, n_kv_heads = q.out_features // d_k, k.out_features // d_k
    d_v = v.out_features // n_kv_heads
    if o.in_features != n_heads * d_v:
        raise refusal(
            theirs,
            f"q_proj gives {n_heads} heads of head_dim={d_k}, but o_proj takes {o.in_features} "
            f"numbers, not {n_heads} * {d_v}; one of them does more than project",
        )
    return dict(
        d_model=q.in_features,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_k=d_k,
        d_v=d_v,
        bias="".join(x for x, p in zip("qkvo", (q, k, v, o), strict=True) if p.bias is not None),
        scale=getattr(theirs, "scaling", None),
        softcap=getattr(theirs, "attn_logit_softcapping", None),
        sink_logits=getattr(theirs, "sinks", None) is not None,
        dropout=float(getattr(theirs, "attention_dropout", 0.0)),
        **_norm_options(theirs),
    )


def projections_of(theirs: Any) -> list[nn.Linear]:
    """The four projections.

    Args:
        theirs: an attention module of transformers
    Returns: those of q, k, v and o
    Raises:
        ValueError: names what is missing, or is not an nn.Linear
    """
    output = next((name for name in OUTPUTS if hasattr(theirs, name)), OUTPUTS[0])
    parts = []
    for name in ("q_proj", "k_proj", "v_proj", output):
        part = getattr(theirs, name, None)
        if type(part) is not nn.Linear:
            raise refusal(theirs, f"{name} is a {type(part).__name__}; it should be an nn.Linear")
        parts.append(part)
    return parts


def norms_of(theirs: Any) -> tuple[Any, Any]:
    """The norms of its queries and keys.

    Args:
        theirs: an attention module of transformers
    Returns: two modules, for q and k; None where there is none
    """
    names = next((pair for pair in NORMS if hasattr(theirs, pair[0])), NORMS[0])
    return getattr(theirs, names[0], None), getattr(theirs, names[1], None)


def gain_of(norm: Any) -> Tensor:
    """What an RMSNorm multiplies by, read off its result: the weight, or 1 + weight as in Gemma.

    Args:
        norm: with a weight [d] and an eps
    Returns: [d]
    """
    ones = torch.ones_like(norm.weight)
    return norm(ones) * (1 + _eps(norm)) ** 0.5


def rotations_of(theirs: Any) -> list[Any]:
    """The rotations that the config allows: of either pairing of components, and none at all.

    Args:
        theirs: an attention module of transformers
    Returns: values for the argument rope
    Raises:
        ValueError: the config has no rotation, or one of a type that `Rotary` does not have
    """
    parameters = _rope_parameters(theirs)
    if "rope_theta" not in parameters:
        raise refusal(theirs, "its config has no rope_theta; its model should rotate")
    fraction = parameters.get("partial_rotary_factor", 1.0)
    config = copy.copy(theirs.config)
    config.rope_parameters = parameters
    d_rotary = None if fraction == 1 else int(theirs.head_dim * fraction)
    rotary = replace(Rotary.of_config(config), d_rotary=d_rotary)
    return [rotary, replace(rotary, interleaved=True), False]


def layer_type(theirs: Any) -> str | None:
    """The type of its layer: "full_attention", "sliding_attention" or another.

    Args:
        theirs: an attention module of transformers
    Returns: the type; None if its config has none
    """
    types = getattr(theirs.config, "layer_types", None)
    index = getattr(theirs, "layer_idx", None)
    return None if types is None or index is None else types[index]


def refusal(theirs: Any, reason: str) -> ValueError:
    """The error that says why a module cannot be represented.

    Args:
        theirs: an attention module of transformers
        reason: what it has, and what it should have
    Returns: the error, to be raised
    """
    return ValueError(f"theirs is a {type(theirs).__name__} that cannot be converted: {reason}")


def _check_parts(theirs: Any) -> None:
    """ValueError that names an argument, part, parameter or attribute which is not known here."""
    arguments = inspect.signature(theirs.forward).parameters
    for name in ("hidden_states", "position_embeddings", "attention_mask"):
        if name not in arguments:
            raise refusal(theirs, f"its forward takes no {name}")
    for name, argument in arguments.items():
        if name not in ARGUMENTS and argument.kind is not argument.VAR_KEYWORD:
            raise refusal(theirs, f"its forward takes {name}, which is not known here")
    for name in ("config", "head_dim"):
        if not hasattr(theirs, name):
            raise refusal(theirs, f"it has no {name}")
    parts = ["q_proj", "k_proj", "v_proj", *OUTPUTS, *NORMS[0], *NORMS[1]]
    known = dict(_modules=parts, _parameters=["sinks"], _buffers=[], __dict__=ATTRIBUTES)
    for kind, names in known.items():
        for name, value in getattr(theirs, kind).items():
            off = value is None or value is False or (isinstance(value, float) and value == 0)
            if name not in names and not name.startswith("_") and not off:
                raise refusal(theirs, f"it has {name}, which is not known here")


def _check_settings(theirs: Any) -> None:
    """ValueError that names a setting which is not known here."""
    if not getattr(theirs, "is_causal", True):
        raise refusal(theirs, "it is not causal")
    settings = vars(theirs.config) | _rope_parameters(theirs)
    for name in SETTINGS:
        if settings.get(name) is not None:
            raise refusal(
                theirs, f"its config has {name}={settings[name]}, which is not known here"
            )


def _rope_parameters(theirs: Any) -> dict[str, Any]:
    """The config's rope_parameters for this layer."""
    config = theirs.config
    parameters = getattr(config, "rope_parameters", None)
    if parameters is None:  # before version 5
        parameters = dict(getattr(config, "rope_scaling", None) or {})
        for name in ("rope_theta", "partial_rotary_factor"):
            if getattr(config, name, None) is not None:
                parameters[name] = getattr(config, name)
    return parameters.get(layer_type(theirs), parameters)


def _norm_options(theirs: Any) -> dict[str, Any]:
    """qk_norm and norm_eps."""
    q_norm, k_norm = norms_of(theirs)
    if q_norm is None and k_norm is None:
        return {}
    q, k, *_ = projections_of(theirs)
    widths = []
    for norm in (q_norm, k_norm):
        names = [name for name, _ in norm.named_parameters()] if norm is not None else []
        if "RMSNorm" not in type(norm).__name__ or names != ["weight"] or _eps(norm) is None:
            raise refusal(
                theirs, f"it has a {type(norm).__name__}; it should be an RMSNorm with eps"
            )
        widths.append(tuple(norm.weight.shape))
    heads, whole = 2 * [(theirs.head_dim,)], [(q.out_features,), (k.out_features,)]
    if widths not in (heads, whole) or _eps(q_norm) != _eps(k_norm):
        raise refusal(theirs, f"its norms have weights of shapes {widths}, or two eps")
    return dict(qk_norm="head" if widths == heads else "width", norm_eps=_eps(q_norm))


def _eps(norm: Any) -> Any:
    """An RMSNorm's eps, by either of its names; None if it has neither."""
    return getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
