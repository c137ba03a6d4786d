"""The traffic counter: its walk against closed forms, its growth against the theorem, bad input."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.costs import attention_bytes
from attention_src.flash.traffic import Counter, flash_blocks, hbm_bytes

SIZES = st.integers(0, 300)


def closed(n_q, n_k, d, *, sram_bytes, dtype_bytes=2, method):
    """The equations of the docstring."""
    if method == "standard":
        return dtype_bytes * (2 * (n_q + n_k) * d + 4 * n_q * n_k)
    rounds = math.ceil(n_k / math.ceil(sram_bytes // dtype_bytes / (4 * d)))
    return dtype_bytes * (2 * n_k * d + n_q * (d + 2) + rounds * n_q * (3 * d + 4))


@pytest.mark.slow
@given(SIZES, SIZES, st.integers(1, 40), st.integers(1, 8), st.integers(0, 20_000))
def test_the_walk_is_the_closed_form(n_q, n_k, d, dtype_bytes, more):
    sram_bytes = 4 * d * dtype_bytes + more
    for method in ("standard", "flash"):
        options = dict(sram_bytes=sram_bytes, dtype_bytes=dtype_bytes, method=method)
        assert hbm_bytes(n_q, n_k, d, **options) == closed(n_q, n_k, d, **options)


def test_by_hand():
    # 2 queries, 3 keys, d = 1; 8 numbers of SRAM: blocks of 2 keys and 1 query, two rounds.
    # Zero o, l, m: 2 + 2 + 2. Keys and values: 3 + 3. Each of 2 rounds and 2 queries: q, o, l, m in
    # and o, l, m out, 7 numbers: 28.
    assert flash_blocks(1, sram_bytes=8, dtype_bytes=1) == (1, 2)
    assert hbm_bytes(2, 3, 1, sram_bytes=8, dtype_bytes=1, method="flash") == 6 + 6 + 28
    # q 2 and k 3 in, s 6 out; s in, p out; p in, v 3 in, o 2 out.
    standard = 2 + 3 + 6 + 6 + 6 + 6 + 3 + 2
    assert hbm_bytes(2, 3, 1, sram_bytes=8, dtype_bytes=1, method="standard") == standard


def test_the_blocks_of_algorithm_1_fill_the_sram():
    for d, sram_bytes in itertools.product((16, 64, 128), (49_152, 101_376, 196_608)):
        block_q, block_k = flash_blocks(d, sram_bytes=sram_bytes)
        assert block_k == math.ceil(sram_bytes / 2 / 4 / d) and block_q == min(block_k, d)
        # Keys, values, queries and outputs of a tile fit, but for the rounding up of one row each.
        assert 2 * 2 * d * (block_q - 1 + block_k - 1) <= sram_bytes


def test_growth_is_the_theorems():
    # Θ(n d + n²) against Θ(n² d² / M), where n is large and the first term has died away.
    def ratio(method, before, after):
        counts = []
        for n, d, sram_bytes in (before, after):
            counts.append(hbm_bytes(n, n, d, sram_bytes=sram_bytes, method=method))
        return counts[1] / counts[0]

    n, d, M = 4096, 64, 65_536
    assert ratio("flash", (n, d, M), (2 * n, d, M)) == pytest.approx(4, rel=0.05)
    assert ratio("flash", (n, d, M), (n, 2 * d, M)) == pytest.approx(4, rel=0.05)
    assert ratio("flash", (n, d, M), (n, d, 2 * M)) == pytest.approx(1 / 2, rel=0.05)
    assert ratio("standard", (n, d, M), (2 * n, d, M)) == pytest.approx(4, rel=0.05)
    assert ratio("standard", (n, d, M), (n, 2 * d, M)) == pytest.approx(1, rel=0.05)
    assert ratio("standard", (n, d, M), (n, d, 2 * M)) == 1


def test_sram_for_everything_leaves_the_lower_bound_and_the_statistics():
    # One block of keys: q, k, v once in, o once out, and what Algorithm 1 starts and ends with.
    n, d = 64, 8
    least = attention_bytes(n, n, d, d)
    statistics_and_zeros = 2 * (2 * n * d + 6 * n)
    assert hbm_bytes(n, n, d, sram_bytes=10**6, method="flash") == least + statistics_and_zeros


def test_counter():
    counter = Counter()
    counter.load(3, 5)
    counter.write(2)
    counter.write(7, 2)
    assert (counter.loaded, counter.written) == (15, 16)


GOOD = dict(sram_bytes=10**5, method="flash")
BAD = [
    (lambda: hbm_bytes(8, 8, 4, **{**GOOD, "method": "naive"}), "method is 'naive'.*'standard'"),
    (lambda: hbm_bytes(-1, 8, 4, **GOOD), "n_q is -1"),
    (lambda: hbm_bytes(8, 1.5, 4, **GOOD), "n_k is 1.5; it should be a whole number"),
    (lambda: hbm_bytes(8, 8, 0, **GOOD), "d is 0; it should be at least 1"),
    (lambda: hbm_bytes(8, 8, 4, dtype_bytes=0, **GOOD), "dtype_bytes is 0"),
    (lambda: hbm_bytes(8, 8, 64, sram_bytes=511, method="flash"), "sram_bytes is 511.*least 512"),
    (lambda: hbm_bytes(8, 8, 64, sram_bytes=-1, method="standard"), "sram_bytes is -1"),
    (lambda: flash_blocks(0, sram_bytes=100), "d is 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
