"""Derivatives that a kernel lacks: words that say what to use, never torch's and never a 0."""

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, hessian, jvp, vmap

from attention_src.flash.layer import flash_attention
from attention_src.kvcache.cache import KVCache
from attention_src.kvcache.layer import decode_attention
from attention_src.linear.layer import linear_attention
from attention_src.linear.layer_delta import delta_rule
from attention_src.linear.layer_gated import gated_linear_attention
from attention_src.rope.layer import rotate_qk
from attention_src.softmax.layer import softmax
from attention_src.ssm.layer import selective_scan
from attention_src.triton_support import interpreter

pytest.importorskip("triton")
DEVICE = "cpu" if interpreter.interpreted() else "cuda"


def numbers(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(DEVICE)


K, V = numbers(1, 2, 6, 16), numbers(1, 2, 6, 16)
GATES = numbers(1, 2, 6).sigmoid()


def _decode(x, impl):
    cache = KVCache()
    cache.append(K, V)
    return decode_attention(x[:, :, :1], cache, impl="dense" if impl == "torch" else impl)


def _scan(x, impl):
    dt, A, BC = GATES[0, :1].mT.expand(6, 16), -GATES[0, :, :4].mT.repeat(4, 1), K[0, :1, :, :2]
    return selective_scan(x[0, :1], dt[None], A, BC, BC, form="associative", impl=impl)


def _flash(x, impl):
    return flash_attention(x, K, V, impl="dense" if impl == "torch" else impl)


# What has second derivatives, by torch operations in its backward pass, has them right.
KERNELS = dict(
    softmax=(lambda x, impl: softmax(x, impl=impl), False),
    flash=(_flash, False),
    linear=(lambda x, impl: linear_attention(x, K, V, causal=True, impl=impl), False),
    gated=(lambda x, impl: gated_linear_attention(x, K, V, -GATES[..., None], impl=impl), False),
    scan=(_scan, False),
    delta=(lambda x, impl: delta_rule(x, K, V, GATES, impl=impl), True),
    delta_key=(lambda x, impl: delta_rule(V, x, V, GATES, impl=impl), True),
    rope=(lambda x, impl: rotate_qk(x, K, torch.arange(6, device=DEVICE), impl=impl)[0], True),
    decode=(_decode, False),
)


def loss_of(name, impl):
    return lambda x: KERNELS[name][0](x, impl).square().sum()


@pytest.mark.parametrize("name", KERNELS)
def test_a_second_derivative_is_right_or_refused(name):
    x = numbers(1, 2, 6, 16).requires_grad_()

    def penalty(impl):
        (dx,) = torch.autograd.grad(loss_of(name, impl)(x), x, create_graph=True)
        return torch.autograd.grad(dx.square().sum() + x.sum(), x)[0]

    if KERNELS[name][1]:
        torch.testing.assert_close(penalty("triton"), penalty("torch"), rtol=1e-3, atol=1e-3)
    else:
        with pytest.raises(
            RuntimeError, match=r'"triton", whose kernels have (first|no) deriv.*it'
        ):
            penalty("triton")


@pytest.mark.parametrize("name", KERNELS)
def test_torch_func_is_refused_and_no_tangent_is_lost(name):
    x, loss = numbers(1, 2, 6, 16), loss_of(name, "triton")
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(RuntimeError, match=r'no derivatives by torch.func.*it should be "'):
            loss(dual)
    calls = [lambda: jvp(loss, (x,), (x,)), lambda: grad(loss)(x), lambda: hessian(loss)(x)]
    for call in (*calls, lambda: vmap(grad(loss))(x[None]), lambda: vmap(loss)(x[None])):
        with pytest.raises(RuntimeError, match=r'no derivatives by torch.func.*it should be "'):
            call()
