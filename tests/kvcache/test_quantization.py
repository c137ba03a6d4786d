"""Rounding to few bits: error bounds, packing, and that torch and NumPy agree exactly."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.kvcache import cache_quantized as quantized
from attention_src.kvcache import reference as r

ROUNDING = 2.0**-22  # a few roundings of float32


def numbers(seed, shape, spread):
    """Numbers of different sizes and offsets, some rows constant, some zero."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 10.0 ** rng.uniform(-spread, spread, shape[-1:])
    x += rng.choice([0.0, 3.0, -50.0], size=(*shape[:-1], 1))
    x[rng.random(shape[:-1]) < 0.1] = 0
    x[rng.random(shape[:-1]) < 0.1] = 2.5
    return x.astype(np.float32)


shapes = st.tuples(st.integers(1, 3), st.integers(0, 7), st.integers(1, 9))


@given(st.integers(0, 10**6), shapes, st.sampled_from([4, 8]), st.sampled_from([0, 2]))
def test_symmetric_is_off_by_half_a_step_at_most(seed, shape, bits, spread):
    x = numbers(seed, shape, spread)
    codes, scale = r.quantize_symmetric(x, bits)
    assert codes.dtype == np.int8 and scale.dtype == np.float32
    assert np.abs(codes).max(initial=0) <= 2 ** (bits - 1) - 1
    largest = np.abs(x).max(axis=-1, keepdims=True)
    np.testing.assert_allclose(scale, largest / (2 ** (bits - 1) - 1), rtol=1e-6)
    error = np.abs(r.dequantize_symmetric(codes, scale).astype(np.float64) - x)
    assert (error <= scale / 2 + ROUNDING * largest).all()


@given(
    st.integers(0, 10**6),
    shapes,
    st.sampled_from([4, 8]),
    st.sampled_from([-1, -2]),
    st.sampled_from([0, 2]),
)
def test_asymmetric_is_off_by_half_a_step_at_most(seed, shape, bits, axis, spread):
    x = numbers(seed, (shape[0], shape[1] + 1, shape[2]), spread)
    codes, scale, zero = r.quantize_asymmetric(x, bits, axis)
    assert codes.max() <= 2**bits - 1
    high, low = x.max(axis=axis, keepdims=True), x.min(axis=axis, keepdims=True)
    np.testing.assert_array_equal(zero, low)
    np.testing.assert_allclose(scale, (high - low) / (2**bits - 1), rtol=1e-6)
    error = np.abs(r.dequantize_asymmetric(codes, scale, zero).astype(np.float64) - x)
    assert (error <= scale / 2 + ROUNDING * np.abs(x).max(axis=axis, keepdims=True)).all()


def test_half_a_step_is_reached():
    # 0.5 is midway between two codes of step 1, so the bound cannot be improved.
    x = np.array([[127.0, 0.5, 1.5]])
    codes, scale = r.quantize_symmetric(x)
    assert np.abs(codes * scale - x).max() == scale.item() / 2 == 0.5
    codes, scale, zero = r.quantize_asymmetric(np.array([[-5.0, 10.0, -4.5]]))
    assert np.abs(codes * scale + zero - [[-5.0, 10.0, -4.5]]).max() == scale.item() / 2 == 0.5


def test_the_grids_use_all_codes():
    for bits in (4, 8):
        top = 2 ** (bits - 1) - 1
        whole = np.arange(-top, top + 1)
        codes, scale = r.quantize_symmetric(whole, bits)
        assert scale == 1 and np.array_equal(codes, whole)
        whole = np.arange(2**bits) - 3
        codes, scale, zero = r.quantize_asymmetric(whole, bits)
        assert (scale, zero) == (1, -3) and np.array_equal(codes, whole + 3)


def test_an_outlier_channel_harms_those_who_share_its_grid():
    # What KIVI saw in keys: one channel is large in every token.
    rng = np.random.default_rng(0)
    k = rng.standard_normal((64, 16))
    k[:, 5] = 40 + rng.standard_normal(64)
    others = np.arange(16) != 5
    by_token = r.dequantize_symmetric(*r.quantize_symmetric(k, 4))
    by_channel = r.dequantize_per_channel(*r.quantize_per_channel(k, 4, 32))
    error_by_token = np.abs(by_token - k)[:, others].mean()
    error_by_channel = np.abs(by_channel - k)[:, others].mean()
    assert error_by_token > 5 * error_by_channel


def test_groups_do_not_mix():
    x = np.concatenate([np.linspace(0, 1, 8), np.linspace(100, 400, 8)])[:, None] * [1.0, -2.0]
    codes, scale, zero = r.quantize_per_channel(x, 4, 8)
    assert codes.shape == (16, 2) and scale.shape == zero.shape == (2, 2)
    np.testing.assert_array_equal(zero, [[0, -2], [100, -800]])
    np.testing.assert_allclose(scale, np.array([[1, 2], [300, 600]]) / 15, rtol=1e-6)


@given(st.integers(0, 10**6), st.integers(0, 9), st.integers(0, 3))
def test_packing(seed, d, rows):
    codes = np.random.default_rng(seed).integers(0, 16, (rows, d))
    packed = r.pack_int4(codes)
    assert packed.dtype == np.uint8 and packed.shape == (rows, (d + 1) // 2)
    np.testing.assert_array_equal(r.unpack_int4(packed, d), codes)
    tensor = torch.from_numpy(codes.astype(np.uint8))
    np.testing.assert_array_equal(quantized.pack_int4(tensor), packed)
    np.testing.assert_array_equal(quantized.unpack_int4(quantized.pack_int4(tensor), d), codes)


def test_the_even_place_is_the_low_half():
    assert r.pack_int4([[1, 2, 3]]).tolist() == [[0x21, 0x03]]


@given(st.integers(0, 10**6), shapes, st.sampled_from([4, 8]), st.sampled_from([0, 2, 30]))
def test_torch_gives_the_same_codes(seed, shape, bits, spread):
    x = numbers(seed, shape, spread)
    for ours, theirs in zip(
        quantized.quantize_symmetric(torch.from_numpy(x), bits),
        r.quantize_symmetric(x, bits),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    if shape[1]:
        for axis in (-1, -2):
            for ours, theirs in zip(
                quantized.quantize_asymmetric(torch.from_numpy(x), bits, axis),
                r.quantize_asymmetric(x, bits, axis),
                strict=True,
            ):
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_make_their_group_nan_and_no_other(bad):
    x = np.ones((2, 4), dtype=np.float32) * [[1], [2]]
    x[0, 1] = bad
    found = r.dequantize_symmetric(*r.quantize_symmetric(x))
    assert np.isnan(found[0]).all() and np.array_equal(found[1], x[1])
    found = r.dequantize_asymmetric(*r.quantize_asymmetric(x))
    assert np.isnan(found[0]).all() and np.array_equal(found[1], x[1])
    for quantize in (r.quantize_symmetric, r.quantize_asymmetric):
        twin = getattr(quantized, quantize.__name__)
        for scale in (quantize(x)[1], twin(torch.from_numpy(x))[1].numpy()):
            assert np.isnan(scale[0]) and np.isfinite(scale[1])
    k = torch.from_numpy(x)[None, None]
    for bits, scheme in ((4, "per_token"), (8, "per_token"), (4, "per_channel")):
        cache = quantized.QuantizedKVCache(bits, scheme=scheme, residual=0)
        cache.append(k.repeat(1, 1, 32, 1), k.repeat(1, 1, 32, 1))
        v = cache.read()[1][0, 0]
        assert v[0::2].isnan().all()
        np.testing.assert_allclose(v[1::2], x[[1] * 32], rtol=1e-6)


def test_refusals(untyped):
    for bits in (3, 16, True, 4.0, "8"):
        with pytest.raises(ValueError, match="bits"):
            r.quantize_symmetric([1.0], bits)
        with pytest.raises(ValueError, match="bits"):
            r.quantize_asymmetric([1.0], bits)
    with pytest.raises(ValueError, match=r"x has shape \[5, 2\].*multiple of group=4"):
        r.quantize_per_channel(np.ones((5, 2)), 4, 4)
    with pytest.raises(ValueError, match="group is 0"):
        r.quantize_per_channel(np.ones((5, 2)), 4, 0)
    for codes in ([16], [-1], [0.5]):
        with pytest.raises(ValueError, match="codes do not fit in 4 bits"):
            r.pack_int4(codes)
    with pytest.raises(ValueError, match="packed has 2 bytes a row; for d=5"):
        r.unpack_int4(np.zeros((3, 2), dtype=np.uint8), 5)
    with pytest.raises(ValueError, match="x is a torch tensor"):
        r.quantize_symmetric(torch.ones(3))
    with pytest.raises(ValueError, match=r"scheme is 'kivi'.*'per_token', 'per_channel'"):
        r.read_quantized(np.ones((1, 2)), np.ones((1, 2)), 8, scheme="kivi")
