"""decode_attention over every cache: the three gates, token by token, grouped heads, refusals."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.layer import attention
from attention_src.attention.masks import window_mask
from attention_src.kvcache import layer, reference
from attention_src.kvcache.cache import (
    KVCache,
    PagedKVCache,
    QuantizedKVCache,
    WindowedKVCache,
)
from attention_src.kvcache.layer import decode_attention, has_kernel, merge_partials
from attention_src.testing import assert_sharp, assert_within_budget, make_qkv, probe_mask
from attention_src.triton_support import interpreter

IMPLS = ("dense", "sdpa", "tiled")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SHARP = {torch.float32: 1e-5, torch.float64: 1e-13}
MAKERS = {
    "contiguous": lambda: KVCache(),
    "windowed": lambda: WindowedKVCache(7, sinks=3),
    "int8": lambda: QuantizedKVCache(8),
    "int4": lambda: QuantizedKVCache(4, group=8, residual=5),
    "int4 per token": lambda: QuantizedKVCache(4, scheme="per_token"),
    "paged": lambda: PagedKVCache(5, 800),
}
WITH_KERNEL = ("contiguous", "windowed", "int8", "paged")
every_cache = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_impl = pytest.mark.parametrize("impl", IMPLS)

# n, d_k, d_v, H, H_kv, scale: one token, primes, around a tile of "tiled", grouped heads.
SIZES = [
    (1, 3, 2, 2, 2, None),
    (37, 17, 19, 6, 2, 0.3),
    (256, 5, 3, 2, 2, None),
    (257, 64, 64, 5, 1, None),
]
pytestmark = pytest.mark.usefixtures("poisoned_storage")


def fill(cache, k, v):
    cache.append(k, v)
    return cache


def inputs(size, dtype, scale_of_q=1.0):
    n, d_k, d_v, n_heads, n_kv_heads = size
    heads = dict(n_heads=n_heads, n_kv_heads=n_kv_heads)
    return make_qkv(1, n, d_k, d_v, **heads, dtype=dtype, size=scale_of_q)


def exact(q, cache, scale=None):
    """In float64 from the reference, on what the cache holds."""
    k, v = (x.double().cpu().numpy() for x in cache.read())
    lengths = cache.lengths.cpu().numpy()
    return reference.decode(q.double().cpu().numpy(), k, v, lengths=lengths, scale=scale)


def plain(q, cache, scale=None):
    """The equation in q's own dtype, rounded after every step."""
    k, v = cache.read()
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    s = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    past_end = torch.arange(k.shape[2], device=q.device) >= cache.lengths[:, None, None, None]
    return s.masked_fill(past_end, -torch.inf).softmax(dim=-1).masked_fill(past_end, 0) @ v


def check(o, q, cache, impl, scale=None):
    """Both tolerance gates."""
    assert o.dtype == q.dtype
    right = exact(q, cache, scale)
    if q.dtype in SHARP:
        assert_sharp(o, right, rtol=SHARP[q.dtype])
    # float64 is the reference's own; torch's fused float32 is held to the sharp gate alone.
    if q.dtype != torch.float64 and (impl, q.dtype) != ("sdpa", torch.float32):
        assert_within_budget(o, right, plain(q, cache, scale))


@every_cache
@every_impl
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_budget_and_sharp(make, impl, dtype):
    for *size, scale in SIZES:
        q, k, v = inputs(size, dtype)
        cache = fill(make(), k, v)
        o = decode_attention(q, cache, impl=impl, scale=scale)
        assert o.shape == (*q.shape[:3], v.shape[-1])
        check(o, q, cache, impl, scale)


@every_cache
@pytest.mark.parametrize("impl", ["dense", "tiled"])  # torch's fused function rounds p as well
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_rounded_once(make, impl, dtype):
    q, k, v = inputs((600, 8, 8, 4, 2), dtype)  # three tiles
    cache = fill(make(), k, v)
    o, right = decode_attention(q, cache, impl=impl).double().numpy(), exact(q, cache)
    assert (np.abs(o - right) <= 1.01 * torch.finfo(dtype).eps / 2 * np.abs(right) + 1e-6).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("H_kv", [1, 2, 6])
@pytest.mark.parametrize("B", [1, 3])
def test_queries_share_a_head_in_16_bits(B, H_kv, dtype):
    q, k, v = (
        torch.randn(B, h, n, d).to(dtype) for h, n, d in ((6, 1, 8), (H_kv, 40, 8), (H_kv, 40, 4))
    )
    cache = fill(KVCache(), k, v)
    o = decode_attention(q, cache, impl="sdpa")
    assert o.shape == (B, 6, 1, 4) and o.dtype == dtype
    assert np.abs(o.double().numpy() - exact(q, cache)).max() < 4 * torch.finfo(dtype).eps


@every_cache
@every_impl
def test_logits_of_1e4(make, impl):
    q, k, v = inputs((300, 7, 3, 4, 2), torch.float32, scale_of_q=1e4)
    cache = fill(make(), k, v)
    assert (q @ cache.read()[0].repeat_interleave(2, dim=1).mT / 7**0.5).abs().max() > 1e4
    o = decode_attention(q, cache, impl=impl)
    assert_within_budget(o, exact(q, cache), plain(q, cache))


@every_impl
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("n", [1, 11, 300])
def test_probe(impl, dtype, n):
    def probe(make, visible):
        probe_mask(
            lambda q, k, v: decode_attention(q, fill(make(), k, v), impl=impl), visible, dtype=dtype
        )

    everything = np.ones((1, n), dtype=bool)
    probe(KVCache, everything)
    probe(lambda: PagedKVCache(4, 100), everything)
    for window, sinks in ((1, 0), (3, 2)):
        probe(lambda w=window, s=sinks: WindowedKVCache(w, s), window_mask(1, n, window, sinks))


@every_impl
@pytest.mark.parametrize("n", [1, 4, 5])
def test_probe_over_ragged_lengths(impl, n):
    def attend(q, k, v):
        # A second, longer sequence makes this one ragged.
        cache = PagedKVCache(4, 30)
        both = [torch.cat([x, torch.full_like(x, 9.0)]) for x in (k, v)]
        cache.append(*both, lengths=[n, 12])
        return decode_attention(q.repeat(2, 1, 1, 1), cache, impl=impl)[:1]

    visible = np.arange(12)[None] < n
    probe_mask(attend, visible, dtype=torch.float32)


@every_impl
@pytest.mark.parametrize(
    "make", [KVCache, lambda: PagedKVCache(4, 60)], ids=["contiguous", "paged"]
)
def test_token_by_token_is_causal_attention(make, impl):
    q, k, v = make_qkv(19, d_k=8, d_v=6, n_heads=6, n_kv_heads=2, dtype=torch.float64)
    full, cache = attention(q, k, v, causal=True, impl="dense"), make()
    for t in range(19):
        now = slice(t, t + 1)
        cache.append(k[:, :, now], v[:, :, now])
        o = decode_attention(q[:, :, now], cache, impl=impl)
        np.testing.assert_allclose(o, full[:, :, now], rtol=1e-12, atol=1e-15)


@every_impl
@pytest.mark.parametrize(("window", "sinks"), [(1, 0), (4, 3), (50, 1)])
def test_token_by_token_is_attention_under_the_window_mask(window, sinks, impl):
    q, k, v = make_qkv(29, d_k=8, d_v=6, n_heads=4, n_kv_heads=2, dtype=torch.float64)
    full = attention(q, k, v, mask=window_mask(29, 29, window, sinks), impl="dense")
    for portion in (1, 3):  # several tokens may be appended before a query
        cache = WindowedKVCache(window, sinks)
        for t in range(portion - 1, 29, portion):
            new = slice(t + 1 - portion, t + 1)
            cache.append(k[:, :, new], v[:, :, new])
            o = decode_attention(q[:, :, t : t + 1], cache, impl=impl)
            np.testing.assert_allclose(o, full[:, :, t : t + 1], rtol=1e-12, atol=1e-15)


def test_a_windowed_prefill_attends_first_and_appends_then():
    # As the docstring of the cache says.
    q, k, v = make_qkv(20, d_k=4, dtype=torch.float64)
    full = attention(q, k, v, mask=window_mask(20, 20, 5, 2), impl="dense")
    cache, done = WindowedKVCache(5, sinks=2), 0
    for n in (9, 8, 3):
        new = slice(done, done + n)
        k_all, v_all, at = k[:, :, new], v[:, :, new], torch.arange(done, done + n)
        if done:
            k_held, v_held = cache.read()
            k_all, v_all = torch.cat([k_held, k_all], dim=2), torch.cat([v_held, v_all], dim=2)
            at = torch.cat([cache.positions, at])
        mask = window_mask(20, 20, 5, 2)[new][:, at.numpy()]
        o = attention(q[:, :, new], k_all, v_all, mask=mask, impl="dense")
        np.testing.assert_allclose(o, full[:, :, new], rtol=1e-12, atol=1e-15)
        cache.append(k[:, :, new], v[:, :, new])
        done += n


ragged = st.lists(st.integers(0, 20), min_size=1, max_size=3)


@given(
    ragged,
    st.sampled_from([(1, 1), (2, 2), (6, 2), (4, 1)]),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.integers(1, 7),
    st.sampled_from(IMPLS),
    st.integers(0, 99),
)
def test_ragged_sequences(lengths, heads, widths, page_size, impl, seed):
    (n_heads, n_kv_heads), batch = heads, len(lengths)
    options = dict(batch=batch, n_heads=n_heads, n_kv_heads=n_kv_heads, seed=seed)
    q, k, v = make_qkv(1, max(lengths), *widths, **options, dtype=torch.float64)
    cache = PagedKVCache(page_size, 70)
    first = torch.tensor([n // 2 for n in lengths])
    cache.append(k, v, lengths=first)
    rest = [n - int(half) for n, half in zip(lengths, first, strict=True)]
    at = (first[:, None] + torch.arange(max(rest))).clamp(max=max(0, max(lengths) - 1))
    at = at[:, None, :, None].expand(-1, n_kv_heads, -1, -1)
    k_rest = k.gather(2, at.expand(-1, -1, -1, widths[0]))
    cache.append(k_rest, v.gather(2, at.expand(-1, -1, -1, widths[1])), lengths=rest)
    right = reference.decode(q.numpy(), k.numpy(), v.numpy(), lengths=lengths)
    np.testing.assert_allclose(decode_attention(q, cache, impl=impl), right, rtol=1e-11, atol=1e-14)


@given(
    st.sampled_from(sorted(MAKERS)),
    st.integers(0, 40),
    st.sampled_from([(1, 1), (2, 2), (6, 2), (4, 1)]),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from(DTYPES),
    st.sampled_from(IMPLS),
    st.booleans(),
    st.integers(0, 99),
)
def test_any_cache_of_any_shape(name, n, heads, widths, dtype, impl, strided, seed):
    options = dict(n_heads=heads[0], n_kv_heads=heads[1], seed=seed)
    q, k, v = make_qkv(1, n, *widths, **options, dtype=dtype)
    if strided:
        q = q.transpose(1, 3).contiguous().transpose(1, 3)
    cache = fill(MAKERS[name](), k, v)
    check(decode_attention(q, cache, impl=impl), q, cache, impl)


@every_cache
@pytest.mark.parametrize("impl", ["auto", *IMPLS])
def test_nothing_to_see_gives_zero(make, impl):
    q = torch.randn(2, 4, 1, 3)
    cache = make()
    assert torch.equal(decode_attention(q, cache, impl=impl), torch.zeros(2, 4, 1, 3))
    cache.append(torch.ones(2, 2, 0, 3), torch.ones(2, 2, 0, 5))
    assert torch.equal(decode_attention(q, cache, impl=impl), torch.zeros(2, 4, 1, 5))


@every_impl
def test_gradients_reach_the_query(impl):
    q, k, v = make_qkv(1, 9, n_heads=4, n_kv_heads=2, dtype=torch.float64)
    cache = fill(WindowedKVCache(4, sinks=1), k, v)
    assert torch.autograd.gradcheck(
        lambda x: decode_attention(x, cache, impl=impl), (q.requires_grad_(),)
    )


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 4), st.integers(1, 4))
def test_merge_partials_is_the_reference(seed, parts, rows, d_v):
    rng = np.random.default_rng(seed)
    o_parts, lse_parts = rng.standard_normal((parts, rows, d_v)), rng.normal(0, 40, (parts, rows))
    hidden = rng.random((parts, rows)) < 0.4
    o_parts[hidden], lse_parts[hidden] = np.nan, -np.inf
    ours = merge_partials(torch.from_numpy(o_parts), torch.from_numpy(lse_parts))
    for x, right in zip(ours, reference.merge_partials(o_parts, lse_parts), strict=True):
        np.testing.assert_allclose(x, right, rtol=1e-12, atol=1e-300)


def test_refusals(untyped):
    q, k, v = make_qkv(1, 5, 4, n_heads=4, n_kv_heads=2, dtype=torch.float32)
    cache = fill(KVCache(), k, v)
    for arguments, message in (
        ((q.repeat(1, 1, 2, 1), cache), r"q has shape \[2, 4, 2, 4\].*\[B, H, 1, d_k\]"),
        ((q[0], cache), r"q has shape \[4, 1, 4\]"),
        ((q[:1], cache), "q has B=1 and d_k=4, but the cache holds B=2 and d_k=4"),
        ((q[..., :3], cache), "d_k=3, but the cache holds B=2 and d_k=4"),
        ((q[:, :3], cache), "H_kv=2 heads, which does not divide the H=3"),
        ((q.double(), cache), "q is torch.float64 on cpu, but the cache holds torch.float32"),
        ((q.to("meta"), cache), "q is torch.float32 on meta, but"),
        ((q.numpy(), cache), "q is a ndarray"),
        ((q.int(), cache), "q has dtype torch.int32"),
        ((q, (k, v)), "cache is a tuple"),
    ):
        with pytest.raises(ValueError, match=message):
            decode_attention(*arguments)
    for options, message in (
        (dict(impl="flash"), "'auto', 'dense', 'sdpa', 'tiled', 'triton'"),
        (dict(scale="1"), "scale is '1'"),
        (dict(scale=float("nan")), "scale is nan"),
    ):
        with pytest.raises(ValueError, match=message):
            decode_attention(q, cache, **options)
    with pytest.raises(ValueError, match="they should be"):
        merge_partials(torch.ones(2, 3, 4), torch.ones(2, 4))


@pytest.mark.parametrize(
    "cache",
    [
        QuantizedKVCache(4),
        QuantizedKVCache(4, scheme="per_token"),
        QuantizedKVCache(8, scheme="per_channel"),
        QuantizedKVCache(8, residual=2),
    ],
    ids=["int4", "int4 per token", "int8 per channel", "int8 and a residual"],
)
def test_a_cache_without_a_kernel_is_never_read_in_another_way(cache):
    q, k, v = make_qkv(1, 5, 4, dtype=torch.float32)
    for ready in (cache, fill(cache, k, v)):
        assert not has_kernel(ready)
        with pytest.raises(ValueError, match=r"QuantizedKVCache with bits=.*has no kernel"):
            decode_attention(q, ready, impl="triton")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_nan_in_a_query_stays_in_its_head(dtype):
    q, k, v = (torch.randn(1, H, n, 4).to(dtype) for H, n in ((6, 1), (2, 5), (2, 5)))
    q[0, 1, 0, 2] = torch.nan
    cache = KVCache()
    cache.append(k, v)
    bad = decode_attention(q, cache).isnan()[0, :, 0]  # torch's function alone gives 0
    assert bad[1].all() and not bad[[0, 2, 3, 4, 5]].any()


@every_cache
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_keys_that_are_nan_give_nan(make, dtype):
    for H_kv in (1, 2):
        for n in (1, 3, 40):  # 40 fill the window, so that all held keys are NaN
            q, k, v = (torch.randn(2, H, n, 4).to(dtype) for H, n in ((2, 1), (H_kv, n), (H_kv, n)))
            k[1] = torch.nan
            cache = fill(make(), k, v)
            for impl in ("auto", "sdpa"):
                o = decode_attention(q, cache, impl=impl)
                right = decode_attention(q, cache, impl="dense")
                torch.testing.assert_close(o, right, equal_nan=True)
                assert o[1].isnan().all() and not o[0].isnan().any()


def test_derivatives_beyond_the_first():
    q, k, v = make_qkv(1, 5, 4, 4, n_heads=2, dtype=torch.float64)
    cache = fill(KVCache(), k, v)

    def loss(q, impl="auto"):
        return decode_attention(q, cache, impl=impl).square().sum()

    assert torch.func.hessian(lambda q: loss(q, "dense"))(q).abs().max() > 0
    with pytest.raises(RuntimeError, match=r'"sdpa".*has first derivatives only.*"dense"'):
        torch.func.hessian(loss)(q)


def test_auto_is_sdpa_on_a_cpu():
    q, k, v = make_qkv(1, 5, 4, dtype=torch.float32)
    for make in MAKERS.values():
        cache = fill(make(), k, v)
        sdpa = decode_attention(q, cache, impl="sdpa")
        assert torch.equal(decode_attention(q, cache), sdpa)


def test_the_kernel_takes_each_cache_from_its_storage(monkeypatch):
    """impl="triton" over storage that is NaN where it holds no token, after forks and wraps."""
    pytest.importorskip("triton")
    device = "cpu" if interpreter.interpreted() else "cuda"
    q, k, v = make_qkv(1, 43, 16, 24, n_heads=6, n_kv_heads=2, dtype=torch.float32)
    q, k, v = q.to(device), k.to(device), v.to(device)
    for name in WITH_KERNEL:
        cache = MAKERS[name]()
        for portion in (slice(0, 38), slice(38, 42), slice(42, 43)):
            cache.append(k[:, :, portion], v[:, :, portion])
        assert has_kernel(cache)
        check_kernel(q, cache, monkeypatch)
    ragged = PagedKVCache(8, 60)
    ragged.append(k, v, lengths=[43, 3])
    fork = ragged.fork([1, 0])
    fork.append(k[:, :, :9], v[:, :, :9], lengths=[9, 0])
    ragged.free([0])
    for cache in (ragged, fork):
        check_kernel(q, cache, monkeypatch)


def check_kernel(q, cache, monkeypatch):
    right, rounded = exact(q, cache, scale=0.3), plain(q, cache, scale=0.3)
    if isinstance(cache, QuantizedKVCache):  # the kernel does not round dequantised numbers
        k, k_scale, v, v_scale = (x.double().cpu() for x in cache.stored_int8())
        k, v = k * k_scale[..., None], v * v_scale[..., None]
        right = reference.decode(q.double().cpu().numpy(), k.numpy(), v.numpy(), scale=0.3)
    with monkeypatch.context() as no_reading:
        if not isinstance(cache, KVCache):  # whose read is its storage
            no_reading.setattr(type(cache), "read", None)
        o = decode_attention(q, cache, scale=0.3, impl="triton")
    assert o.dtype == q.dtype
    assert_within_budget(o, right, rounded)
    assert_sharp(o, right)


class OnCuda(torch.Tensor):
    """A tensor that claims to be on a GPU."""

    is_cuda = True


def test_auto_takes_the_kernel_where_it_can():
    pytest.importorskip("triton")
    from attention_src.kvcache.kernel.checks import MAX_D

    assert layer.KERNEL_MAX_D == MAX_D

    def prefers(name, dtype=torch.float16, d_k=4, d_v=6, learns=False):
        q, k, v = make_qkv(1, 5, d_k, d_v, dtype=dtype)
        q = q.as_subclass(OnCuda).requires_grad_(learns)
        return layer._prefers_kernel(q, fill(MAKERS[name](), k, v))

    for name in MAKERS:
        for dtype in DTYPES:
            assert prefers(name, dtype) == (name in WITH_KERNEL and dtype != torch.float64)
    assert prefers("contiguous", d_v=MAX_D) and not prefers("contiguous", d_v=MAX_D + 2)
    assert not prefers("paged", d_k=MAX_D + 2) and not prefers("paged", learns=True)
    assert prefers("contiguous", d_v=7) and not prefers("int8", d_v=7)
