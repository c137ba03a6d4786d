"""Each rope_type of transformers that can be stated here, against their ROPE_INIT_FUNCTIONS."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from attention_src.rope.scaling import (
    NTK,
    Frequencies,
    Llama3,
    PositionInterpolation,
    YaRN,
    amplitude,
    frequencies,
)


def peer(kind, d, base, max_positions, *, seq_len=None, **parameters):
    """Frequencies and attention factor of transformers."""
    rope = pytest.importorskip("transformers.modeling_rope_utils")
    config = SimpleNamespace(
        rope_parameters=dict(rope_theta=base, rope_type=kind, **parameters),
        standardize_rope_params=lambda: None,
        hidden_size=4 * d,
        num_attention_heads=4,
        max_position_embeddings=max_positions,
    )
    theta, factor = rope.ROPE_INIT_FUNCTIONS[kind](config, device="cpu", seq_len=seq_len)
    return theta.numpy(), factor


SIZES = pytest.mark.parametrize(
    ("d", "base", "context"), [(64, 1e4, 2048), (128, 1e4, 4096), (96, 5e5, 8192), (80, 1e6, 1024)]
)


@SIZES
@pytest.mark.parametrize("factor", [1.0, 2.0, 4.0, 40.0])
def test_transformers_agree(d, base, context, factor):
    ours = PositionInterpolation(factor)
    theta, attention_factor = peer("linear", d, base, context, factor=factor)
    np.testing.assert_allclose(frequencies(d, base=base, scaling=ours), theta, rtol=1e-6)
    assert attention_factor == amplitude(ours)

    # Their dynamic NTK, for a sequence `factor` times longer than the context, is the static one.
    ours = NTK(factor)
    length = int(factor * context)
    theta, _ = peer("dynamic", d, base, context, seq_len=length, factor=1.0)
    np.testing.assert_allclose(frequencies(d, base=base, scaling=ours), theta, rtol=1e-6)

    for betas in (dict(), dict(beta_fast=16.0, beta_slow=2.0)):
        ours = YaRN(factor, context, **betas)
        parameters = dict(factor=factor, original_max_position_embeddings=context, **betas)
        theta, attention_factor = peer("yarn", d, base, int(factor * context), **parameters)
        np.testing.assert_allclose(frequencies(d, base=base, scaling=ours), theta, rtol=1e-6)
        assert math.isclose(attention_factor, amplitude(ours))
    theta, attention_factor = peer("yarn", d, base, 9, **parameters, attention_factor=1.5)
    assert attention_factor == amplitude(YaRN(factor, context, attention_factor=1.5))


@SIZES
def test_yarn_with_an_untruncated_ramp(d, base, context):
    parameters = dict(factor=8.0, truncate=False)
    theta, _ = peer("yarn", d, base, 9, original_max_position_embeddings=context, **parameters)
    ours = YaRN(8.0, context, truncate=False)
    np.testing.assert_allclose(frequencies(d, base=base, scaling=ours), theta, rtol=1e-6)


@SIZES
@pytest.mark.parametrize(
    ("factor", "low", "high"), [(1.0, 1.0, 4.0), (8.0, 1.0, 4.0), (32.0, 2, 7)]
)
def test_llama3(d, base, context, factor, low, high):
    parameters = dict(factor=factor, low_freq_factor=low, high_freq_factor=high)
    theta, attention_factor = peer(
        "llama3", d, base, 9, original_max_position_embeddings=context, **parameters
    )
    ours = Llama3(factor, context, low, high)
    np.testing.assert_allclose(frequencies(d, base=base, scaling=ours), theta, rtol=1e-6)
    assert attention_factor == amplitude(ours) == 1.0


def test_dynamic_for_one_length_is_ntk():
    theta, _ = peer("dynamic", 64, 1e4, 2048, seq_len=5000, factor=3.0)
    ours = NTK(3.0 * 5000 / 2048 - 2.0)
    np.testing.assert_allclose(frequencies(64, scaling=ours), theta, rtol=1e-6)


@pytest.mark.parametrize(("length", "name"), [(4096, "short_factor"), (4097, "long_factor")])
def test_longrope_for_one_length_is_a_row_of_frequencies(length, name):
    factors = dict(short_factor=np.linspace(1, 2, 32), long_factor=np.linspace(1, 60, 32))
    lists = {key: row.tolist() for key, row in factors.items()}
    theta, a = peer(
        "longrope",
        64,
        1e4,
        9,
        seq_len=length,
        factor=32.0,
        original_max_position_embeddings=4096,
        **lists,
    )
    ours = Frequencies(frequencies(64) / factors[name], math.sqrt(1 + math.log(32, 4096)))
    np.testing.assert_allclose(frequencies(64, scaling=ours), theta, rtol=1e-6)
    assert math.isclose(a, amplitude(ours))


def test_proportional_is_a_row_of_frequencies():
    theta, _ = peer("proportional", 64, 1e4, 9, partial_rotary_factor=0.25)
    ours = Frequencies(np.where(np.arange(32) < 8, frequencies(64), 0.0))
    np.testing.assert_allclose(frequencies(64, scaling=ours), theta, rtol=1e-6)
