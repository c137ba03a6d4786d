"""Second and forward derivatives, and torch.func: dense has them, and sdpa says so."""

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, hessian, jvp, vmap

from attention_src.attention.layer import attention
from attention_src.testing import make_qkv

OPTIONS = [dict(), dict(causal=True), dict(mask=torch.ones(3, 5).tril(1).bool())]
REFUSED = 'impl "sdpa".*has first derivatives only.*it should be "dense"'


def loss_of(impl, options):
    q, k, v = make_qkv(3, 5, 4, 4, n_heads=2, n_kv_heads=1, batch=1, dtype=torch.float64)
    return q, lambda q: attention(q, k, v, impl=impl, **options).square().sum()


@pytest.mark.parametrize("impl", ["auto", "sdpa"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_second_derivative_names_the_impl_to_use(impl, options):
    q, loss = loss_of(impl, options)
    q.requires_grad_()
    (dq,) = torch.autograd.grad(loss(q), q, create_graph=True)
    torch.testing.assert_close(dq, torch.autograd.grad(loss_of("dense", options)[1](q), q)[0])
    with pytest.raises(RuntimeError, match=REFUSED):
        dq.square().sum().backward()


def dual(f, q):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(q, torch.ones_like(q)))).tangent


WAYS = {
    "jvp": lambda f, q: jvp(f, (q,), (torch.ones_like(q),))[1],
    "hessian": lambda f, q: hessian(f)(q),
    "twice": lambda f, q: grad(lambda x: grad(f)(x).square().sum())(q),
    "mapped": lambda f, q: vmap(f)(q[None]),
    "gradients of each": lambda f, q: vmap(grad(f))(q[None]),
    "dual": dual,
}


@pytest.mark.parametrize("impl", ["auto", "sdpa"])
@pytest.mark.parametrize("way", WAYS)
def test_what_sdpa_cannot_do_is_said_and_dense_does_it(way, impl):
    q, loss = loss_of("dense", {})
    assert WAYS[way](loss, q).abs().max() > 0
    with pytest.raises(RuntimeError, match=REFUSED):
        WAYS[way](loss_of(impl, {})[1], q)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_sdpa_has_first_derivatives_by_torch_func(options):
    q, loss = loss_of("sdpa", options)
    torch.testing.assert_close(grad(loss)(q), grad(loss_of("dense", options)[1])(q))
