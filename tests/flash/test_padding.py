"""What lies behind a sequence's key_lengths stays there, be it NaN."""

import pytest
import torch

from attention_src.flash.layer import flash_attention, flash_attention_with_lse

LENGTHS = torch.tensor([5, 3, 0])


def _results(k, v, impl, with_lse):
    """Outputs and gradients."""
    q = torch.randn(3, 4, 2, 16, generator=torch.Generator().manual_seed(1))
    inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    options = dict(key_lengths=LENGTHS, causal=True, impl=impl)
    if with_lse:
        outputs = flash_attention_with_lse(*inputs, **options)
    else:
        outputs = (flash_attention(*inputs, **options),)
    grown = torch.arange(16.0)  # a gradient that differs from place to place
    (outputs[0] * grown).sum().backward()
    names = ["o", "lse", "dq", "dk", "dv"] if with_lse else ["o", "dq", "dk", "dv"]
    return dict(zip(names, [*outputs, *(x.grad for x in inputs)], strict=True))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["k", "v", "kv"])
@pytest.mark.parametrize("with_lse", [False, True])
@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled"])
def test_numbers_in_the_padding_reach_nothing(impl, with_lse, where, number):
    _same_as_without(impl, with_lse, where, number)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["k", "v"])
def test_the_kernel_does_not_read_the_padding(where):
    _same_as_without("triton", True, where, float("nan"))


def _same_as_without(impl, with_lse, where, number):
    generator = torch.Generator().manual_seed(0)
    k, v = torch.randn(2, 3, 2, 5, 16, generator=generator)
    padding = (torch.arange(5) >= LENGTHS[:, None])[:, None, :, None]
    spoiled = [
        k.masked_fill(padding, number) if "k" in where else k,
        v.masked_fill(padding, number) if "v" in where else v,
    ]
    wanted = _results(k, v, impl, with_lse)
    for name, x in _results(*spoiled, impl, with_lse).items():
        torch.testing.assert_close(x, wanted[name], msg=lambda m, name=name: f"{name}: {m}")


def test_a_bias_may_hold_nan_in_the_padding_too():
    q, k, v = torch.randn(3, 3, 2, 5, 8)
    bias = torch.randn(3, 1, 1, 5)
    spoiled = bias.masked_fill(torch.arange(5) >= LENGTHS[:, None, None, None], torch.nan)
    for impl in ("dense", "sdpa", "tiled"):
        wanted = flash_attention(q, k, v, key_lengths=LENGTHS, bias=bias, impl=impl)
        o = flash_attention(q, k, v, key_lengths=LENGTHS, bias=spoiled, impl=impl)
        torch.testing.assert_close(o, wanted)
