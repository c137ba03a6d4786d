"""The rotation that a config describes, against the cosines and sines of transformers' Llama."""

from types import SimpleNamespace

import pytest

pytest.importorskip("transformers")
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from attention_src.multihead.layer import Rotary
from attention_src.rope.layer import cos_sin
from attention_src.rope.scaling import Llama3, PositionInterpolation, YaRN

YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=512)
LLAMA3 = dict(rope_type="llama3", factor=8.0, original_max_position_embeddings=512)
LLAMA3 |= dict(low_freq_factor=1.0, high_freq_factor=4.0)


@pytest.mark.parametrize(
    "parameters",
    [
        dict(rope_type="default"),
        dict(rope_type="linear", factor=3.0),
        LLAMA3,
        LLAMA3 | dict(low_freq_factor=2.0, high_freq_factor=9.0),
        YARN,
        YARN | dict(factor=None),
        YARN | dict(attention_factor=1.25),
        YARN | dict(beta_fast=9, beta_slow=2),
        YARN | dict(beta_fast=None, beta_slow=None),
        YARN | dict(truncate=False),
        YARN | dict(mscale=0.9, mscale_all_dim=0.5),
        YARN | dict(mscale=0.707),
        YARN | dict(mscale_all_dim=0.707),
    ],
    ids=str,
)
def test_cosines_and_sines_are_those_of_transformers(parameters):
    rope = dict(parameters, rope_theta=5e4)
    sizes = dict(hidden_size=128, num_attention_heads=2, max_position_embeddings=4096)
    config = LlamaConfig(**sizes, rope_parameters=rope)
    positions = torch.arange(61)
    theirs = LlamaRotaryEmbedding(config)(torch.empty(1), positions[None])
    ours = Rotary.of_config(config)
    for a, b in zip(
        cos_sin(positions, 64, base=ours.base, scaling=ours.scaling), theirs, strict=True
    ):
        torch.testing.assert_close(a, b[0, :, :32], rtol=0, atol=1e-5)


def test_what_the_parameters_become():
    def scaling(parameters, **config):
        config = SimpleNamespace(rope_parameters=dict(parameters, rope_theta=100.0), **config)
        return Rotary.of_config(config).scaling

    assert scaling(dict(rope_type="default")) is None
    assert scaling(dict(rope_type="linear", factor=3.0)) == PositionInterpolation(3.0)
    assert scaling(LLAMA3) == Llama3(8.0, 512)
    # A config says what happens to all scores: nothing, unless it gives mscale_all_dim.
    assert scaling(YARN) == YaRN(4.0, 512, mscale_all_dim=0.0)
    deepseek = YARN | dict(mscale=1.0, mscale_all_dim=1.0)
    assert scaling(deepseek) == YaRN(4.0, 512, attention_factor=1.0, mscale_all_dim=1.0)
    assert scaling(YARN, original_max_position_embeddings=64).original_context == 64


def test_before_version_5():
    config = SimpleNamespace(rope_theta=100.0, rope_scaling=None)
    assert Rotary.of_config(config) == Rotary(100.0)
    config.rope_scaling = dict(type="linear", factor=2.0)
    assert Rotary.of_config(config) == Rotary(100.0, scaling=PositionInterpolation(2.0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(rope_type="dynamic", factor=2.0), r"of type 'dynamic'; .*Pass rope=Rotary"),
        (dict(rope_type="longrope"), r"of type 'longrope'; it should be one of \['default'"),
        (dict(rope_type="linear"), r"of type 'linear', but 'factor' is missing"),
        (dict(rope_type="linear", factor=0.5), r"factor is 0\.5; .*at least 1"),
        (dict(full_attention=dict(rope_type="default")), r"a rotation for each of \['full_att"),
    ],
)
def test_refusals(untyped, parameters, message):
    config = SimpleNamespace(rope_parameters=dict(parameters, rope_theta=100.0))
    with pytest.raises(ValueError, match=message):
        Rotary.of_config(config)
