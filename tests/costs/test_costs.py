"""Costs against counting: a profiler's, the bytes of tensors and caches, and known figures."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_src.attention.layer import attention
from attention_src.costs import (
    arithmetic_intensity,
    attention_bytes,
    attention_flops,
    kv_cache_bytes,
    quantized_kv_cache_bytes,
    stored_bytes,
)
from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache
from attention_src.testing import make_qkv


def test_flops_are_what_torch_counts():
    q, k, v = make_qkv(5, 7, 11, 13, batch=2, n_heads=6, n_kv_heads=3, dtype=torch.float32)
    with FlopCounterMode(display=False) as counter:
        attention(q, k, v, impl="dense")
    assert attention_flops(5, 7, 11, 13, n_heads=6, batch=2) == counter.get_total_flops()


def test_flops_count_each_multiplication_and_addition():
    total = 0
    for _query in range(5):
        for _key in range(7):
            total += 2 * 11 + 2 * 13
    assert attention_flops(5, 7, 11, 13) == total
    assert attention_flops(0, 7, 11, 13) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_bytes_are_those_of_the_tensors(dtype):
    q, k, v = make_qkv(5, 7, 11, 13, batch=2, n_heads=6, n_kv_heads=3, dtype=dtype)
    o = attention(q, k, v)
    moved = sum(x.numel() * x.element_size() for x in (q, k, v, o))
    sizes = dict(n_heads=6, n_kv_heads=3, batch=2, dtype_bytes=q.element_size())
    assert attention_bytes(5, 7, 11, 13, **sizes) == moved
    assert attention_bytes(5, 7, 11, 13, n_heads=6) == attention_bytes(
        5, 7, 11, 13, n_heads=6, n_kv_heads=6
    )


def test_cache_bytes():
    k, v = np.zeros((3, 2, 5, 7, 11), np.float16), np.zeros((3, 2, 5, 7, 13), np.float16)
    assert kv_cache_bytes(3, 5, 11, 13, 7, batch=2) == k.nbytes + v.nbytes
    # 80 layers, width 128, 32,768 tokens: 80 GiB with 64 key/value heads, 10 GiB with 8.
    assert kv_cache_bytes(80, 64, 128, 128, 32_768) == 80 * 2**30
    assert kv_cache_bytes(80, 8, 128, 128, 32_768) == 10 * 2**30
    assert kv_cache_bytes(80, 8, 128, 128, 32_768, dtype_bytes=0.5) == 2.5 * 2**30
    assert kv_cache_bytes(1, 1, 1, 0, 3, dtype_bytes=0.5) == 2  # half a byte is not stored


def filled(cache, n, batch=2, dtype=torch.float16):
    """The cache after n tokens for each of 3 heads, d_k = 5 and d_v = 7, in two portions."""
    _, k, v = make_qkv(1, n, 5, 7, batch=batch, n_heads=3, dtype=dtype)
    half = n // 2
    cache.append(k[:, :, :half], v[:, :, :half])
    cache.append(k[:, :, half:], v[:, :, half:])
    return cache


LENGTHS = [1, 15, 16, 17, 32, 33, 64, 97]


@pytest.mark.parametrize("n", LENGTHS)
def test_cache_bytes_are_those_of_the_caches(n):
    layers = 3 * kv_cache_bytes(1, 3, 5, 7, n, batch=2)
    assert kv_cache_bytes(3, 3, 5, 7, n, batch=2) == layers
    assert filled(KVCache(), n).nbytes == layers // 3
    wide = filled(KVCache(), n, dtype=torch.float32)
    assert wide.nbytes == kv_cache_bytes(1, 3, 5, 7, n, batch=2, dtype_bytes=4)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("page_size", [1, 3, 16])
def test_a_paged_cache_holds_whole_pages_and_tables(n, page_size):
    cache = filled(PagedKVCache(page_size, n_pages=200), n)
    tables = sum(x.numel() * x.element_size() for x in (cache.block_table, cache.lengths))
    unused = -n % page_size
    assert cache.nbytes - tables == kv_cache_bytes(1, 3, 5, 7, n + unused, batch=2)


SCHEMES = [
    dict(bits=8),
    dict(bits=4),
    dict(bits=4, scheme="per_token"),
    dict(bits=8, scheme="per_channel"),
    dict(bits=8, residual=10),
    dict(bits=4, group=16, residual=0),
    dict(bits=4, group=7, residual=9),
]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_quantized_bytes_are_those_of_the_cache(n, scheme):
    cache = filled(QuantizedKVCache(**scheme), n, dtype=torch.float32)
    sizes = dict(batch=2, dtype_bytes=4)
    one = quantized_kv_cache_bytes(1, 3, 5, 7, n, **scheme, **sizes)
    assert one == cache.nbytes
    assert quantized_kv_cache_bytes(4, 3, 5, 7, n, **scheme, **sizes) == 4 * one


def test_fewer_bits():
    sizes = (80, 8, 128, 128, 32_768)
    # Per token and head: 2 x 128 codes and two float32 scales, against 2 x 128 numbers of 2 bytes.
    assert quantized_kv_cache_bytes(*sizes) / kv_cache_bytes(*sizes) == (128 + 4) / 256
    few = quantized_kv_cache_bytes(*sizes, bits=4) / kv_cache_bytes(*sizes)
    # Codes 64 and 64; the value's scale and zero 8; the key's share of its group's, 8 x 128 / 32.
    assert few == pytest.approx((64 + 64 + 8 + 32) / 512, rel=0.01)
    unchanged = quantized_kv_cache_bytes(1, 2, 3, 5, 31, bits=4)
    assert unchanged == kv_cache_bytes(1, 2, 3, 5, 31)


def test_stored_bytes():
    assert [stored_bytes(n, 0.5) for n in range(5)] == [0, 1, 1, 2, 2]
    assert stored_bytes(7) == 14


def test_intensity():
    assert arithmetic_intensity(6, 4) == 1.5
    prefill = attention_flops(4096, 4096, 128, 128), attention_bytes(4096, 4096, 128, 128)
    decode = attention_flops(1, 4096, 128, 128), attention_bytes(1, 4096, 128, 128)
    assert arithmetic_intensity(*prefill) == pytest.approx(2048)
    assert arithmetic_intensity(*decode) == pytest.approx(1, rel=1e-3)


BAD = [
    (lambda: attention_flops(-1, 2, 3, 4), "n_q is -1; it should be at least 0"),
    (lambda: attention_flops(1, 2.5, 3, 4), "n_k is 2.5; it should be a whole number"),
    (lambda: attention_bytes(1, 2, 3, 4, n_heads=4, n_kv_heads=3), "does not divide"),
    (lambda: attention_bytes(1, 2, 3, 4, n_kv_heads=0), "n_kv_heads is 0"),
    (lambda: attention_bytes(1, 2, 3, 4, dtype_bytes=0), "dtype_bytes is 0"),
    (lambda: kv_cache_bytes(1, 2, 3, 4, "5"), "n_tokens is '5'"),
    (lambda: kv_cache_bytes(1, 2, 3, 4, 5, dtype_bytes=float("nan")), "dtype_bytes is nan"),
    (lambda: stored_bytes(-1), "n_numbers is -1"),
    (lambda: quantized_kv_cache_bytes(1, 2, 3, 4, 5, bits=3), "bits is 3; it should be 4 or 8"),
    (lambda: quantized_kv_cache_bytes(1, 2, 3, 4, 5, scheme="kivi"), "scheme is 'kivi'"),
    (lambda: quantized_kv_cache_bytes(1, 2, 3, 4, 5, group=2), "group is 2; per_token has no"),
    (lambda: quantized_kv_cache_bytes(1, 2, 3, 4, 5, bits=4, group=0), "group is 0"),
    (lambda: quantized_kv_cache_bytes(1, 2, 3, 4, 5, residual=-1), "residual is -1"),
    (lambda: arithmetic_intensity(1, 0), "n_bytes is 0; it should be finite and positive"),
    (lambda: arithmetic_intensity(-1, 1), "flops is -1"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
