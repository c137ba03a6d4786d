"""Frequencies scaled to longer contexts: end points by hand, and transformers as a peer."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from attention_src.rope.scaling import NTK, PositionInterpolation, YaRN, amplitude, frequencies


def test_position_interpolation_divides_positions():
    np.testing.assert_allclose(
        frequencies(10, scaling=PositionInterpolation(4.0)) * 4, frequencies(10), rtol=1e-15
    )


@pytest.mark.parametrize("d", [4, 64, 128])
def test_ntk_keeps_the_fastest_pair_and_interpolates_the_slowest(d):
    plain, scaled = frequencies(d, base=500.0), frequencies(d, base=500.0, scaling=NTK(8.0))
    assert scaled[0] == plain[0] == 1.0
    assert math.isclose(scaled[-1], plain[-1] / 8)
    larger_base = 500.0 * 8.0 ** (d / (d - 2))
    np.testing.assert_allclose(scaled, frequencies(d, base=larger_base), rtol=1e-14)


def test_yarn_by_turns():
    plain, scaled = frequencies(128), frequencies(128, scaling=YaRN(16.0, 4096))
    turns = 4096 * plain / (2 * math.pi)
    ratio = plain / scaled
    # The ends of the ramp are rounded outwards, so pairs a step beyond them are outside the ramp.
    assert np.array_equal(ratio[turns > 32 * 1.2], np.ones((turns > 32 * 1.2).sum()))
    np.testing.assert_allclose(ratio[turns < 1 / 1.2], 16, rtol=1e-14)
    between = ratio[(turns < 32) & (turns > 1)]
    assert (np.diff(between) > 0).all() and between[0] > 1 and between[-1] < 16


def test_yarn_where_the_ramp_lies_outside_the_pairs():
    # Every pair turns more than 32 times: none is scaled.
    assert np.array_equal(
        frequencies(4, base=10.0, scaling=YaRN(4.0, 10**6)), frequencies(4, base=10.0)
    )
    # All but the fastest pair turn less than once.
    scaled = frequencies(8, base=1e12, scaling=YaRN(4.0, 8))
    np.testing.assert_allclose(scaled[1:] * 4, frequencies(8, base=1e12)[1:], rtol=1e-14)


def test_yarn_where_the_ramp_ends_behind_the_last_pair():
    # 32 turns at pair 2.8 and one turn at pair 8.8: the ramp begins at 2 and ends at 7 = d - 1.
    plain, scaled = frequencies(8, base=10.0), frequencies(8, base=10.0, scaling=YaRN(4.0, 1000))
    np.testing.assert_allclose(scaled / plain, [1, 1, 1, 0.8 + 0.2 / 4], rtol=1e-14)


def test_factor_one_changes_nothing():
    for scaling in (PositionInterpolation(1.0), NTK(1), YaRN(1.0, 2048)):
        np.testing.assert_allclose(frequencies(64, scaling=scaling), frequencies(64), rtol=1e-15)
        assert amplitude(scaling) == 1.0


def test_amplitude():
    assert amplitude() == amplitude(PositionInterpolation(7.0)) == amplitude(NTK(7.0)) == 1.0
    assert amplitude(YaRN(16.0, 4096)) == 0.1 * math.log(16.0) + 1
    assert amplitude(YaRN(16.0, 4096, attention_factor=1.25)) == 1.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PositionInterpolation(0.5), r"factor is 0\.5; .*finite number, at least 1"),
        (lambda: PositionInterpolation(math.nan), r"factor is nan"),
        (lambda: PositionInterpolation(True), r"factor is True"),
        (lambda: NTK("2"), r"factor is '2'"),
        (lambda: NTK(math.inf), r"factor is inf"),
        (lambda: frequencies(2, scaling=NTK(2.0)), r"d is 2, but NTK .* at least 4"),
        (lambda: YaRN(0.0, 64), r"factor is 0\.0"),
        (lambda: YaRN(2.0, 0), r"original_context is 0; it should be at least 1"),
        (lambda: YaRN(2.0, 64.0), r"original_context is 64\.0; it should be a whole number"),
        (lambda: YaRN(2.0, 64, beta_slow=0.0), r"beta_slow is 0\.0; .*above 0"),
        (lambda: YaRN(2.0, 64, beta_fast=1.0), r"beta_fast is 1\.0; .*above 1"),
        (lambda: YaRN(2.0, 64, attention_factor=-1.0), r"attention_factor is -1\.0; .*above 0"),
    ],
)
def test_refusals(untyped, make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
