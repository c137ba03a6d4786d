"""The layer under torch.func, and twice differentiated."""

import pytest
import torch
from torch.func import grad, hessian, jvp, vmap

from attention_src.attention.bias import Alibi
from attention_src.flash import layer_tiled as tiled
from attention_src.flash.layer import flash_attention_with_lse

LENGTHS = torch.tensor([7, 4])


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(tiled, "BLOCK_Q", 2)
    monkeypatch.setattr(tiled, "BLOCK_K", 4)


def _inputs(*lead):
    """q with four heads, k and v with two, in float64."""
    shapes = ((4, 5, 8), (2, 7, 8), (2, 7, 6))
    return [torch.randn(*lead, 2, *shape, dtype=torch.float64) for shape in shapes]


def _loss(impl, **options):
    def loss(q, k, v, bias=None):
        o, lse = flash_attention_with_lse(
            q, k, v, bias=bias, key_lengths=LENGTHS, window=4, sinks=1, impl=impl, **options
        )
        return o.square().sum() + lse.masked_fill(lse.isinf(), 0).square().sum()

    return loss


def _each(f, *batches):
    """What vmap should give: one call after another."""
    rows = [f(*row) for row in zip(*batches, strict=True)]
    return tuple(torch.stack(x) for x in zip(*rows, strict=True))


def test_dense_is_mapped_with_its_lengths():
    qs, ks, vs = _inputs(2)
    lengths = torch.tensor([[7, 4], [0, 5]])

    def f(q, k, v, lengths):
        return flash_attention_with_lse(q, k, v, key_lengths=lengths, impl="dense")

    torch.testing.assert_close(vmap(f)(qs, ks, vs, lengths), _each(f, qs, ks, vs, lengths))


def test_dense_maps_gradients_and_tiles_have_the_same():
    qs, ks, vs = _inputs(3)
    slopes = Alibi(torch.rand(4, dtype=torch.float64))

    def of(impl):
        loss = _loss(impl, softcap=2.0)
        return grad(lambda q, k, v: loss(q, k, v, slopes), argnums=(0, 1, 2))

    expected = _each(of("tiled"), qs, ks, vs)
    torch.testing.assert_close(vmap(of("dense"))(qs, ks, vs), expected)


REFUSED = 'impl is "tiled", which has first derivatives only.*vmap it should be "dense"'


@pytest.mark.parametrize("of", range(3))
def test_second_derivatives_are_refused_for_every_argument(of):
    # o.sum(): the gradient of o requires none, so only the inputs can tell that there is more.
    inputs = [x.requires_grad_() for x in _inputs()]
    o, lse = flash_attention_with_lse(*inputs, causal=True, impl="tiled")
    gradients = torch.autograd.grad(o.sum() + lse[..., 2:].sum(), inputs, create_graph=True)
    # A penalty on the gradient beside a term that is differentiable: the sum must not be partial.
    penalty = gradients[of].square().sum() + inputs[of].sum()
    for x in inputs:
        with pytest.raises(RuntimeError, match=REFUSED):
            torch.autograd.grad(penalty, x, retain_graph=True, allow_unused=True)


WAYS = {
    "jvp": lambda f, q: jvp(f, (q,), (torch.ones_like(q),)),
    "hessian": lambda f, q: hessian(f)(q),
    "vmap": lambda f, q: vmap(f)(q[None]),
    "gradients of each": lambda f, q: vmap(grad(f))(q[None]),
    "gradient of all": lambda f, q: grad(lambda q: vmap(f)(q[None]).sum())(q),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_tiles_cannot_do_is_said_and_dense_does_it(way):
    q, k, v = _inputs()
    assert WAYS[way](lambda q: _loss("dense")(q, k, v), q) is not None
    with pytest.raises(RuntimeError, match=REFUSED):
        WAYS[way](lambda q: _loss("tiled")(q, k, v), q)


def test_a_graph_of_the_gradients_may_stay_unused():
    inputs = [x.requires_grad_() for x in _inputs()]
    f = _loss("tiled")
    graph = torch.autograd.grad(f(*inputs), inputs, create_graph=True)
    torch.testing.assert_close(graph, torch.autograd.grad(f(*inputs), inputs))
