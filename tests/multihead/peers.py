"""transformers models of a few hundred parameters, and what their attention modules compute."""

import inspect

import torch
from transformers import AutoConfig, AutoModel

SIZES = dict(
    hidden_size=24,
    intermediate_size=16,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    num_hidden_layers=2,
    vocab_size=13,
    max_position_embeddings=64,
    pad_token_id=0,
)
EXPERTS = dict(num_local_experts=2, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=8)


def model_of(model_type, **settings):
    """A small model of an architecture, random, that attends step by step."""
    config = AutoConfig.for_model(model_type, **(SIZES | settings))
    torch.manual_seed(0)
    return AutoModel.from_config(config, attn_implementation="eager").eval()


def attention_modules(model):
    """The modules of a model with three projections."""
    return [m for m in model.modules() if all(hasattr(m, f"{x}_proj") for x in "qkv")]


@torch.no_grad()
def calls_of(model, n=11):
    """Run a model on n tokens: (module, its input, its output) for each causal self-attention."""
    calls, hooks = [], []

    def record(module, arguments, named, result):
        named = inspect.signature(module.forward).bind(*arguments, **named).arguments
        y = result[0] if isinstance(result, tuple) else result
        if named.get("attention_mask") is not None:  # part of a model may be run without one
            calls.append((module, named.get("hidden_states"), y))

    for module in attention_modules(model):
        hooks.append(module.register_forward_hook(record, with_kwargs=True))
        for p in module.parameters():  # small or equal numbers would hide differences
            p.normal_(0, 1 if p.ndim < 2 else p.shape[-1] ** -0.5)
    try:
        model(input_ids=torch.arange(1, n + 1)[None])
    finally:
        for hook in hooks:
            hook.remove()
    return calls
