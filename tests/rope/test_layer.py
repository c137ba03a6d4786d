"""The layer in PyTorch: gates in every dtype, gradients, precision far out, a peer, refusals."""

import math

import numpy as np
import pytest
import torch

from attention_src.rope import reference
from attention_src.rope.layer import apply_rotation, cos_sin, frequencies, rotate, rotate_qk
from attention_src.rope.scaling import NTK, Frequencies, Llama3, PositionInterpolation, YaRN
from attention_src.testing import assert_sharp, assert_within_budget

from .cases import NAMES, exact, plain, results, tensors

GIVEN = Frequencies([1.0, 0.3, 0.7, 0.0, 0.01], attention_factor=1.25)
SCALINGS = (None, PositionInterpolation(4.0), NTK(4.0), YaRN(4.0, 64), Llama3(4.0, 64), GIVEN)
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SHARP = {torch.float32: 1e-6, torch.float64: 1e-14}
# B, H, H_kv, n, d: distinct primes, one token, none, one pair, grouped heads.
SIZES = [(2, 3, 3, 5, 14), (1, 6, 2, 37, 22), (3, 2, 1, 1, 2), (2, 3, 1, 0, 4)]
PAIRINGS = pytest.mark.parametrize("interleaved", [False, True])


def positions_for(B, n):
    """Consecutive and large, the same for all sequences; fractional, different for each."""
    each = np.random.default_rng(n).random((B, n)) * 1e5
    return [torch.arange(n) + 131072 - n, torch.from_numpy(each)]


@PAIRINGS
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(size, dtype, interleaved):
    B, _, _, n, d = size
    inputs = tensors(*size, dtype)
    for positions, scaling in zip(positions_for(B, n), (None, YaRN(4.0, 64)), strict=True):
        options = dict(interleaved=interleaved, scaling=scaling if d > 2 else None)
        actual = results(lambda q, k: rotate_qk(q, k, positions, **options), *inputs)  # noqa: B023
        right = exact(*inputs, positions, **options)
        cos, sin = cos_sin(positions, d, scaling=options["scaling"], dtype=torch.float64)
        rounded = plain(*inputs, cos, sin, interleaved)
        for name, a, e, p in zip(NAMES, actual, right, rounded, strict=True):
            assert a.dtype == dtype
            if dtype in SHARP:
                assert_sharp(a, e, rtol=SHARP[dtype], name=name)
            if dtype != torch.float64:  # the reference is no more exact than that
                assert_within_budget(a, e, p, name=name)


@PAIRINGS
def test_gradcheck(interleaved):
    options = dict(interleaved=interleaved, scaling=YaRN(4.0, 64))
    q, k, _, _ = tensors(2, 2, 1, 2, 4, torch.float64)
    q, k = q.requires_grad_(), k.requires_grad_()
    positions = torch.tensor([[1.5, 1000.0], [2.0, 3.0]])
    assert torch.autograd.gradcheck(lambda q, k: rotate_qk(q, k, positions, **options), (q, k))
    q = q.detach()[0].requires_grad_()
    assert torch.autograd.gradcheck(lambda q: rotate(q, positions[0], **options), (q,))
    assert torch.autograd.gradgradcheck(lambda q: rotate(q, positions[0], **options), (q,))


@PAIRINGS
@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
def test_rotate_is_the_reference(interleaved, scaling):
    options = dict(interleaved=interleaved, scaling=scaling, base=500.0)
    x = torch.randn(3, 2, 7, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    each = torch.arange(21.0).reshape(3, 1, 7) * 1.5
    for positions in (range(7), np.arange(7) * 0.5, torch.arange(7), each, each[:1], each[0]):
        expected = reference.rotate(x.numpy(), np.asarray(positions), **options)
        np.testing.assert_allclose(rotate(x, positions, **options), expected, rtol=0, atol=1e-14)
    assert rotate(x[0, 0], range(7)).shape == (7, 10)
    theta = frequencies(10, base=500.0, scaling=scaling)
    assert theta.dtype == torch.float64
    assert np.array_equal(theta, reference.frequencies(10, base=500.0, scaling=scaling))


def test_positions_far_out_are_exact_where_float32_is_not():
    positions, d = torch.tensor([131072, 10**6 + 1]), 128
    angle = positions.numpy()[:, None] * reference.frequencies(d)
    for got, right in zip(cos_sin(positions, d), (np.cos(angle), np.sin(angle)), strict=True):
        assert got.dtype == torch.float32
        np.testing.assert_allclose(got, right, rtol=1e-7, atol=1e-9)
    in_float32 = (positions.float()[:, None] * frequencies(d).float()).cos()
    assert np.abs(in_float32.numpy() - np.cos(angle)).max() > 1e-3
    assert (positions.half()[:, None] * frequencies(d).half()).isinf().any()


def test_transformers_agrees():
    configuration = pytest.importorskip("transformers.models.llama.configuration_llama")
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    inputs = tensors(2, 4, 2, 11, 16, torch.float64)
    positions = torch.arange(22).reshape(2, 11)
    config = configuration.LlamaConfig(hidden_size=64, num_attention_heads=4)
    tables = llama.LlamaRotaryEmbedding(config)(torch.zeros(1), positions)
    ours = results(lambda q, k: rotate_qk(q, k, positions), *inputs)
    theirs = results(lambda q, k: llama.apply_rotary_pos_emb(q, k, *tables), *inputs)
    for a, b in zip(ours, theirs, strict=True):  # their angles are rounded to float32
        torch.testing.assert_close(a, b, rtol=0, atol=1e-4, check_dtype=False)


def test_tables_can_be_computed_once():
    q, k, _, _ = tensors(2, 3, 1, 5, 8, torch.float64)
    positions = torch.arange(10).reshape(2, 5)
    cos, sin = cos_sin(positions, 8, dtype=torch.float64)
    expected = rotate_qk(q, k, positions)
    for a, b in zip(apply_rotation(q, k, cos, sin), expected, strict=True):
        assert torch.equal(a, b)


Q, K = torch.zeros(2, 3, 5, 4), torch.zeros(2, 1, 5, 4)
FIVE = torch.arange(5)
COS = torch.zeros(5, 2)


@pytest.mark.parametrize(
    ("q", "k", "positions", "options", "message"),
    [
        (Q[..., :3], K[..., :3], FIVE, {}, r"d is 3; it should be even"),
        (Q[0], K, FIVE, {}, r"q has shape \[3, 5, 4\]; it should be \[B, H, n, d\]"),
        (Q, K[0], FIVE, {}, r"k has shape \[1, 5, 4\]"),
        (Q, K[:1], FIVE, {}, r"k has B=1 but q has B=2"),
        (Q, K[:, :, :4], FIVE, {}, r"k has n=4 but q has n=5"),
        (Q, K[..., :2], FIVE, {}, r"k has d=2 but q has d=4"),
        (Q, K.half(), FIVE, {}, r"k is torch\.float16 on cpu but q is torch\.float32"),
        (Q.int(), K.int(), FIVE, {}, r"q has dtype torch\.int32; it should be floating point"),
        (Q.numpy(), K, FIVE, {}, r"q is a ndarray"),
        (Q, K, FIVE[:4], {}, r"positions has shape \[4\]; .* \[n\] = \[5\] or .*\[2, 5\]"),
        (Q, K, torch.zeros(1, 5), {}, r"positions has shape \[1, 5\]"),
        (Q, K, 3, {}, r"positions is a single number"),
        (Q, K, FIVE.half(), {}, r"positions has dtype torch\.float16.*2048 from 2049"),
        (Q, K, FIVE.bfloat16(), {}, r"positions has dtype torch\.bfloat16.*256 from 257"),
        (Q, K, FIVE == 0, {}, r"positions has dtype torch\.bool"),
        (Q, K, FIVE.double().requires_grad_(), {}, r"positions requires a gradient"),
        (Q, K, FIVE, dict(impl="dense"), r"impl is 'dense'; it should be one of 'auto', 'torch'"),
        (Q, K, FIVE, dict(base=0.5), r"base is 0\.5"),
        (Q, K, FIVE, dict(scaling="yarn"), r"scaling is 'yarn'"),
    ],
)
def test_refusals(untyped, q, k, positions, options, message):
    with pytest.raises(ValueError, match=message):
        rotate_qk(q, k, positions, **options)


@pytest.mark.parametrize(
    ("cos", "sin", "message"),
    [
        (COS[:4], COS[:4], r"cos has shape \[4, 2\]; it should be \[n, d/2\] = \[5, 2\]"),
        (COS, torch.zeros(2, 5, 2), r"sin has shape \[2, 5, 2\] but cos has shape \[5, 2\]"),
        (COS, COS.half(), r"sin is torch\.float16 on cpu but q is torch\.float32"),
        (COS.double(), COS, r"cos is torch\.float64 on cpu"),
        (COS, COS.clone().requires_grad_(), r"sin requires a gradient"),
    ],
)
def test_refused_tables(untyped, cos, sin, message):
    with pytest.raises(ValueError, match=message):
        apply_rotation(Q, K, cos, sin)


def test_other_refusals(untyped):
    for x, positions, message in (
        (Q, range(4), r"positions has shape \[4\] but x has shape \[2, 3, 5, 4\]"),
        (Q, [0], r"positions has shape \[1\] but x"),
        (Q[0], torch.zeros(2, 1, 3, 5), r"positions has shape \[2, 1, 3, 5\] but x"),
        (Q, torch.zeros(2, 5), r"positions has shape \[2, 5\] but x .*\[2, 3, 5\]"),
        (torch.zeros(4), [0], r"x has shape \[4\]"),
    ):
        with pytest.raises(ValueError, match=message):
            rotate(x, positions)
    with pytest.raises(ValueError, match=r"dtype is torch\.float16; it should be torch\.float32"):
        cos_sin(FIVE, 4, dtype=torch.float16)


BOTH = pytest.mark.parametrize(
    "rotated",
    [reference.rotate, lambda x, positions: rotate(torch.as_tensor(x), positions)],
    ids=["reference", "layer"],
)


@BOTH
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_positions_that_are_not_finite(rotated, bad, untyped):
    for positions in ([0, 1, bad], np.float32([0, bad, 2]), torch.tensor([bad, 1, 2])):
        if rotated is reference.rotate and isinstance(positions, torch.Tensor):
            continue
        with pytest.raises(ValueError, match="positions holds a NaN or an infinity"):
            rotated(np.ones((3, 4)), positions)


@BOTH
def test_a_row_of_positions_for_each_sequence_names_its_axis(rotated, untyped):
    """[B, n] would be read as [H, n] where B = H, and every head rotated by another sequence's."""
    x = np.random.default_rng(0).normal(size=(3, 3, 5, 4))
    positions = np.arange(15.0).reshape(3, 5)
    with pytest.raises(ValueError, match=r"either axis of size 3.*positions\[:, None\].*\[None\]"):
        rotated(x, positions)
    for b in range(3):
        a = rotated(x, positions[:, None])[b]
        np.testing.assert_allclose(a, rotated(x[b], positions[b]), atol=1e-12)
        a = rotated(x, positions[None])[:, b]
        np.testing.assert_allclose(a, rotated(x[:, b], positions[b]), atol=1e-12)
    # Nothing else can be meant: another number of heads, no heads at all, one row for all.
    fitting = ((x[:2], positions), (x[0], positions), (x, positions[:1]), (x, positions[0]))
    for some, rows in fitting:
        rotated(some, rows)
    with pytest.raises(ValueError, match="either axis of size 2"):
        rotated(np.ones((2, 3, 2, 5, 4)), np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"positions has shape \[3, 5\] but"):
        rotated(np.ones((3, 2, 5, 4)), positions)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_tables_and_pairs_refuse_what_a_rotation_refuses(bad, untyped):
    q = torch.ones(1, 2, 3, 4)
    for call in (
        lambda: cos_sin([0, 1, bad], 4),
        lambda: rotate_qk(q, q, torch.tensor([0, 1, bad])),
        lambda: reference.sinusoids([0, 1, bad], 4),
        lambda: reference.rotate_backward(np.ones((3, 4)), [0, 1, bad]),
    ):
        with pytest.raises(ValueError, match="positions holds a NaN or an infinity"):
            call()
