"""SmolLM2 through a cache: what it should be equal to, what it takes, and what is refused.

What holds for any weights is tested on the first three layers.
"""

import pytest
import torch
from smollm2_support import CLOSE, agreement, llama, model, shallow, text_ids

from attention_src.attention.masks import window_mask
from attention_src.costs import kv_cache_bytes
from attention_src.kvcache.cache import (
    KVCache,
    OutOfPages,
    PagedKVCache,
    QuantizedKVCache,
    WindowedKVCache,
)
from attention_src.models.smollm2.caches import make_caches
from attention_src.models.smollm2.trace import Probe

N = 18
ONE_BY_ONE = [1] * N
PIECES = [1, 7, 2, 5, 3]


def in_pieces(ids, cuts, cache, model=shallow, **options):
    """The logits of ids [B, n] or [n], of which the caches see pieces of the sizes `cuts`."""
    caches = make(cache, ids.shape[0] if ids.ndim == 2 else 1, model)
    pieces = ids.split(cuts, dim=-1)
    logits = [model().logits(piece, caches=caches, **options) for piece in pieces]
    return torch.cat(logits, dim=-2), caches


def make(cache, batch=1, model=shallow):
    return model().new_caches(cache, batch=batch, max_tokens=256)


def error(logits, exact):
    return ((logits - exact).norm() / exact.norm()).item()


# Names and sizes.


@pytest.mark.parametrize(
    ("name", "kind", "sizes"),
    [
        ("contiguous", KVCache, {}),
        ("windowed", WindowedKVCache, {"window": 256, "sinks": 4}),
        ("windowed(8,2)", WindowedKVCache, {"window": 8, "sinks": 2}),
        ("windowed( 8, 0 )", WindowedKVCache, {"window": 8, "sinks": 0}),
        ("int8", QuantizedKVCache, {"is_int8": True}),
        ("int4", QuantizedKVCache, {"is_int8": False}),
        ("paged", PagedKVCache, {"page_size": 16}),
        ("paged(5)", PagedKVCache, {"page_size": 5}),
        (KVCache, KVCache, {}),
        (lambda: WindowedKVCache(3), WindowedKVCache, {"window": 3, "sinks": 0}),
    ],
)
def test_a_name_makes_a_cache_for_each_layer(name, kind, sizes):
    caches = make_caches(name, 30, 2, 100)
    assert len(caches) == 30 == len({id(cache) for cache in caches})
    for cache in caches:
        assert type(cache) is kind and len(cache) == 0
        for size, value in sizes.items():
            assert getattr(cache, size) == value


def test_paged_caches_have_room_for_the_batch_and_no_more():
    (cache,) = make_caches("paged(4)", 1, 3, 9)  # 3 pages for each of 3 sequences
    k = torch.zeros(3, 3, 9, 64)
    cache.append(k, k)
    cache.append(k[:, :, :3], k[:, :, :3])
    with pytest.raises(OutOfPages):
        cache.append(k[:, :, :1], k[:, :, :1])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "none",  # None is no cache
        "ring",
        "int2",
        "Contiguous",
        "contiguous(3)",
        "int8(4)",
        "windowed(256)",
        "windowed(1,2,3)",
        "windowed(1 2)",
        "windowed(-1,2)",
        "windowed(8,2",
        "paged(1,2)",
        "paged(1.5)",
        5,
        KVCache(),
    ],
)
def test_names_that_are_no_cache(name, untyped):
    with pytest.raises(
        ValueError, match=r"cache is .* it should be None or one of contiguous, wind"
    ):
        make_caches(name, 30, 1, 100)


@pytest.mark.parametrize("name", ["windowed(0,1)", "paged(0)"])
def test_sizes_that_no_cache_has(name):
    with pytest.raises(ValueError, match="should be at least 1"):
        make_caches(name, 30, 1, 100)


@pytest.mark.parametrize("make_one", [lambda: 3, lambda: None, dict])
def test_functions_that_make_something_else(make_one, untyped):
    with pytest.raises(ValueError, match=r"it should make one of kvcache\.cache"):
        make_caches(make_one, 30, 1, 100)


# What a cached pass computes.


@pytest.mark.parametrize("cuts", [ONE_BY_ONE, PIECES], ids=["one by one", "pieces"])
@pytest.mark.parametrize("cache", ["contiguous", "paged(5)"])
def test_an_exact_cache_changes_nothing(cache, cuts):
    ids = text_ids(N)
    logits, caches = in_pieces(ids, cuts, cache)
    exact = shallow().logits(ids)
    torch.testing.assert_close(logits, exact, **CLOSE)
    assert agreement(logits, exact) == 1
    assert all(len(cache) == N for cache in caches)


@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled"])
@pytest.mark.parametrize("cache", ["contiguous", "windowed(64,4)", "paged(5)"])
def test_every_implementation_reads_every_exact_cache(cache, impl):
    """Through a window, several tokens would need a mask."""
    cuts = [15, 1, 1, 1] if cache == "windowed(64,4)" else [9, 1, 1, 7]
    logits, _ = in_pieces(text_ids(N), cuts, cache, impl=impl)
    torch.testing.assert_close(logits, shallow().logits(text_ids(N)), **CLOSE)


@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled"])
@pytest.mark.parametrize(("cache", "most"), [("int8", 0.01), ("int4", 0.03)])
def test_every_implementation_reads_codes(cache, most, impl):
    """Enough tokens that int4 has whole groups in codes: its newest 32 stay as they are."""
    ids = text_ids(80)
    logits, _ = in_pieces(ids, [70, 1, 1, 8], cache, impl=impl)
    # Exact numbers would be off by less than 1e-6.
    assert 1e-4 < error(logits[70:], shallow().logits(ids)[70:]) < most


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["contiguous", "windowed(64,4)", "paged(5)", "int8"])
def test_the_kernels_read_every_cache_but_int4(cache):
    """The last token by itself, so that the kernel that decodes sees the cache's own storage."""
    pytest.importorskip("triton")
    logits, _ = in_pieces(text_ids(4), [3, 1], cache, impl="triton")
    expected, _ = in_pieces(text_ids(4), [3, 1], cache, impl="dense")
    atol = 0.05 if cache == "int8" else 2e-4  # a rounding error may tip a code over
    torch.testing.assert_close(logits, expected, atol=atol, rtol=0)
    with pytest.raises(ValueError, match=r"impl is 'triton', but .* has no kernel"):
        shallow().logits(text_ids(1), caches=make("int4"), impl="triton")


@pytest.mark.slow
def test_our_cache_continues_as_transformers_cache_does():
    ids, network = text_ids(40), llama()
    with torch.no_grad():
        past = network(ids[None, :33], use_cache=True).past_key_values
        expected = network(ids[None, 33:], past_key_values=past).logits[0]
    logits, caches = in_pieces(ids, [33, 7], "contiguous", model)
    torch.testing.assert_close(logits[33:], expected, **CLOSE)
    for cache, layer in zip(caches, past.layers, strict=True):
        k, v = cache.read()
        torch.testing.assert_close(k, layer.keys, atol=1e-3, rtol=1e-4)
        torch.testing.assert_close(v, layer.values, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("cache", ["contiguous", "paged(5)"])
def test_a_batch_in_a_cache_is_one_by_one(cache):
    ids = torch.stack([text_ids(N), text_ids(N, "rivers")])
    logits, _ = in_pieces(ids, [9, 1, 1, 7], cache)
    for row, each in zip(logits, ids, strict=True):
        torch.testing.assert_close(row, shallow().logits(each), **CLOSE)


# Without sinks some token attends to nothing that it was trained to rest on, and its float32
# rounding errors grow tenfold: dense, sdpa and transformers differ as much from float64.
@pytest.mark.parametrize(("window", "sinks", "atol"), [(6, 2, 4e-4), (5, 0, 2e-2)])
@pytest.mark.parametrize("cuts", [ONE_BY_ONE, PIECES], ids=["one by one", "pieces"])
def test_a_windowed_cache_is_a_windowed_mask(window, sinks, atol, cuts):
    ids = text_ids(N)
    logits, caches = in_pieces(ids, cuts, f"windowed({window},{sinks})")
    masked = shallow().logits(ids, mask=window_mask(N, N, window, sinks))
    torch.testing.assert_close(logits, masked, atol=atol, rtol=0)
    assert error(masked, shallow().logits(ids)) > 1e-2
    assert {len(cache) for cache in caches} == {window + sinks}


def test_a_window_that_holds_everything_changes_nothing():
    logits, _ = in_pieces(text_ids(N), PIECES, "windowed")
    torch.testing.assert_close(logits, shallow().logits(text_ids(N)), **CLOSE)


@pytest.mark.slow
def test_fewer_bits_are_less_exact():
    """160 tokens, so that 4 bits have had whole groups to quantise."""
    ids = text_ids(160)
    cuts = [128, 1, 15, 16]
    exact = model().logits(ids)[129:]
    errors, perplexities = {}, {}
    for cache in ("contiguous", "int8", "int4"):
        logits = in_pieces(ids, cuts, cache, model)[0][129:]
        errors[cache] = error(logits, exact)
        assert agreement(logits, exact) > 0.6
        nll = torch.nn.functional.cross_entropy(logits[:-1], ids[130:])
        perplexities[cache] = nll.exp().item()
    assert errors["contiguous"] < 1e-5 < errors["int8"] < 0.03
    assert 2 * errors["int8"] < errors["int4"] < 0.3
    assert perplexities["int8"] == pytest.approx(perplexities["contiguous"], rel=0.1)
    assert perplexities["int4"] == pytest.approx(perplexities["contiguous"], rel=0.6)


# What it takes.


@pytest.mark.parametrize(("batch", "n"), [(1, 1), (2, 17)])
def test_bytes_are_what_the_formula_says(batch, n):
    caches = make("contiguous", batch)
    shallow().logits(text_ids(n).repeat(batch, 1), caches=caches)
    expected = kv_cache_bytes(3, 3, 64, 64, n, dtype_bytes=4, batch=batch)
    assert sum(cache.nbytes for cache in caches) == expected == 4608 * batch * n


def test_quantised_and_windowed_caches_take_less():
    k = torch.randn(1, 3, 512, 64, generator=torch.Generator().manual_seed(0))
    n_bytes = {}
    for name in ("contiguous", "int8", "int4", "windowed(16,4)"):
        (cache,) = make_caches(name, 1, 1, 512)
        cache.append(k, k)
        n_bytes[name] = cache.nbytes
    assert n_bytes["int4"] < n_bytes["int8"] < 0.3 * n_bytes["contiguous"]
    assert n_bytes["windowed(16,4)"] == n_bytes["contiguous"] * 20 // 512


# What it refuses.


def test_more_tokens_than_it_was_trained_for():
    caches = make("windowed(8,0)")
    past = torch.zeros(1, 3, 8190, 64)
    for cache in caches:
        cache.append(past, past)
    shallow().logits(text_ids(2), caches=caches)
    with pytest.raises(ValueError, match=r"ids has 1 tokens and the caches have seen 8192"):
        shallow().logits(text_ids(1), caches=caches)


def test_caches_of_another_model_or_batch():
    with pytest.raises(ValueError, match="caches has 2 entries; it should be one a layer, 3"):
        shallow().logits(text_ids(3), caches=make("contiguous")[:2])
    _, caches = in_pieces(text_ids(3), [3], "contiguous")
    with pytest.raises(ValueError, match="B"):
        shallow().logits(text_ids(3).repeat(2, 1), caches=caches)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64], ids=str)
def test_ids_may_have_any_whole_dtype(dtype):
    ids = torch.tensor([5, 17, 255])
    for given in (ids.to(dtype), ids.to(dtype).numpy()):
        assert torch.equal(shallow().logits(given), shallow().logits(ids))


def test_caches_out_of_step_are_refused():
    caches = shallow().new_caches()
    shallow().logits([1, 2, 3], caches=caches)
    caches[0].append(*(x[:, :, :2] for x in caches[0].read()))
    with pytest.raises(ValueError, match="caches have seen 3 tokens in one layer and 5 in another"):
        shallow().logits([6], caches=caches)


@pytest.mark.parametrize("cache", ["contiguous", "windowed(2,1)", "int8", "int4", "paged(2)"])
def test_a_refused_call_leaves_all_layers_as_they_were(cache):
    """In whichever layer the error is found."""

    class Refusing(Probe):
        def attended(self, l, *rest):
            if l == 2:
                raise ValueError("probe: not here")
            return super().attended(l, *rest)

    caches, right = make(cache), make(cache)
    for ids in ([1, 2, 3], [4], [5, 6]):
        n = caches[0].n_seen
        for wrong in (dict(mask=torch.ones(2, 9, dtype=torch.bool)), dict(probe=Refusing())):
            with pytest.raises(ValueError, match=r"mask|probe"):
                shallow().logits(ids, caches=caches, **wrong)
            assert {x.n_seen for x in caches} == {n}
        expected = shallow().logits(ids, caches=right)
        assert torch.equal(shallow().logits(ids, caches=caches), expected)


def test_one_cache_for_all_layers_is_refused(untyped):
    shared = KVCache()
    with pytest.raises(ValueError, match="one cache for several layers"):
        shallow().new_caches(lambda: shared)


def test_no_cache_is_not_made(untyped):
    with pytest.raises(ValueError, match="so there is nothing to make: leave caches=None"):
        shallow().new_caches(None)
