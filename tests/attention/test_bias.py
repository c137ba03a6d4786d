"""Biases by distance: ALiBi's slopes as published, T5's buckets as in transformers, bad input."""

import numpy as np
import pytest
import torch

from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.attention.layer import attention
from attention_src.attention.reference import attention as reference
from attention_src.flash.layer import flash_attention

# As printed in the paper's section 3 for 8 heads; as the authors' code gives them for 12.
PUBLISHED = {
    8: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
    12: [
        *(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625),
        *(0.7071067811865476, 0.35355339059327384, 0.17677669529663692, 0.08838834764831849),
    ],
}


@pytest.mark.parametrize("n_heads", PUBLISHED)
def test_slopes_are_the_published_ones(n_heads):
    np.testing.assert_allclose(alibi_slopes(n_heads), PUBLISHED[n_heads], rtol=1e-14)


def test_slopes_of_any_number_of_heads():
    for n_heads in range(1, 70):
        slopes = alibi_slopes(n_heads)
        assert slopes.shape == (n_heads,) and len(set(slopes)) == n_heads
        assert ((slopes > 0) & (slopes < 1)).all()
    np.testing.assert_allclose(alibi_slopes(16)[1::2], alibi_slopes(8), rtol=1e-14)


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (5, 3), (1, 7), (7, 1), (0, 3), (3, 0)])
def test_alibi_entry_by_entry(n_q, n_k):
    slopes = [0.5, 0.125, 3.0]
    for given in (slopes, np.array(slopes, np.float16), torch.tensor(slopes).bfloat16()):
        if isinstance(given, torch.Tensor):
            given = given.float()
        bias = Alibi(given).array(n_q, n_k)
        assert bias.shape == (3, n_q, n_k) and bias.dtype == np.float64
        for h, i, j in np.ndindex(bias.shape):
            assert bias[h, i, j] == -slopes[h] * abs(i + n_k - n_q - j)


def test_alibi_of_a_square_and_of_integers():
    bias = Alibi([1, 2]).array(3)
    assert bias.tolist() == [
        [[-x * abs(i - j) for j in range(3)] for i in range(3)] for x in (1, 2)
    ]


def test_a_tile_is_a_part_of_the_whole():
    whole = torch.from_numpy(Alibi(alibi_slopes(3)).array(7, 11))
    alibi = Alibi(torch.from_numpy(alibi_slopes(3)))
    t, j = torch.arange(2, 5) + 11 - 7, torch.arange(4, 9)
    assert torch.equal(alibi.tile(t, j), whole[:, 2:5, 4:9])
    several = alibi.tile(torch.stack([t, t - 4]), j)  # two sequences
    assert torch.equal(several[0], alibi.tile(t, j)) and several.shape == (2, 3, 3, 5)
    assert torch.equal(several[1], alibi.tile(t - 4, j))


BAD = [
    (lambda: alibi_slopes(0), "n_heads is 0; it should be at least 1"),
    (lambda: alibi_slopes(2.5), "n_heads is 2.5"),
    (lambda: Alibi(torch.ones(3, requires_grad=True)), r"slopes require a gradient.*pass bias=-sl"),
    (lambda: Alibi(np.ones((3, 1))), r"slopes have shape \[3, 1\].*a row of real numbers, \[H\]"),
    (lambda: Alibi(0.5), r"slopes have shape \[\]"),
    (lambda: Alibi([True, False]), "slopes have .* dtype bool"),
    (lambda: Alibi(np.ones(3, complex)), "slopes have .* dtype complex128"),
    (lambda: Alibi([1.0]).array(-1), "n_q is -1"),
    (lambda: Alibi([1.0]).array(3, 2.5), "n_k is 2.5"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()


def refusals(name, given):
    """What all say that take it: the reference, the layer with each impl, and the tiles."""
    q, k = np.ones((len(given), 2, 3, 4)), np.ones((len(given), 2, 5, 4))
    on_tensors = [attention] if name == "mask" else [attention, flash_attention]
    impls = {attention: ("dense", "sdpa"), flash_attention: ("dense", "sdpa", "tiled", "triton")}
    calls = [(reference, (q, k, k), {})]
    for function in on_tensors:
        given_to = tuple(torch.from_numpy(x) for x in (q, k, k))
        calls += [(function, given_to, dict(impl=impl)) for impl in impls[function]]
    said = set()
    for function, inputs, options in calls:
        with pytest.raises(ValueError, match=name) as error:
            function(*inputs, **options, **{name: given})
        said.add(str(error.value))
    return said


def test_a_bias_of_two_axes_is_as_ambiguous_as_a_mask(untyped):
    (bias,) = refusals("bias", np.zeros((3, 5)))
    (mask,) = refusals("mask", np.ones((3, 5), bool))
    assert bias == mask.replace("mask", "bias") and "B = n_q = 3, so its first axis" in bias


def test_a_bias_for_each_sequence_is_told_its_axes(untyped):
    (said,) = refusals("bias", np.zeros((2, 5)))
    assert said.endswith("One row for each sequence, [B, n_k]? bias[:, None, None]")


def test_a_bias_of_two_axes_is_taken_where_it_is_clear():
    q, k = np.ones((2, 2, 3, 4)), np.arange(80.0).reshape(2, 2, 5, 4)
    bias = np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_array_equal(
        reference(q, k, k, bias=bias), reference(q, k, k, bias=bias[None, None])
    )
