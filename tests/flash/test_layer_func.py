"""The layer under torch.func, and twice differentiated."""

import pytest
import torch
from torch.func import grad, hessian, jvp, vmap

from attention_src.attention.bias import Alibi
from attention_src.flash import layer_tiled as tiled
from attention_src.flash.layer import flash_attention_with_lse

LENGTHS = torch.tensor([7, 4])
IMPLS = ("dense", "tiled")


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


@pytest.mark.parametrize("impl", IMPLS)
def test_vmap_maps_outputs(impl):
    def f(q, k, v):
        return flash_attention_with_lse(q, k, v, causal=True, softcap=3.0, impl=impl)

    qs, ks, vs = _inputs(3)
    torch.testing.assert_close(vmap(f)(qs, ks, vs), _each(f, qs, ks, vs))
    shared = vmap(f, in_dims=(1, None, 0))(qs.transpose(0, 1), ks[0], vs)
    torch.testing.assert_close(shared, _each(f, qs, ks[:1].expand_as(ks), vs))


def test_vmap_maps_lengths():
    qs, ks, vs = _inputs(2)
    lengths = torch.tensor([[7, 4], [0, 5]])

    def f(q, k, v, lengths):
        return flash_attention_with_lse(q, k, v, key_lengths=lengths, impl="tiled")

    torch.testing.assert_close(vmap(f)(qs, ks, vs, lengths), _each(f, qs, ks, vs, lengths))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("bias_batch", [1, 2])
def test_vmap_maps_gradients(impl, bias_batch):
    qs, ks, vs = _inputs(3)
    biases = torch.randn(3, bias_batch, 1, 5, 7, dtype=torch.float64)
    f = grad(_loss("dense", softcap=2.0), argnums=(0, 1, 2, 3))
    expected = _each(f, qs, ks, vs, biases)
    f = grad(_loss(impl, softcap=2.0), argnums=(0, 1, 2, 3))
    torch.testing.assert_close(vmap(f)(qs, ks, vs, biases), expected)
    one_bias = vmap(f, in_dims=(0, 0, 0, None))(qs, ks, vs, biases[1])
    torch.testing.assert_close(one_bias, _each(f, qs, ks, vs, biases[1:2].expand_as(biases)))
    behind = vmap(f, in_dims=(0, 0, 0, 4))(qs, ks, vs, biases.movedim(0, 4))
    torch.testing.assert_close(behind, expected)


@pytest.mark.parametrize("impl", IMPLS)
def test_a_gradient_passes_through_vmap(impl):
    qs, ks, vs = _inputs(3)
    slopes = Alibi(torch.rand(4, dtype=torch.float64))

    def total(loss):
        return lambda *inputs: vmap(lambda *row: loss(*row, slopes))(*inputs).sum()

    expected = _each(grad(lambda *row: _loss("dense")(*row, slopes), argnums=(0, 1, 2)), qs, ks, vs)
    actual = grad(total(_loss(impl)), argnums=(0, 1, 2))(qs, ks, vs)
    torch.testing.assert_close(actual, expected)


def test_mapped_slopes_are_refused():
    q, k, v = _inputs()

    def f(slopes):
        return flash_attention_with_lse(q, k, v, bias=Alibi(slopes), impl="tiled")

    with pytest.raises(ValueError, match=r'slopes are mapped by torch.func.vmap.*impl "dense"'):
        vmap(f)(torch.rand(3, 4, dtype=torch.float64))


REFUSED = 'impl is "tiled", which has first derivatives only.*"dense"'


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


@pytest.mark.parametrize("derive", [jvp, hessian], ids=lambda f: f.__name__)
def test_forward_and_second_derivatives_say_what_to_use(derive):
    q, k, v = _inputs()

    def results(impl):
        def f(q):
            return _loss(impl)(q, k, v)

        return jvp(f, (q,), (torch.ones_like(q),)) if derive is jvp else hessian(f)(q)

    assert results("dense") is not None
    with pytest.raises(RuntimeError, match=REFUSED):
        results("tiled")


def test_a_graph_of_the_gradients_may_stay_unused():
    inputs = [x.requires_grad_() for x in _inputs()]
    f = _loss("tiled")
    graph = torch.autograd.grad(f(*inputs), inputs, create_graph=True)
    torch.testing.assert_close(graph, torch.autograd.grad(f(*inputs), inputs))
