"""Frequencies scaled to longer contexts: end points by hand, and what is refused."""

import math

import numpy as np
import pytest
import torch

from attention_src.rope.scaling import (
    NTK,
    Frequencies,
    Llama3,
    PositionInterpolation,
    YaRN,
    amplitude,
    frequencies,
)
from attention_src.rope.scaling_by_parts import latent_scaling


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


def test_an_untruncated_ramp_ends_between_pairs():
    plain = frequencies(8, base=10.0)
    scaled = frequencies(8, base=10.0, scaling=YaRN(4.0, 1000, truncate=False))
    low = 4 * math.log10(1000 / (2 * math.pi * 32))  # 2.79; the other end is d - 1 = 7
    r = (3 - low) / (7 - low)
    np.testing.assert_allclose(scaled / plain, [1, 1, 1, (1 - r) + r / 4], rtol=1e-14)


def test_llama3_by_turns():
    scaling = Llama3(8.0, 8192, low_freq_factor=1.0, high_freq_factor=4.0)
    plain, scaled = (frequencies(128, base=5e5, scaling=s) for s in (None, scaling))
    turns = 8192 * plain / (2 * math.pi)
    assert np.array_equal(scaled[turns >= 4], plain[turns >= 4])
    np.testing.assert_allclose(scaled[turns <= 1] * 8, plain[turns <= 1], rtol=1e-15)
    between = (turns > 1) & (turns < 4)
    share = (turns[between] - 1) / 3
    expected = share * plain[between] + (1 - share) * plain[between] / 8
    assert between.sum() == 6
    np.testing.assert_allclose(scaled[between], expected, rtol=1e-14)


def test_given_frequencies():
    theta = [1.0, 0.25, 0.0]
    for given in (theta, tuple(theta), np.array(theta), torch.tensor(theta, dtype=torch.bfloat16)):
        scaling = Frequencies(given, attention_factor=1.5)
        assert scaling == Frequencies(theta, 1.5) and hash(scaling) == hash(Frequencies(theta, 1.5))
        assert np.array_equal(frequencies(6, base=7.0, scaling=scaling), theta)
        assert amplitude(scaling) == 1.5


def test_latent_attention_splits_yarns_factor():
    assert latent_scaling(None) == (None, 1.0)
    assert latent_scaling(NTK(2.0)) == (NTK(2.0), 1.0)
    a = 0.1 * math.log(40) + 1
    rotation, factor = latent_scaling(YaRN(40.0, 4096))
    assert rotation == YaRN(40.0, 4096, attention_factor=1.0) and factor == a**2
    whole = YaRN(40.0, 4096, attention_factor=1.0, mscale_all_dim=1.0)  # DeepSeek-V3's
    assert latent_scaling(whole) == (whole, a**2)
    assert latent_scaling(YaRN(40.0, 4096, mscale_all_dim=0.0))[1] == 1.0


def test_factor_one_changes_nothing():
    for scaling in (PositionInterpolation(1.0), NTK(1), YaRN(1.0, 2048), Llama3(1.0, 2048)):
        np.testing.assert_allclose(frequencies(64, scaling=scaling), frequencies(64), rtol=1e-15)
        assert amplitude(scaling) == 1.0


def test_amplitude():
    assert amplitude() == amplitude(PositionInterpolation(7.0)) == amplitude(NTK(7.0)) == 1.0
    assert amplitude(Llama3(7.0, 64)) == amplitude(Frequencies([1.0])) == 1.0
    assert amplitude(YaRN(16.0, 4096)) == 0.1 * math.log(16.0) + 1
    assert amplitude(YaRN(16.0, 4096, attention_factor=1.25)) == 1.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PositionInterpolation(0.5), r"factor is 0\.5; .*finite number of at least 1"),
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
        (lambda: YaRN(2.0, 64, truncate=1), r"truncate is 1; it should be True or False"),
        (lambda: YaRN(2.0, 64, mscale_all_dim=-1.0), r"mscale_all_dim is -1\.0; .*at least 0"),
        (lambda: Llama3(0.5, 64), r"factor is 0\.5; .*at least 1"),
        (lambda: Llama3(2.0, 0), r"original_context is 0; it should be at least 1"),
        (lambda: Llama3(2.0, 64, 0.0), r"low_freq_factor is 0\.0; .*above 0"),
        (lambda: Llama3(2.0, 64, 4.0, 4.0), r"high_freq_factor is 4\.0; .*above 4"),
        (lambda: Frequencies([]), r"theta is \[\]; it should be a row of d/2 numbers"),
        (lambda: Frequencies(0.5), r"theta is 0\.5; it should be a row"),
        (lambda: Frequencies(np.ones((2, 3))), r"theta\[0\] is \[1\.0, 1\.0, 1\.0\]; .*finite"),
        (lambda: Frequencies([1.0, math.nan]), r"theta\[1\] is nan; .*at least 0"),
        (lambda: Frequencies([1.0], 0.0), r"attention_factor is 0\.0; .*above 0"),
        (
            lambda: frequencies(8, scaling=Frequencies([1.0])),
            r"gives 1 frequencies but d is 8; .*d/2 = 4",
        ),
    ],
)
def test_refusals(untyped, make, message):
    with pytest.raises(ValueError, match=message):
        make()
