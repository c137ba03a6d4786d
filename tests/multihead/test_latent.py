"""Multi-head latent attention: both forms, NumPy and PyTorch, with a cache, against each other."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache, WindowedKVCache
from attention_src.multihead.layer import MultiHeadAttention, MultiHeadLatentAttention, Rotary
from attention_src.multihead.reference import multihead_attention
from attention_src.multihead.reference_latent import latent_attention

EXACT = dict(rtol=1e-10, atol=1e-12)


def make(n_heads=3, d_latent=5, d_rope=4, d_k=7, d_v=2, **options):
    torch.manual_seed(0)
    sizes = dict(d_latent=d_latent, d_rope=d_rope, d_k=d_k, d_v=d_v)
    return MultiHeadLatentAttention(11, n_heads, **sizes, **options).double()


def weights_of(module):
    """The arguments of latent_attention after x."""
    names = ("q_proj", "kv_down", "k_rope_proj", "k_up", "v_up", "o_proj")
    parts = [getattr(module, name) for name in names]
    nothing = np.zeros((11, 0))  # k_rope_proj with d_rope=0
    return [nothing if p is None else p.weight.detach().numpy().T for p in parts]


def tokens(n, batch=2):
    generator = torch.Generator().manual_seed(n)
    return torch.randn(batch, n, 11, dtype=torch.float64, generator=generator)


@given(
    n=st.integers(0, 9),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 6), st.sampled_from([0, 2, 4])),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    impl=st.sampled_from(["auto", "dense", "sdpa", "tiled"]),
    causal=st.booleans(),
)
def test_all_forms_agree(n, sizes, widths, impl, causal):
    module, x = make(*sizes, *widths, impl=impl), tokens(n)
    options = dict(n_heads=sizes[0], causal=causal)
    expected = latent_attention(x.numpy(), *weights_of(module), **options)
    absorbed = latent_attention(x.numpy(), *weights_of(module), **options, absorb=True)
    np.testing.assert_allclose(absorbed, expected, rtol=1e-9, atol=1e-11)
    for absorb in (False, True):
        y = module(x, causal=causal, absorb=absorb).detach()
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-11)


def test_gradients_of_both_forms_agree():
    module, x = make(), tokens(7).requires_grad_()
    results = []
    for absorb in (False, True):
        y = module(x, causal=True, absorb=absorb)
        results.append((y, *torch.autograd.grad(y.sin().sum(), (x, *module.parameters()))))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, **EXACT)


def test_a_full_latent_is_multi_head_attention():
    # With c = x and nothing rotated, k_up and v_up are the projections of an ordinary module.
    module = make(d_latent=11, d_rope=0)
    with torch.no_grad():
        module.kv_down.weight.copy_(torch.eye(11))
    w_q, _, _, w_k, w_v, w_o = weights_of(module)
    x = tokens(6)
    expected = multihead_attention(x.numpy(), w_q, w_k, w_v, w_o, n_heads=3, causal=True)
    np.testing.assert_allclose(module(x, causal=True).detach(), expected, rtol=1e-10, atol=1e-12)


def test_the_mask_is_obeyed_in_both_forms():
    module, x = make(), tokens(6)
    mask = torch.rand(2, 1, 6, 6, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[0, 0, 3] = False
    expected = latent_attention(x.numpy(), *weights_of(module), n_heads=3, mask=mask.numpy())
    for absorb in (False, True):
        y = module(x, mask=mask, absorb=absorb).detach()
        np.testing.assert_allclose(y, expected, rtol=1e-10, atol=1e-12)
        assert (y[0, 3] == 0).all()


@given(
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    d_rope=st.sampled_from([0, 4]),
    absorb=st.booleans(),
    paged=st.booleans(),
)
def test_in_pieces_is_in_one(cuts, d_rope, absorb, paged):
    module, x = make(d_rope=d_rope), tokens(sum(cuts))
    cache = PagedKVCache(page_size=4, n_pages=32) if paged else KVCache()
    with torch.no_grad():
        pieces = x.split(cuts, dim=1)
        y = [module(p, causal=True, cache=cache, absorb=absorb) for p in pieces]
    expected = module(x, causal=True).detach()
    torch.testing.assert_close(torch.cat(y, dim=1), expected, **EXACT)


def test_the_cache_holds_the_latent_only():
    ours = MultiHeadLatentAttention(64, 8, d_latent=16, d_rope=4)
    plain = MultiHeadAttention(64, 8)
    x, caches = torch.randn(2, 9, 64), (KVCache(), KVCache())
    with torch.no_grad():
        for module, cache in zip((ours, plain), caches, strict=True):
            module(x, causal=True, cache=cache)
    assert caches[0].nbytes == 4 * 2 * 9 * (16 + 4)
    assert caches[1].nbytes == 4 * 2 * 9 * (64 + 64)


@pytest.mark.filterwarnings("error")
def test_nothing_rotated():
    module, cache = make(d_rope=0), KVCache()
    assert module.rope is None and "k_rope_proj.weight" not in module.state_dict()
    with torch.no_grad():
        module(tokens(5), causal=True, cache=cache)
    assert cache.nbytes == 8 * 2 * 5 * (5 + 1)  # d_latent, and one number that is not read
    with pytest.raises(ValueError, match="positions is given, but this module rotates nothing"):
        module(tokens(5), positions=torch.arange(5))


@pytest.mark.parametrize("d_rope", [0, 4])
def test_a_quantised_latent_is_close(d_rope):
    module, x = make(d_rope=d_rope), tokens(12)
    with torch.no_grad():
        cache = QuantizedKVCache(8)
        y = torch.cat([module(t, cache=cache) for t in x.split(1, dim=1)], dim=1)
    error = (y - module(x, causal=True)).norm() / y.norm()
    assert 1e-6 < error < 1e-2


def test_options():
    assert make().rope == Rotary()
    assert make(rope=Rotary(base=50.0)).rope.base == 50.0
    x = tokens(5)
    far = make(rope=Rotary(base=50.0))
    expected = latent_attention(x.numpy(), *weights_of(far), n_heads=3, base=50.0)
    np.testing.assert_allclose(far(x).detach(), expected, rtol=1e-10, atol=1e-12)
    assert make(rope=False).rope is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(d_rope=3), "d_rope is 3, but rope turns pairs; it should be even"),
        (dict(d_latent=0), "d_latent is 0; it should be at least 1"),
        (dict(n_heads=2, d_k=None), "n_heads is 2, which does not divide d_model=11"),
        (dict(impl="cuda"), "impl is 'cuda'"),
        (dict(rope=1), "rope is 1; it should be True, False or a Rotary"),
    ],
)
def test_bad_sizes(untyped, change, message):
    with pytest.raises(ValueError, match=message):
        make(**change)


def test_bad_input(untyped):
    module, x = make(), tokens(3)
    for bad, message in (
        (x.numpy(), "x is ndarray"),
        (x.float(), r"x is torch\.float32"),
        (x[0], r"x has shape \[3, 11\]"),
    ):
        with pytest.raises(ValueError, match=message):
            module(bad)
    with pytest.raises(ValueError, match="cache is a list"):
        module(x, causal=True, cache=[])
    with pytest.raises(ValueError, match="causal is False, but x has 3 tokens"):
        module(x, cache=KVCache())
    with pytest.raises(ValueError, match=r"require gradients, .*Use torch\.no_grad\(\)"):
        module(x, causal=True, cache=KVCache())
    cache = WindowedKVCache(2)
    with torch.no_grad():
        for _ in range(3):
            module(x[:, :1], cache=cache)
        with pytest.raises(ValueError, match="the cache has dropped tokens"):
            module(x[:, :1], cache=cache)


@pytest.mark.parametrize("name", ["w_q", "w_dkv", "w_kr", "w_uk", "w_uv", "w_o"])
def test_bad_matrices(untyped, name):
    names = ("w_q", "w_dkv", "w_kr", "w_uk", "w_uv", "w_o")
    weights = dict(zip(names, weights_of(make()), strict=True))
    x = tokens(3).numpy()
    with pytest.raises(ValueError, match=f"{name} has shape"):
        latent_attention(x, **(weights | {name: weights[name][0]}), n_heads=3)
    with pytest.raises(ValueError, match=f"{name} has|w_q has|w_uk has|w_uv has"):
        latent_attention(x, **(weights | {name: weights[name][:-1]}), n_heads=3)
