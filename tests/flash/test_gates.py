"""The three gates for every implementation of the layer: forward, lse and all gradients."""

import itertools

import numpy as np
import pytest
import torch

from attention_src.flash import layer_tiled as tiled
from attention_src.flash.layer import flash_attention, flash_attention_with_lse
from attention_src.testing import assert_sharp, assert_within_budget, probe_mask
from flash.oracle import NAMES, arguments, assert_close, exact, plain, results, visible_mask

SHARP = {torch.float32: 2e-6, torch.float64: 1e-13}  # five times sharper than the gate asks
HALF = (torch.float16, torch.bfloat16)
DTYPES = (*HALF, torch.float32, torch.float64)

# n_q, n_k, d_k, d_v, H, H_kv: distinct primes, one position, beside a block of 16, grouped heads.
SIZES = [
    (5, 7, 11, 13, 3, 3),
    (7, 5, 13, 11, 6, 2),
    (1, 37, 17, 19, 5, 1),
    (15, 33, 8, 8, 4, 2),
    (33, 31, 16, 32, 2, 2),
    (17, 129, 64, 48, 4, 1),
]
RULES = [
    dict(),
    dict(causal=True),
    dict(window=5),
    dict(window=16, sinks=3, scale=0.3),
    dict(key_lengths=[0, 4]),
    dict(causal=True, key_lengths=[5, 1]),
]


@pytest.fixture(params=("dense", "sdpa", "tiled", "tiled, small"))
def impl(request, monkeypatch):
    """Each implementation; and with tiles so small that these sizes cross their borders."""
    if request.param == "tiled, small":
        monkeypatch.setattr(tiled, "BLOCK_Q", 16)
        monkeypatch.setattr(tiled, "BLOCK_K", 8)
    return request.param.split(",")[0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(poisoned, impl, dtype, size):
    inputs = arguments(size, dtype)
    for rule in RULES[SIZES.index(size) % 2 :: 2]:
        actual = results(flash_attention_with_lse, *inputs, impl=impl, **rule)
        right, _ = exact(*inputs, **rule)
        rounded = results(plain, *inputs, **rule)
        for name, a, e, p in zip(NAMES, actual, right, rounded, strict=True):
            assert a.dtype == (inputs[-1].dtype if name == "lse" else dtype)
            if a.dtype in SHARP:
                assert_sharp(a, e, rtol=SHARP[a.dtype], name=name)
            # The budget is for half precision. In float32 both fused forms have roundings that
            # plain lacks: torch's exponential is good to 20 units, and p = exp(s - lse) repeats the
            # rounding of lse. There they pass the sharp gate, and dense also the budget.
            if dtype in HALF or (dtype, impl) == (torch.float32, "dense"):
                assert_within_budget(a, e, p, name=name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(("n_q", "n_k"), [(7, 7), (11, 5), (1, 13), (17, 33), (2, 130)])
def test_probe(impl, dtype, n_q, n_k):
    for rule in (
        dict(),
        dict(causal=True),
        dict(window=1),
        dict(window=3, sinks=1),
        dict(window=9, sinks=8),
        dict(key_lengths=[n_k // 2]),
        dict(causal=True, key_lengths=[n_k - 1]),
        dict(window=2, sinks=1, key_lengths=torch.tensor([n_k // 2])),
        dict(key_lengths=np.array([0])),
    ):
        probe_mask(
            lambda q, k, v: flash_attention(q, k, v, impl=impl, **rule),  # noqa: B023
            visible_mask(n_q, n_k, **rule)[0, 0],
            dtype=dtype,
        )


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_many_tiles_add_up_in_float32(impl, dtype):
    inputs = arguments((2053, 11, 7, 5, 2, 1), dtype)
    actual = results(flash_attention_with_lse, *inputs, impl=impl)
    right, _ = exact(*inputs)
    rounded = results(plain, *inputs)
    for name, a, e, p in zip(NAMES, actual, right, rounded, strict=True):
        assert_within_budget(a, e, p, name=name)


def test_logits_of_1e4(impl):
    inputs = arguments((13, 41, 7, 3, 4, 2), torch.float32, scale_of_q=1e4)
    scores = inputs[0] @ inputs[1].repeat_interleave(2, dim=1).mT / 7**0.5
    assert scores.abs().max() > 1e4
    for rule in (dict(), dict(causal=True), dict(window=9, sinks=2)):
        actual = results(flash_attention_with_lse, *inputs, impl=impl, **rule)
        assert_close(actual, *exact(*inputs, **rule), units=8)


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_exact_logits_of_1e4_in_half_precision(impl, dtype):
    # Scores of exactly ±16384: every product is a power of two, so the answer is exact.
    q = torch.full((1, 1, 2, 1), 128.0, dtype=dtype)
    k = torch.tensor([128.0, -128.0, 128.0], dtype=dtype).reshape(1, 1, 3, 1)
    v = torch.tensor([1.0, 7.0, 3.0], dtype=dtype).reshape(1, 1, 3, 1)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    o = flash_attention(*leaves, scale=1.0, impl=impl)
    assert o.flatten().tolist() == [2.0, 2.0]
    gradients = torch.autograd.grad(o.sum(), leaves)
    assert gradients[2].flatten().tolist() == [1.0, 0.0, 1.0]
    assert all(g.isfinite().all() for g in gradients)


def test_a_single_visible_key_takes_everything():
    # Exactly: o is its value, its gradient is do, and no score matters.
    for dtype, (n_q, n_k) in itertools.product(DTYPES, [(9, 9), (5, 11)]):
        inputs = arguments((n_q, n_k, 8, 5, 2, 2), dtype)
        _, _, v, do, dlse = inputs
        o, lse, dq, _, dv = results(
            flash_attention_with_lse, *inputs[:4], 0 * dlse, window=1, impl="tiled"
        )
        assert torch.equal(o, v[:, :, n_k - n_q :]) and torch.equal(dv[:, :, n_k - n_q :], do)
        right, sizes = exact(*inputs[:4], 0 * dlse, window=1)
        assert np.abs(right[2]).max() == 0
        assert dq.abs().max() <= 8 * torch.finfo(lse.dtype).eps * sizes[2].max()
