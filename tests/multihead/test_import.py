"""Attention of transformers' architectures: converted to the same function, or refused by name."""

import pytest

pytest.importorskip("transformers")
import torch
from transformers.models.llama.modeling_llama import (  # noqa: F401  Doubled's file has these
    LlamaAttention,
    LlamaRotaryEmbedding,
    eager_attention_forward,
)

from attention_src.multihead.layer import MultiHeadAttention, Rotary
from attention_src.rope.scaling import PositionInterpolation

from .peers import EXPERTS, calls_of, model_of

ROPE = dict(rope_type="default", rope_theta=10000.0)
SLIDING = dict(sliding_window=3, layer_types=["sliding_attention", "full_attention"])
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=100.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
# Architecture, its settings, and what the first layer's module should have.
REPRESENTED = {
    "llama": (dict(attention_bias=True), dict(n_kv_heads=2, d_k=8, window=None)),
    "llama3": (dict(model_type="llama", rope_parameters=LLAMA3), dict(n_kv_heads=2)),
    "mistral": (dict(sliding_window=3), dict(window=3)),
    "mixtral": (dict(sliding_window=3, **EXPERTS), dict(window=3)),
    "qwen2": (dict(), dict(window=None)),
    "qwen3": (dict(), dict(qk_norm="head")),
    "qwen3_moe": (EXPERTS, dict(qk_norm="head")),
    "olmo2": (dict(), dict(qk_norm="width")),
    "olmo3": (SLIDING, dict(qk_norm="width", window=3)),
    "gemma": (dict(num_key_value_heads=1), dict(n_kv_heads=1)),
    "gemma2": (dict(SLIDING, query_pre_attn_scalar=11), dict(window=3, softcap=50.0)),
    "gemma3_text": (SLIDING | dict(query_pre_attn_scalar=11), dict(qk_norm="head", window=3)),
    "granite": (dict(attention_multiplier=0.9), dict(scale=0.9)),
    "cohere": (dict(), dict(qk_norm=None)),
    "cohere2": (SLIDING, dict(window=3)),
    "ernie4_5": (dict(use_bias=True), dict()),
    "helium": (dict(hidden_size=32), dict()),
    "glm": (dict(attention_bias=True), dict()),
    "glm4": (dict(), dict()),
    "stablelm": (dict(hidden_size=32, use_qkv_bias=True), dict()),
    "phi": (dict(), dict()),
    "nemotron": (dict(), dict()),
    "seed_oss": (dict(residual_dropout=0.0), dict(dropout=0.1)),
    "starcoder2": (dict(sliding_window=3, residual_dropout=0.0), dict(window=3)),
    "smollm3": (dict(no_rope_layers=[0, 1]), dict(rope=None)),
    "gpt_oss": (SLIDING | EXPERTS, dict(window=3)),
    "exaone4": (SLIDING, dict(qk_norm="head", window=3)),
}


@pytest.mark.parametrize("name", REPRESENTED)
def test_equal(name):
    settings, expected = REPRESENTED[name]
    calls = calls_of(model_of(**(dict(model_type=name) | settings)))
    assert len(calls) == 2  # one for each layer
    for i, (theirs, x, y) in enumerate(calls):
        ours = MultiHeadAttention.from_transformers(theirs)
        for option, value in expected.items() if i == 0 else ():
            assert getattr(ours, option) == value, option
        actual = ours(x, causal=True).detach()
        torch.testing.assert_close(actual, y, rtol=0, atol=1e-5 * y.abs().max().item())


REFUSED = [
    ("qwen3_vl_moe_text", dict(EXPERTS, sliding_window=3), "attends with sliding_window=None"),
    ("minimax", dict(EXPERTS, sliding_window=3), "attends with sliding_window=3"),
    ("cohere", dict(use_qk_norm=True), "it has a CohereLayerNorm; it should be an RMSNorm"),
    ("stablelm", dict(qk_layernorm=True), "it has a StableLmLayerNormPerHead"),
    ("olmo", dict(clip_qkv=0.1), "its config has clip_qkv=0.1"),
    ("diffllama", dict(), "it has groupnorm"),
    ("starcoder2", dict(residual_dropout=0.1), "it has residual_dropout"),
    ("hunyuan_v1_dense", dict(), "it has query_layernorm"),
    ("ministral3", dict(), "its config has llama_4_scaling_beta"),
    ("llama", dict(rope_parameters=dict(ROPE, rope_type="dynamic", factor=2.0)), "'dynamic'"),
]


@pytest.mark.parametrize(("model_type", "settings", "message"), REFUSED)
def test_refused(model_type, settings, message):
    for module in model_of(model_type, **settings).modules():
        if hasattr(module, "q_proj"):
            with pytest.raises(ValueError, match=message):
                MultiHeadAttention.from_transformers(module)
            return
    raise AssertionError("no attention module was found")


def test_what_is_no_attention_is_refused():
    for theirs in (torch.nn.Linear(3, 3), torch.nn.MultiheadAttention(8, 2)):
        with pytest.raises(ValueError, match="its forward takes no hidden_states"):
            MultiHeadAttention.from_transformers(theirs)


def test_a_rotation_may_be_given():
    theirs, x, y = calls_of(model_of("llama"))[0]
    longer = Rotary(scaling=PositionInterpolation(2.0))
    ours = MultiHeadAttention.from_transformers(theirs, rope=longer)
    assert ours.rope == longer
    halved = ours(x, causal=True, positions=2 * torch.arange(x.shape[1])).detach()
    torch.testing.assert_close(halved, y, rtol=0, atol=1e-5 * y.abs().max().item())


class Doubled(LlamaAttention):
    def forward(self, hidden_states, position_embeddings=None, attention_mask=None):
        return super().forward(2 * hidden_states, position_embeddings, attention_mask)


class Warmer(LlamaAttention):
    """Equal to Llama's for the first 1000 positions."""

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None, position_ids=0):
        x = hidden_states * (1 + position_ids[..., None] // 1000)
        return super().forward(x, position_embeddings, attention_mask)


@pytest.mark.parametrize("kind", [Doubled, Warmer])
def test_another_function_of_known_parts_is_refused(kind):
    theirs = calls_of(model_of("llama"))[0][0]
    theirs.__class__ = kind
    with pytest.raises(ValueError, match=f"theirs is a {kind.__name__} of known parts, but"):
        MultiHeadAttention.from_transformers(theirs)


def test_a_rotation_that_cannot_be_built_is_refused(monkeypatch):
    theirs = calls_of(model_of("llama"))[0][0]
    theirs.__class__ = Doubled  # this file is its own
    monkeypatch.setitem(globals(), "LlamaRotaryEmbedding", lambda config: config.no_such_entry)
    with pytest.raises(ValueError, match=r"it does not run by itself \(AttributeError"):
        MultiHeadAttention.from_transformers(theirs)


def test_a_module_that_looks_ahead_is_refused():
    theirs = calls_of(model_of("llama"))[0][0]
    theirs.is_causal = False
    with pytest.raises(ValueError, match="it is not causal"):
        MultiHeadAttention.from_transformers(theirs)


@pytest.mark.parametrize("training", [False, True])
def test_training_is_theirs(training):
    theirs = calls_of(model_of("llama", attention_dropout=0.3))[0][0].train(training)
    ours = MultiHeadAttention.from_transformers(theirs)
    assert ours.training == training and ours.dropout == 0.3
