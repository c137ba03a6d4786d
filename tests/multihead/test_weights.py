"""The weights that a module returns on request, and the gradients that a cache refuses."""

import numpy as np
import pytest
import torch

from attention_src.attention.reference import attention_weights
from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache, WindowedKVCache
from attention_src.multihead.layer import MultiHeadAttention
from attention_src.multihead.reference import split_heads

EXACT = dict(rtol=1e-10, atol=1e-12)


def make(rope=True, impl="auto"):
    torch.manual_seed(0)
    sizes = dict(n_kv_heads=2, d_k=6, d_v=3, rope=rope)
    return MultiHeadAttention(12, 4, impl=impl, **sizes).double()


def tokens(n, batch=2):
    generator = torch.Generator().manual_seed(n)
    return torch.randn(batch, n, 12, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("impl", ["auto", "dense", "sdpa", "tiled"])
def test_weights_are_those_of_the_reference(impl):
    module, x = make(rope=False, impl=impl), tokens(7)
    y, p = module(x, causal=True, return_weights=True)
    q, k = (
        split_heads((x @ part.weight.T).detach().numpy(), n)
        for part, n in ((module.q_proj, 4), (module.k_proj, 2))
    )
    expected = attention_weights(q, np.repeat(k, 2, axis=1), causal=True)
    np.testing.assert_allclose(p.detach(), expected, rtol=1e-10, atol=1e-12)
    assert torch.equal(y, module(x, causal=True))


def test_weights_of_a_context_and_a_mask():
    module, x, context = make(rope=False), tokens(3), tokens(5)
    mask = torch.rand(2, 4, 3, 5, generator=torch.Generator().manual_seed(0)) < 0.6
    y, p = module(x, context, mask=mask, return_weights=True)
    assert (p[~mask.expand_as(p)] == 0).all()
    v = module._split(module.v_proj(context), 2).repeat_interleave(2, dim=1)
    torch.testing.assert_close(module.o_proj((p @ v).transpose(1, 2).flatten(2)), y, **EXACT)


def test_weights_carry_gradients():
    module, x = make(), tokens(5)
    _, p = module(x, causal=True, return_weights=True)
    p.square().sum().backward()
    assert module.q_proj.weight.grad.norm() > 0 and module.k_proj.weight.grad.norm() > 0


CACHES = {
    "contiguous": KVCache,
    "paged": lambda: PagedKVCache(page_size=2, n_pages=32),
    "windowed": lambda: WindowedKVCache(3, 1),
    "quantised": lambda: QuantizedKVCache(8),
}


@pytest.mark.parametrize("name", CACHES)
@pytest.mark.parametrize("cuts", [[4, 1, 3], [1, 1, 6]])
@torch.no_grad()
def test_weights_with_a_cache(name, cuts):
    module, x = make(), tokens(8)
    with_weights, plain = CACHES[name](), CACHES[name]()
    _, whole = module(x, causal=True, return_weights=True)
    start = 0
    for piece in x.split(cuts, dim=1):
        y, p = module(piece, causal=True, cache=with_weights, return_weights=True)
        torch.testing.assert_close(y, module(piece, causal=True, cache=plain), **EXACT)
        torch.testing.assert_close(p.sum(-1), torch.ones(2, 4, len(piece[0])).double(), **EXACT)
        if name in ("contiguous", "paged"):
            end = start + piece.shape[1]
            torch.testing.assert_close(p, whole[:, :, start:end, :end], **EXACT)
        start += piece.shape[1]
    assert with_weights.n_seen == plain.n_seen == 8


@torch.no_grad()
def test_weights_with_a_windowed_cache_are_in_order_of_position():
    module, x, cache = make(), tokens(6), WindowedKVCache(3, 1)
    module(x[:, :5], causal=True, cache=cache)  # keys 0, 2, 3 and 4 stay
    _, p = module(x[:, 5:], cache=cache, return_weights=True)
    mask = torch.tensor([[True, False, False, True, True, True]])
    _, whole = module(x, mask=mask, causal=True, return_weights=True)
    assert p.shape[-1] == 5 and (p[..., 1] == 0).all()  # key 2 has just left the window
    torch.testing.assert_close(p[..., [0, 2, 3, 4]], whole[:, :, 5:, [0, 3, 4, 5]], **EXACT)


@pytest.mark.parametrize("return_weights", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_a_cache_refuses_gradients(n, return_weights):
    module, x = make(), tokens(n)
    options = dict(causal=True, return_weights=return_weights)
    for cache in (KVCache(), WindowedKVCache(2)):
        with pytest.raises(ValueError, match=r"require gradients, .*Use torch\.no_grad\(\)"):
            module(x, cache=cache, **options)
        assert cache.layout is None  # nothing was stored
    module.requires_grad_(False)
    module(x, cache=KVCache(), **options)  # nothing to lose
    with pytest.raises(ValueError, match="require gradients"):
        module(x.requires_grad_(), cache=KVCache(), **options)
