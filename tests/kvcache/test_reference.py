"""The references: decoding, merging partial results, windows and pages."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.masks import window_mask
from attention_src.attention.reference import attention, attention_lse
from attention_src.kvcache import reference as r
from attention_src.testing import make_qkv


def test_decode_is_the_last_row_of_causal_attention():
    q, k, v = make_qkv(11, d_k=5, d_v=3, n_heads=6, n_kv_heads=2)
    K, V = np.repeat(k, 3, axis=1), np.repeat(v, 3, axis=1)
    full = attention(q, K, V, causal=True, scale=0.7)
    for t in range(11):
        o = r.decode(q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1], scale=0.7)
        np.testing.assert_allclose(o, full[:, :, t : t + 1], rtol=1e-12)


def test_decode_sees_each_sequence_up_to_its_end():
    q, k, v = make_qkv(1, 9, batch=3, n_heads=2)
    clean = k.copy(), v.copy()
    for b, n in enumerate((9, 4, 0)):
        k[b, :, n:], v[b, :, n:] = np.nan, np.nan
    o = r.decode(q, k, v, lengths=[9, 4, 0])
    for b, n in enumerate((9, 4, 0)):
        own = r.decode(q[b : b + 1], *(x[b : b + 1, :, :n] for x in clean))
        np.testing.assert_allclose(o[b : b + 1], own, rtol=1e-12)
    assert (o[2] == 0).all()


def test_decode_takes_one_query():
    with pytest.raises(ValueError, match="q has n_q=2"):
        r.decode(*make_qkv(2, 5))
    with pytest.raises(ValueError, match="H_kv=2 heads"):
        r.decode(make_qkv(1, 5, n_heads=3)[0], *make_qkv(1, 5, n_heads=2)[1:])


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.sampled_from([1.0, 1e3]),
)
def test_parts_merge_to_the_whole(seed, sizes, size):
    q, k, v = make_qkv(2, sum(sizes), 3, 4, size=size, seed=seed)
    bounds = np.cumsum([0, *sizes])
    parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    o_parts = np.stack([attention(q, k[:, :, s], v[:, :, s]) for s in parts])
    lse_parts = np.stack([attention_lse(q, k[:, :, s]) for s in parts])
    o, lse = r.merge_partials(o_parts, lse_parts)
    np.testing.assert_allclose(o, attention(q, k, v), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lse, attention_lse(q, k), rtol=1e-12)
    # In any order, and in two steps.
    order = np.random.default_rng(seed).permutation(len(sizes))
    again, _ = r.merge_partials(o_parts[order], lse_parts[order])
    np.testing.assert_allclose(again, o, rtol=1e-9, atol=1e-12)
    first, rest = (r.merge_partials(o_parts[s], lse_parts[s]) for s in (slice(1), slice(1, None)))
    if len(sizes) > 1:
        pairs = (np.stack(x) for x in zip(first, rest, strict=True))
        np.testing.assert_allclose(r.merge_partials(*pairs)[0], o, rtol=1e-9, atol=1e-12)


def test_a_fully_masked_part_is_ignored():
    o_parts = np.array([[[1.0, 2.0]], [[np.nan, np.inf]]])
    o, lse = r.merge_partials(o_parts, np.array([[0.3], [-np.inf]]))
    assert o.tolist() == [[1, 2]] and lse.tolist() == [0.3]
    o, lse = r.merge_partials(o_parts, np.full((2, 1), -np.inf))
    assert o.tolist() == [[0, 0]] and lse.tolist() == [-np.inf]


def test_parts_are_weighted_by_their_share():
    # Denominators 1 and 3, times exp(1000), which would overflow.
    o, lse = r.merge_partials([[4.0], [8.0]], 1000 + np.log([1.0, 3.0]))
    np.testing.assert_allclose(o, [7], rtol=1e-9)
    np.testing.assert_allclose(lse, 1000 + np.log(4), rtol=1e-15)
    with pytest.raises(ValueError, match=r"lse_parts has shape \[2, 3\] but o_parts has \[2, 4\]"):
        r.merge_partials(np.ones((2, 4)), np.ones((2, 3)))


def test_held_is_what_the_last_query_sees():
    for n, window, sinks in itertools.product(range(9), (1, 2, 5), (0, 1, 3)):
        held = r.window_positions(n, window, sinks)
        assert held.tolist() == np.flatnonzero(window_mask(1, n, window, sinks)[0]).tolist()
        assert len(held) == min(n, sinks + window)
        k = np.arange(n)[:, None] * 1.0
        for x in r.read_windowed(k, -k, window, sinks):
            assert np.abs(x[:, 0]).tolist() == held.tolist()


def test_window_sizes_are_checked():
    with pytest.raises(ValueError, match="window is 0"):
        r.window_positions(3, 0)
    with pytest.raises(ValueError, match="sinks is -1"):
        r.window_positions(3, 1, -1)


def test_pages_are_read_through_the_table():
    rng = np.random.default_rng(0)
    pages = rng.standard_normal((7, 2, 3, 4))
    table, lengths = [[5, 0, -1], [2, 5, 6], [-1, -1, -1]], [4, 9, 0]
    x = r.read_paged(pages, table, lengths)
    assert x.shape == (3, 2, 9, 4)
    for b in range(3):
        for j in range(9):
            right = pages[table[b][j // 3], :, j % 3] if j < lengths[b] else 0
            np.testing.assert_array_equal(x[b, :, j], np.broadcast_to(right, (2, 4)))
    assert [r.pages_for(n, 3) for n in range(5)] == [0, 1, 1, 1, 2]
    with pytest.raises(ValueError, match="room for the longest"):
        r.read_paged(pages, table, [4, 10, 0])
    with pytest.raises(ValueError, match="they should be"):
        r.read_paged(pages, table, [4, 9])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            dict(block_table=[[2, -1], [1, 0]]),
            "block_table holds -1; block_table should be from",
        ),
        (
            dict(block_table=[[2, 9], [1, 0]]),
            "block_table holds 9; .* should be from 0 to 2",
        ),
        (
            dict(block_table=[[2.0, 0.0], [1.0, 0.0]]),
            "block_table has dtype float64; it should",
        ),
        (dict(block_table=[[True, True], [True, True]]), "block_table has dtype bool"),
        (dict(pages=np.zeros((0, 2, 4, 5))), "block_table holds 2; block_table should be empty"),
        (dict(pages=np.zeros((3, 2, 0, 5))), r"page_size, pages.shape\[2\], is 0; it should be at"),
        (dict(pages=np.zeros((3, 2, 0, 5)), lengths=[0, 0]), "page_size, .* is 0"),
        (dict(lengths=[-1, 3]), "lengths holds -1; lengths should be from 0"),
        (dict(lengths=[6.0, 3.0]), "lengths has dtype float64; it should hold whole numbers"),
        (dict(lengths=np.array([2**63, 3], np.uint64)), "lengths holds 9223372036854775808"),
    ],
)
def test_pages_that_do_not_exist(changed, message):
    pages = np.arange(3 * 2 * 4 * 5.0).reshape(3, 2, 4, 5)
    right = dict(pages=pages, block_table=[[2, 0], [1, -1]], lengths=[6, 3])  # -1 is not used
    x = r.read_paged(**right)
    np.testing.assert_array_equal(x[1, :, :3], pages[1, :, :3])
    np.testing.assert_array_equal(x[0, :, 4:], pages[0, :, :2])
    with pytest.raises(ValueError, match=message):
        r.read_paged(**right | changed)


@pytest.mark.parametrize("lengths", [[2], [2, 3, 1], 2, [[2, 3]]])
def test_a_length_for_each_sequence(lengths):
    q, k = np.ones((2, 4, 1, 5)), np.ones((2, 2, 3, 5))
    with pytest.raises(ValueError, match=r"lengths has shape .*; it should be \[B\] = \[2\]"):
        r.decode(q, k, k, lengths=lengths)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: r.pages_for(5, 0), "page_size is 0; it should be at least 1"),
        (lambda: r.pages_for(5, -1), "page_size is -1"),
        (lambda: r.pages_for(5, 2.5), "page_size is 2.5; it should be a whole number"),
        (lambda: r.pages_for(-1, 2), "n is -1; it should be at least 0"),
        (lambda: r.quantized_tokens(5, 0, 0), "group is 0; it should be at least 1"),
        (lambda: r.quantized_tokens(5, 2, -1), "residual is -1; it should be at least 0"),
        (lambda: r.quantized_tokens(5.0, 2, 0), "n is 5.0; it should be a whole number"),
        (lambda: r.read_contiguous([]), "blocks is empty; it should hold at least one pair"),
        (lambda: r.read_contiguous([(np.ones((3, 5)), np.ones((2, 5)))]), r"blocks\[0\]: k has"),
        (lambda: r.read_windowed(np.ones((3, 5)), np.ones((2, 5)), 2), r"k has shape \[3, 5\]"),
    ],
)
def test_sizes_that_do_not_fit(call, message, untyped):
    with pytest.raises(ValueError, match=message):
        call()


def test_quantised_tokens_leave_the_newest():
    for n in range(40):
        left = n - r.quantized_tokens(n, 8, 5)
        assert left == n if n < 13 else 5 <= left < 13
        assert r.quantized_tokens(n, 1, 0) == n


def test_read_contiguous_is_concatenation():
    k, v = r.read_contiguous([(np.ones((2, 3)), np.ones((2, 1))), (np.zeros((1, 3)), [[5.0]])])
    assert k.tolist() == [[1] * 3, [1] * 3, [0] * 3] and v.ravel().tolist() == [1, 1, 5]
