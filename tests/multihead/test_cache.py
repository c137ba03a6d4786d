"""A module with a cache, token by token and in pieces, against one pass over the whole sequence."""

from copy import deepcopy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.masks import padding_mask, window_mask
from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache, WindowedKVCache
from attention_src.multihead.layer import MultiHeadAttention, MultiHeadLatentAttention, Rotary
from attention_src.multihead.layer_attend import attend_with_cache, attend_with_weights

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


CACHES = {
    "contiguous": KVCache,
    "windowed": lambda: WindowedKVCache(3, 1),
    "paged": lambda: PagedKVCache(2, 32),
    "int8": lambda: QuantizedKVCache(8),
    "int4": lambda: QuantizedKVCache(4, group=2, residual=1),
}


def observed(cache):
    """All that a caller can see of a cache."""
    if cache.layout is None:
        return [cache.n_seen, cache.batch, cache.nbytes, getattr(cache, "n_free_pages", None)]
    own = [cache.batch, cache.layout, cache.n_seen, len(cache), cache.nbytes]
    numbers = [*cache.read(), cache.lengths, cache.positions]
    return [*own, getattr(cache, "n_free_pages", None), *(x.tolist() for x in numbers)]


@pytest.mark.parametrize("make_cache", CACHES.values(), ids=CACHES)
@pytest.mark.parametrize("held", [0, 1, 5])
def test_a_refused_call_leaves_the_cache_as_it_was(make_cache, held, untyped):
    """Whatever is wrong, and with how many tokens, the call may be tried again."""
    q, k, v = (torch.randn(2, H, held + 3, 8) for H in (4, 2, 2))
    wrong = [
        dict(mask=torch.ones(7, 7, dtype=torch.bool)),
        dict(mask=torch.ones(1, 1)),
        dict(impl="triton", mask=torch.ones(1, 1, dtype=torch.bool)),
        dict(impl="flash"),
        dict(scale=float("nan")),
        dict(softcap=-1.0),
        dict(window=0),
        dict(window=2, sinks=-1),
        dict(sink_logits=torch.ones(3)),
        dict(q=lambda q: q[..., :7]),
        dict(q=lambda q: q[:1]),
        dict(q=lambda q: q[:, :3]),
        dict(q=lambda q: q.double()),
        dict(v=lambda v: v.double()),
        dict(k=lambda k: k[:, :1]),
    ]
    for n in (1, 3):
        new = [x[:, :, held : held + n] for x in (q, k, v)]
        right = make_cache()
        if held:
            right.append(k[:, :, :held], v[:, :, :held])
        cache, before = deepcopy(right), observed(right)
        o = attend_with_cache(*new, right)
        for case in wrong:
            edits = [case.get(name, lambda x: x) for name in "qkv"]
            given = [edit(x) for edit, x in zip(edits, new, strict=True)]
            options = {name: x for name, x in case.items() if name not in "qkv"}
            for call in (attend_with_cache, attend_with_weights):
                with pytest.raises(ValueError):
                    call(*given, cache, **options)
                assert observed(cache) == before, (n, case, call.__name__)
        assert torch.equal(attend_with_cache(*new, cache), o)
        assert observed(cache) == observed(right)


def test_a_refused_fork_leaves_the_pool_as_it_was():
    q, k, v = (torch.randn(1, 2, 3, 8) for _ in range(3))
    cache = PagedKVCache(4, 8)
    cache.append(k, v)
    forks = cache.fork([0, 0])
    before = observed(cache), observed(forks)
    new = [x[:, :, :1].expand(2, -1, -1, -1) for x in (q, k, v)]
    with pytest.raises(ValueError, match="scale is inf"):
        attend_with_cache(*new, forks, scale=float("inf"))  # both copy the page that they share
    assert (observed(cache), observed(forks)) == before
    attend_with_cache(*new, forks)
    assert cache.n_free_pages == 8 - 3 and observed(cache)[-4:] == before[0][-4:]


@pytest.mark.parametrize("latent", [False, True])
@pytest.mark.parametrize("make_cache", CACHES.values(), ids=CACHES)
def test_a_module_that_refuses_leaves_the_cache_as_it_was(make_cache, latent):
    if latent and make_cache is CACHES["windowed"]:
        return  # which drops tokens, so it is refused before
    torch.manual_seed(0)
    module = make() if not latent else MultiHeadLatentAttention(12, 4, d_latent=8).double()
    x, cache, right = tokens(6), make_cache(), make_cache()
    with torch.no_grad():
        for part in (x[:, :2], x[:, 2:5], x[:, 5:]):
            before = observed(cache)
            for return_weights in (False, True):
                for mask in (torch.ones(1, 1, 9, 9, dtype=torch.bool), torch.ones(1)):
                    with pytest.raises(ValueError, match="mask"):
                        options = dict(mask=mask, return_weights=return_weights)
                        module(part, causal=True, cache=cache, **options)
                    assert observed(cache) == before
            expected = module(part, causal=True, cache=right)
            assert torch.equal(module(part, causal=True, cache=cache), expected)
