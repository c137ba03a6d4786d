"""Every cache against its NumPy reference, and what all caches have in common."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.costs import kv_cache_bytes
from attention_src.kvcache import reference as r
from attention_src.kvcache.cache import (
    Cache,
    KVCache,
    PagedKVCache,
    QuantizedKVCache,
    WindowedKVCache,
)
from attention_src.testing import make_qkv

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MAKERS = {
    "contiguous": lambda: KVCache(),
    "windowed": lambda: WindowedKVCache(5),
    "windowed with sinks": lambda: WindowedKVCache(4, sinks=2),
    "int8": lambda: QuantizedKVCache(8),
    "int8 and a residual": lambda: QuantizedKVCache(8, residual=3),
    "int8 per channel": lambda: QuantizedKVCache(8, scheme="per_channel", group=4, residual=1),
    "int4": lambda: QuantizedKVCache(4, group=4, residual=3),
    "int4 without a residual": lambda: QuantizedKVCache(4, group=3, residual=0),
    "int4 per token": lambda: QuantizedKVCache(4, scheme="per_token"),
    "paged": lambda: PagedKVCache(3, 200),
}
every_cache = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
pytestmark = pytest.mark.usefixtures("poisoned_storage")


def expected(cache, k, v):
    """What the reference returns for this cache, in k's dtype."""
    # NumPy has no bfloat16: use float32 there, and round the result to bfloat16 below.
    k32, v32 = (x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy() for x in (k, v))
    if isinstance(cache, WindowedKVCache):
        read = r.read_windowed(k32, v32, cache.window, cache.sinks)
    elif isinstance(cache, QuantizedKVCache):
        options = dict(scheme=cache.scheme, group=cache.group, residual=cache.residual)
        read = r.read_quantized(k32, v32, cache.bits, **options)
    elif isinstance(cache, PagedKVCache):
        table, lengths = cache.block_table.numpy(), cache.lengths.numpy()
        pages = (
            x.float() if k.dtype == torch.bfloat16 else x for x in (cache.k_pages, cache.v_pages)
        )
        read = [r.read_paged(x.numpy(), table, lengths) for x in pages]
        assert all(np.array_equal(x, y) for x, y in zip(read, (k32, v32), strict=True))
    else:
        read = r.read_contiguous([(k32, v32)])
    return [torch.from_numpy(np.ascontiguousarray(x)).to(k.dtype) for x in read]


def portions(k, v, sizes):
    """k and v cut into portions of these sizes."""
    return zip(k.split(sizes, dim=2), v.split(sizes, dim=2), strict=True)


def check(cache, k, v):
    right = expected(cache, k, v)
    for name, x, y in zip("kv", cache.read(), right, strict=True):
        assert x.dtype == k.dtype and torch.equal(x, y), name
    n, held = k.shape[2], right[0].shape[2]
    assert len(cache) == held and cache.n_seen == n
    window, sinks = getattr(cache, "window", n + 1), getattr(cache, "sinks", 0)
    assert cache.positions.tolist() == r.window_positions(n, window, sinks).tolist()
    assert cache.lengths.tolist() == [held] * k.shape[0] and cache.lengths.dtype == torch.int32


sizes = st.lists(st.integers(0, 9), min_size=1, max_size=7)
widths = st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 7), st.integers(1, 7))


@given(
    st.sampled_from(sorted(MAKERS)),
    sizes,
    widths,
    st.sampled_from(DTYPES),
    st.booleans(),
    st.integers(0, 99),
)
def test_what_is_read_is_what_was_appended(name, sizes, widths, dtype, strided, seed):
    cache, (batch, heads, d_k, d_v) = MAKERS[name](), widths
    options = dict(batch=batch, n_heads=heads, seed=seed, dtype=torch.float32)
    _, k, v = make_qkv(1, sum(sizes), d_k, d_v, **options)
    k, v = k.to(dtype), v.to(dtype)
    if strided:
        k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (k, v))
    seen = 0
    for k_new, v_new in portions(k, v, sizes):
        cache.append(k_new, v_new)
        seen += k_new.shape[2]
        check(cache, k[:, :, :seen], v[:, :, :seen])


@every_cache
def test_what_is_appended_is_copied_and_detached(make):
    _, k, v = make_qkv(1, 7, dtype=torch.float32)
    cache, k_new, v_new = make(), k.clone().requires_grad_(), v.clone().requires_grad_()
    cache.append(k_new, 1 * v_new)
    before = [x.clone() for x in cache.read()]
    assert not any(x.requires_grad for x in before)
    with torch.no_grad():
        k_new.zero_()
        v_new.zero_()
    assert all(torch.equal(x, y) for x, y in zip(before, cache.read(), strict=True))


@every_cache
def test_an_empty_cache(make):
    cache = make()
    assert len(cache) == cache.n_seen == cache.nbytes == cache.allocated_nbytes == 0
    for ask in (cache.read, lambda: cache.positions, lambda: cache.lengths):
        with pytest.raises(ValueError, match="no append yet"):
            ask()
    cache.append(torch.ones(2, 3, 0, 4), torch.ones(2, 3, 0, 5))
    k, v = cache.read()
    assert k.shape == (2, 3, 0, 4) and v.shape == (2, 3, 0, 5) and len(cache) == 0
    assert cache.positions.tolist() == [] and cache.lengths.tolist() == [0, 0]


ONE = torch.ones(1, 2, 1, 4)
BAD = [  # after an append of k and v [1, 2, 3, 4] in float32
    (ONE.repeat(3, 1, 1, 1), ONE.repeat(3, 1, 1, 1), "B=3"),
    (ONE[:, :1], ONE[:, :1], "H_kv=1, not 2"),
    (ONE[..., :3], ONE, "d_k=3, not 4"),
    (ONE, ONE[..., :3], "d_v=3, not 4"),
    (ONE, ONE[..., :0], "d_v=0"),
    (ONE, ONE.repeat(1, 1, 2, 1), r"v has shape \[1, 2, 2, 4\]; it .* = \[1, 2, 1, 4\]"),
    (ONE[0], ONE[0], r"k has shape \[2, 1, 4\]; it should be \[B, H_kv, n, d_k\]"),
    (ONE, ONE.half(), "v is torch.float16"),
    (ONE.int(), ONE.int(), "k has dtype torch.int32"),
    (ONE.numpy(), ONE, "k is a ndarray"),
    (ONE, ONE.to("meta"), "v is torch.float32 on meta"),
    (ONE.double(), ONE.double(), r"dtype=torch\.float64, not torch\.float32"),
    (ONE.to("meta"), ONE.to("meta"), "device=meta, not cpu"),
]


@every_cache
def test_what_does_not_fit_is_refused_and_changes_nothing(make, untyped):
    cache = make()
    for k, v, message in BAD[4:11]:  # those that no first append may be
        with pytest.raises(ValueError, match=message):
            cache.append(k, v)
    assert cache.layout is None and cache.batch is None
    cache.append(ONE.repeat(1, 1, 3, 1), ONE.repeat(1, 1, 3, 1))
    before = [x.clone() for x in cache.read()]
    for k, v, message in BAD:
        with pytest.raises(ValueError, match=message):
            cache.append(k, v)
    assert len(cache) == 3 and cache.n_seen == 3
    assert all(torch.equal(x, y) for x, y in zip(before, cache.read(), strict=True))


def test_constructors_refuse(untyped):
    for make, message in (
        (lambda: WindowedKVCache(0), "window is 0; it should be at least 1"),
        (lambda: WindowedKVCache(2.5), "window is 2.5"),
        (lambda: WindowedKVCache(3, sinks=-1), "sinks is -1"),
        (lambda: QuantizedKVCache(2), "bits is 2; it should be 4 or 8"),
        (lambda: QuantizedKVCache(4, scheme="int4"), "scheme is 'int4'"),
        (lambda: QuantizedKVCache(4, group=0), "group is 0"),
        (lambda: QuantizedKVCache(4, residual=-1), "residual is -1"),
        (lambda: QuantizedKVCache(8, group=32), "group is 32.*it should be None"),
        (lambda: PagedKVCache(0, 4), "page_size is 0"),
        (lambda: PagedKVCache(4, 0), "n_pages is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="abstract"):
        Cache()


def filled(cache, dtype, n=37, batch=2, heads=3, d_k=16, d_v=8):
    _, k, v = make_qkv(1, n, d_k, d_v, batch=batch, n_heads=heads, dtype=torch.float32)
    for k_new, v_new in portions(k.to(dtype), v.to(dtype), 1):
        cache.append(k_new, v_new)
    return cache


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
def test_bytes_are_those_of_the_formula(dtype):
    size = dict(dtype_bytes=dtype.itemsize, batch=2)
    cache = filled(KVCache(), dtype)
    assert cache.nbytes == kv_cache_bytes(1, 3, 16, 8, 37, **size)
    assert cache.nbytes <= cache.allocated_nbytes < 2 * cache.nbytes

    cache = filled(WindowedKVCache(10, sinks=4), dtype)
    assert cache.nbytes == cache.allocated_nbytes == kv_cache_bytes(1, 3, 16, 8, 14, **size)

    cache = filled(PagedKVCache(8, 40), dtype)
    table = 2 * 5 * 4 + 2 * 4  # int32: five pages a sequence, and a length
    assert cache.nbytes == kv_cache_bytes(1, 3, 16, 8, 40, **size) + table
    assert cache.allocated_nbytes == kv_cache_bytes(1, 3, 16, 8, 40 * 8 // 2, **size) + table


def test_bytes_of_quantised_caches():
    heads, n = 2 * 3, 37
    scales = 4 * heads * n
    cache = filled(QuantizedKVCache(8), torch.float16)
    assert cache.nbytes == kv_cache_bytes(1, 3, 16, 8, n, dtype_bytes=1, batch=2) + 2 * scales
    cache = filled(QuantizedKVCache(4, scheme="per_token"), torch.float16)
    assert cache.nbytes == kv_cache_bytes(1, 3, 16, 8, n, dtype_bytes=0.5, batch=2) + 2 * scales

    cache = filled(QuantizedKVCache(4, group=8, residual=4), torch.float16)
    old = 32  # four groups; five tokens stay in float16
    codes = kv_cache_bytes(1, 3, 16, 8, old, dtype_bytes=0.5, batch=2)
    grids = heads * (old // 8 * 16 * 8 + old * 8)  # keys: a channel and group; values: a token
    assert cache.nbytes == codes + grids + kv_cache_bytes(1, 3, 16, 8, 5, batch=2)
    assert cache.nbytes <= cache.allocated_nbytes


def test_growth_copies_little():
    cache, storages = KVCache(), set()
    one = torch.ones(1, 1, 1, 2)
    for _ in range(1000):
        cache.append(one, one)
        storages.add(cache.read()[0].data_ptr())
    assert len(storages) <= math.ceil(math.log2(1000)) + 1
    assert cache.read()[0].data_ptr() == cache.read()[0].data_ptr()  # a view, no copy
    assert (cache.read()[0] == 1).all() and cache.allocated_nbytes == 2 * 1024 * 2 * 4


@pytest.mark.parametrize("bits", [False, True])
def test_rows_that_the_caller_writes(bits):
    k, v = (torch.randn(2, 3, 9, d).bfloat16() for d in (4, 6))
    cache = KVCache()
    cache.append(k[:, :, :2], v[:, :, :2])
    for start, n in ((2, 1), (3, 0), (3, 5), (8, 1)):  # the storage doubles on the way
        cache.reserve(n)
        rows = slice(start, start + n)
        for x, storage in zip(
            (k, v), cache.storage_bits() if bits else cache.storage(), strict=True
        ):
            x = x[:, :, rows]
            storage[:, :, rows] = x.view(torch.int16).numpy() if bits else x
        assert len(cache) == start
        cache.extend(n)
        assert len(cache) == cache.n_seen == start + n
    assert all(torch.equal(x, y) for x, y in zip(cache.read(), (k, v), strict=True))
    cache.append(k, v)
    assert torch.equal(cache.read()[0], torch.cat([k, k], dim=2))


def test_a_copys_bits_are_its_own():
    cache = KVCache()
    cache.append(*torch.zeros(2, 1, 1, 4, 2, dtype=torch.bfloat16))
    n_bytes = len(pickle.dumps(cache))
    cache.storage_bits()[0][:] = 1
    assert len(pickle.dumps(cache)) == n_bytes  # nothing twice
    for copied in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert torch.equal(copied.read()[0], cache.read()[0])
        copied.storage_bits()[0][:] = 2
        changed = copied.read()[0].view(torch.int16), cache.read()[0].view(torch.int16)
        assert (changed[0] == 2).all() and (changed[1] == 1).all()


def test_rows_that_cannot_be_added(untyped):
    cache = KVCache()
    for add in (cache.reserve, cache.extend):
        with pytest.raises(ValueError, match="the cache has seen no append yet"):
            add(1)
    cache.append(ONE, ONE)
    for add in (cache.reserve, cache.extend):
        for n, message in ((-1, "n is -1; it should be at least 0"), (1.5, "n is 1.5; it should")):
            with pytest.raises(ValueError, match=message):
                add(n)
    with pytest.raises(ValueError, match="n is 1, but there is room for 0 more tokens"):
        cache.extend(1)
    assert len(cache) == ONE.shape[2]
    with pytest.raises(ValueError, match=r"holds torch.float32 on cpu; .* numbers of 16 bits"):
        cache.storage_bits()


def test_an_append_that_fails_counts_nothing():
    with torch.inference_mode():
        cache = KVCache()
        for _ in range(3):  # there is room for a fourth
            cache.append(ONE, ONE)
    with pytest.raises(RuntimeError, match="inference tensor"):
        cache.append(ONE, ONE)
    assert len(cache) == 3 and cache.read()[1].shape[2] == 3


@pytest.mark.parametrize("failing", ["_k", "_v"])
def test_keys_are_counted_with_their_values(failing, monkeypatch):
    def full(n_new):
        raise MemoryError

    cache = KVCache()
    cache.append(ONE, ONE)
    with monkeypatch.context() as patched:
        patched.setattr(getattr(cache, failing), "reserve", full)
        with pytest.raises(MemoryError):
            cache.append(2 * ONE, 2 * ONE)
    assert len(cache) == 1
    cache.append(3 * ONE, 3 * ONE)
    assert [x[0, 0, :, 0].tolist() for x in cache.read()] == [[1, 3], [1, 3]]


def test_a_window_never_grows():
    cache = WindowedKVCache(6, sinks=2)
    sizes = set()
    for size in (1, 1, 30, 1, 5):
        cache.append(torch.ones(1, 1, size, 2), torch.ones(1, 1, size, 2))
        sizes.add(cache.allocated_nbytes)
    assert sizes == {8 * 2 * 2 * 4} and cache.n_seen == 38 and len(cache) == 8
    assert cache.positions.tolist() == [0, 1, *range(32, 38)]
    # The storage is a ring, so it has another order.
    cache = WindowedKVCache(3, sinks=1)
    for j in range(6):
        cache.append(torch.full((1, 1, 1, 1), float(j)), torch.full((1, 1, 1, 1), float(j)))
    assert cache.stored()[0].flatten().tolist() == [0, 4, 5, 3]
    assert cache.read()[0].flatten().tolist() == [0, 3, 4, 5]


def test_the_newest_tokens_are_exact_until_their_group_is_full():
    cache = QuantizedKVCache(4, group=4, residual=2)
    _, k, v = make_qkv(1, 23, 5, 3, dtype=torch.float32)
    for n, (k_new, v_new) in enumerate(portions(k, v, 1), start=1):
        cache.append(k_new, v_new)
        old = r.quantized_tokens(n, 4, 2)
        for ours, x in zip(cache.read(), (k, v), strict=True):
            assert torch.equal(ours[:, :, old:], x[:, :, old:n])
            assert not old or not torch.equal(ours[:, :, :old], x[:, :, :old])


def test_defaults_of_the_quantised_cache():
    for bits, scheme, group, residual in ((8, "per_token", 1, 0), (4, "per_channel", 32, 32)):
        cache = QuantizedKVCache(bits)
        assert (cache.scheme, cache.group, cache.residual) == (scheme, group, residual)
    assert QuantizedKVCache(8).is_int8 and not QuantizedKVCache(4, scheme="per_token").is_int8
    with pytest.raises(ValueError, match="only 8 bits"):
        filled(QuantizedKVCache(4), torch.float32).stored_int8()


def test_int8_storage_is_codes_and_scales():
    cache = filled(QuantizedKVCache(8), torch.float32)
    k, k_scale, v, v_scale = cache.stored_int8()
    assert k.dtype == v.dtype == torch.int8 and k_scale.dtype == v_scale.dtype == torch.float32
    k_read, v_read = cache.read()
    assert torch.equal(k * k_scale[..., None], k_read)
    assert torch.equal(v * v_scale[..., None], v_read)


def test_transformers_cache_reads_the_same():
    transformers = pytest.importorskip("transformers")
    theirs, ours = transformers.DynamicCache(), KVCache()
    _, k, v = make_qkv(1, 40, 8, dtype=torch.float32)
    for k_new, v_new in portions(k, v, [13, 1, 1, 25]):
        right = theirs.update(k_new, v_new, 0)
        ours.append(k_new, v_new)
        assert all(torch.equal(x, y) for x, y in zip(ours.read(), right, strict=True))
    assert len(ours) == theirs.get_seq_length()
