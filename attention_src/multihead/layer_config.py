"""The rotation that a transformers config describes, as a base and one of `rope.scaling`."""

from typing import Any

from attention_src.rope.scaling import Llama3, PositionInterpolation, YaRN
from attention_src.rope.scaling_by_parts import mscale


def rotation_of_config(config: Any) -> tuple[float, Any]:
    """Read the rotation's base and scaling from a config.

    Args:
        config: has rope_parameters, or rope_theta and perhaps rope_scaling before version 5; its
            rope_type is default, linear, yarn or llama3
    Returns: the base; None, a PositionInterpolation, a YaRN or a Llama3
    Raises:
        ValueError: another rope_type, by name; a rotation for each type of layer; a parameter that
            is missing or out of range
    Source: transformers 5, modeling_rope_utils.py, ROPE_INIT_FUNCTIONS.
    """
    parameters = getattr(config, "rope_parameters", None)
    if parameters is None:  # before version 5
        parameters = {"rope_theta": config.rope_theta, **(config.rope_scaling or {})}
    if any(isinstance(value, dict) for value in parameters.values()):
        raise ValueError(
            f"the config has a rotation for each of {list(parameters)}; it should have one. Pass "
            "rope=Rotary(base, scaling=...) to each layer"
        )
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    readers: dict[str, Any] = dict(default=_default, linear=_linear, yarn=_yarn, llama3=_llama3)
    if kind not in readers:
        raise ValueError(
            f"the config's rotation is of type {kind!r}; it should be one of {list(readers)}. "
            "Pass rope=Rotary(base, scaling=...): Frequencies state any fixed rotation; dynamic "
            "and longrope change with the length of the sequence"
        )
    try:
        return float(parameters["rope_theta"]), readers[kind](parameters, config)
    except KeyError as missing:
        raise ValueError(
            f"the config's rotation is of type {kind!r}, but {missing} is missing from its "
            f"parameters {parameters}"
        ) from None


def _default(parameters: dict, config: Any) -> None:
    """Not scaled."""


def _linear(parameters: dict, config: Any) -> PositionInterpolation:
    return PositionInterpolation(parameters["factor"])


def _llama3(parameters: dict, config: Any) -> Llama3:
    low, high = parameters["low_freq_factor"], parameters["high_freq_factor"]
    return Llama3(parameters["factor"], _original_context(parameters, config), low, high)


def _yarn(parameters: dict, config: Any) -> YaRN:
    context = _original_context(parameters, config)
    factor = parameters["factor"]
    if factor is None:  # as in DeepSeek's configs
        factor = config.max_position_embeddings / context
    attention_factor = parameters.get("attention_factor")
    ours, all_dim = parameters.get("mscale"), parameters.get("mscale_all_dim")
    if attention_factor is None and ours and all_dim:
        attention_factor = mscale(factor, ours) / mscale(factor, all_dim)
    return YaRN(
        factor,
        context,
        beta_fast=parameters.get("beta_fast") or 32.0,
        beta_slow=parameters.get("beta_slow") or 1.0,
        attention_factor=attention_factor,
        truncate=parameters.get("truncate", True),
        mscale_all_dim=all_dim or 0.0,  # without it, no factor on all scores
    )


def _original_context(parameters: dict, config: Any) -> int:
    """The context before scaling; the config's own entry wins over its parameters', as in Phi-3."""
    own = getattr(config, "original_max_position_embeddings", None)
    context = own or parameters.get("original_max_position_embeddings")
    return context or config.max_position_embeddings
