"""A module with a cache, token by token and in pieces, against one pass over the whole sequence."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.masks import padding_mask, window_mask
from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache, WindowedKVCache
from attention_src.multihead.layer import MultiHeadAttention, Rotary

EXACT = dict(rtol=1e-10, atol=1e-12)


def make(n_kv_heads=2, rope=True, impl="dense", **options):
    torch.manual_seed(0)
    heads = dict(n_kv_heads=n_kv_heads, rope=rope, impl=impl)
    return MultiHeadAttention(12, 4, d_k=6, d_v=3, **heads, **options).double().eval()


def tokens(n, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, n, 12, dtype=torch.float64, generator=generator)


@torch.no_grad()
def in_pieces(module, x, cuts, cache, **options):
    """Pass x through the cache in pieces of the sizes `cuts`."""
    pieces = x.split(cuts, dim=1)
    return torch.cat([module(p, causal=True, cache=cache, **options) for p in pieces], dim=1)


@given(
    cuts=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    n_kv_heads=st.sampled_from([1, 2, 4]),
    rope=st.sampled_from([False, True, Rotary(base=100.0, interleaved=True)]),
    impl=st.sampled_from(["auto", "dense", "sdpa", "tiled"]),
    paged=st.booleans(),
)
def test_in_pieces_is_in_one(cuts, n_kv_heads, rope, impl, paged):
    module, x = make(n_kv_heads, rope, impl), tokens(sum(cuts))
    cache = PagedKVCache(page_size=4, n_pages=32) if paged else KVCache()
    y = in_pieces(module, x, cuts, cache)
    torch.testing.assert_close(y, module(x, causal=True).detach(), **EXACT)
    assert len(cache) == sum(cuts)


@given(
    cuts=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    window=st.integers(1, 9),
    sinks=st.integers(0, 3),
)
def test_a_windowed_cache_is_a_windowed_mask(cuts, window, sinks):
    n = sum(cuts)
    module, x = make(), tokens(n)
    y = in_pieces(module, x, cuts, WindowedKVCache(window, sinks))
    mask = window_mask(n, n, window, sinks)[None, None]
    expected = module(x, mask=mask).detach()
    torch.testing.assert_close(y, expected, **EXACT)


@given(n=st.integers(1, 12), window=st.integers(1, 9), sinks=st.integers(0, 3))
def test_a_windowed_cache_needs_no_mask_for_its_first_tokens(n, window, sinks):
    module, x = make(impl="tiled"), tokens(n + 1)
    y = in_pieces(module, x, [n, 1], WindowedKVCache(window, sinks))
    mask = window_mask(n + 1, n + 1, window, sinks)[None, None]
    torch.testing.assert_close(y, make()(x, mask=mask).detach(), **EXACT)


def test_a_quantised_cache_is_close():
    module, x = make(), tokens(25)
    y = in_pieces(module, x, [20] + 5 * [1], QuantizedKVCache(8))
    error = (y - module(x, causal=True)).norm() / y.norm()
    assert 1e-5 < error < 1e-2


def test_sequences_of_different_lengths():
    # Two sequences of 5 and 3 tokens, then two more tokens each, then one: as each alone.
    module, x = make(), tokens(8)
    cache, first = PagedKVCache(page_size=2, n_pages=32), x[:, :5]
    with torch.no_grad():
        q = module._split(module.k_proj(first), 2)
        k, _ = module.rope(q, q, torch.arange(5))
        cache.append(k, module._split(module.v_proj(first), 2), lengths=torch.tensor([5, 3]))
        later = [module(x[:, 5:7], causal=True, cache=cache), module(x[:, 7:], cache=cache)]
    y = torch.cat(later, dim=1)
    for b, n in enumerate((5, 3)):
        alone = torch.cat([x[b : b + 1, :n], x[b : b + 1, 5:]], dim=1)
        expected = module(alone, causal=True)[:, n:].detach()
        torch.testing.assert_close(y[b : b + 1], expected, **EXACT)


def test_a_mask_counts_the_cached_keys():
    module, x = make(), tokens(7)
    cache = KVCache()
    mask = torch.from_numpy(padding_mask([7, 6], 7)).expand(2, 1, 7, 7).clone()
    mask[:, :, :, 1] = False
    with torch.no_grad():
        first = module(x[:, :4], causal=True, cache=cache, mask=mask[..., :4, :4])
        rest = module(x[:, 4:], causal=True, cache=cache, mask=mask[..., 4:, :])
    expected = module(x, causal=True, mask=mask).detach()
    torch.testing.assert_close(torch.cat([first, rest], dim=1), expected, **EXACT)


def test_positions_may_be_given():
    module, x = make(), tokens(5)
    expected = module(x, causal=True)
    # Only distances count, so a common shift changes nothing; another order does.
    shifted = module(x, causal=True, positions=torch.arange(5) + 100)
    torch.testing.assert_close(shifted, expected, rtol=1e-9, atol=1e-9)
    assert not torch.allclose(module(x, causal=True, positions=[0, 1, 2, 4, 3]), expected)


def test_rotation_is_applied_once_to_queries_and_keys_only():
    plain, rotated = make(rope=False), make(rope=True)
    rotated.load_state_dict(plain.state_dict())
    x = tokens(1)  # one token sees only itself, at distance 0
    torch.testing.assert_close(rotated(x), plain(x), **EXACT)
    x = tokens(5)
    assert not torch.allclose(rotated(x), plain(x))
