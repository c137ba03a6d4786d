"""Costs against counting: a profiler's count, a product's bytes, and figures worked out by hand."""

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
)
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


def test_intensity():
    assert arithmetic_intensity(6, 4) == 1.5
    prefill = attention_flops(4096, 4096, 128, 128), attention_bytes(4096, 4096, 128, 128)
    decode = attention_flops(1, 4096, 128, 128), attention_bytes(1, 4096, 128, 128)
    assert arithmetic_intensity(*prefill) == pytest.approx(2048)
    assert arithmetic_intensity(*decode) == pytest.approx(1, rel=1e-3)


BAD = [
    (lambda: attention_flops(-1, 2, 3, 4), "n_q is -1; it should be at least 0"),
    (lambda: attention_flops(1, 2.5, 3, 4), "n_k is 2.5; it should be a whole number"),
    (lambda: attention_flops(1, 2, 3, 4, batch=None), "batch is None"),
    (lambda: attention_bytes(1, 2, 3, 4, n_heads=4, n_kv_heads=3), "does not divide"),
    (lambda: attention_bytes(1, 2, 3, 4, n_kv_heads=0), "n_kv_heads is 0"),
    (lambda: attention_bytes(1, 2, 3, 4, dtype_bytes=0), "dtype_bytes is 0"),
    (lambda: kv_cache_bytes(1, 2, 3, 4, "5"), "n_tokens is '5'"),
    (lambda: kv_cache_bytes(1, 2, 3, 4, 5, dtype_bytes=float("nan")), "dtype_bytes is nan"),
    (lambda: arithmetic_intensity(1, 0), "n_bytes is 0; it should be finite and positive"),
    (lambda: arithmetic_intensity(-1, 1), "flops is -1"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
