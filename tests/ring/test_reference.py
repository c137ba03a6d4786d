"""Simulated ranks: the same answer as one, fair shares of the work, bytes as counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.reference import attention, attention_lse
from attention_src.ring.placement import order, spans
from attention_src.ring.reference import bytes_sent, join, ring_attention, work
from attention_src.testing import make_qkv, probe_mask

CLOSE = dict(rtol=1e-12, atol=1e-12)


@given(
    n_ranks=st.integers(1, 5),
    chunk=st.integers(0, 4),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    causal=st.booleans(),
    placement=st.sampled_from(["zigzag", "contiguous"]),
    size=st.sampled_from([1.0, 1e4]),
)
def test_any_number_of_ranks_gives_the_same(n_ranks, chunk, widths, causal, placement, size):
    q, k, v = make_qkv(2 * n_ranks * chunk, d_k=widths[0], d_v=widths[1], size=size)
    o, lse = ring_attention(q, k, v, n_ranks=n_ranks, causal=causal, placement=placement)
    np.testing.assert_allclose(o, attention(q, k, v, causal=causal), **CLOSE)
    np.testing.assert_allclose(lse, attention_lse(q, k, causal=causal), **CLOSE)


@pytest.mark.parametrize("placement", ["zigzag", "contiguous"])
def test_probe(placement):
    visible = np.tril(np.ones((12, 12), dtype=bool))
    options = dict(n_ranks=3, causal=True, placement=placement)
    probe_mask(lambda q, k, v: ring_attention(q, k, v, **options)[0], visible)


def test_joining_with_nothing():
    nothing, some = (np.zeros((2, 3)), np.full(2, -np.inf)), (np.ones((2, 3)), np.ones(2))
    for a, b, expected in (
        (nothing, some, some),
        (some, nothing, some),
        (nothing, nothing, nothing),
    ):
        for actual, right in zip(join(*a, *b), expected, strict=True):
            np.testing.assert_array_equal(actual, right)


def test_zigzag_by_hand():
    assert [list(s) for s in spans(1, 12, 3)] == [[2, 3], [8, 9]]
    assert order(12, 3) == [0, 1, 10, 11, 2, 3, 8, 9, 4, 5, 6, 7]
    assert order(6, 3, "contiguous") == [0, 1, 2, 3, 4, 5]


@given(n_ranks=st.integers(1, 9), chunk=st.integers(0, 5), zigzag=st.booleans())
def test_every_token_has_one_place(n_ranks, chunk, zigzag):
    n = 2 * n_ranks * chunk
    assert sorted(order(n, n_ranks, "zigzag" if zigzag else "contiguous")) == list(range(n))


def test_zigzag_shares_the_work_and_contiguous_does_not():
    n, R = 64, 4
    fair, unfair = work(n, R), work(n, R, placement="contiguous")
    assert fair.sum() == unfair.sum() == n * (n + 1) // 2
    assert (fair == fair[:, :1]).all()  # at every step, all ranks have equally much to do
    # The ring waits for its busiest rank: contiguous pieces take nearly twice as long.
    assert unfair.max(axis=1).sum() / fair.max(axis=1).sum() > 1.7
    assert (work(n, R, causal=False) == (n // R) ** 2).all()


def test_bytes_by_hand():
    # Each of 4 ranks has 2 of 8 tokens: 2 sequences x 3 heads x 2 tokens x (5 + 7) numbers.
    options = dict(n_kv_heads=3, batch=2)
    assert bytes_sent(8, 4, 5, 7, **options) == 3 * 144 * 2
    assert bytes_sent(8, 4, 5, 7, **options, backward=True) == 3 * 144 * 2 + 4 * 144 * 4
    assert bytes_sent(8, 1, 5, 7, **options, backward=True) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ring_attention(x, x, x, n_ranks=4), "n is 6, which zigzag placement on 4 ranks"),
        (lambda x: ring_attention(x, x, x, n_ranks=0), "n_ranks is 0; it should be at least 1"),
        (lambda x: ring_attention(x, x[:4], x[:4], n_ranks=1), "k has n_k=4 but q has n_q=6"),
        (lambda x: ring_attention(x, x[:, :1], x, n_ranks=1), "k has d_k=1 but q has d_k=2"),
        (lambda x: ring_attention(x, x, x, n_ranks=2, placement="odd"), "placement is 'odd'"),
        (lambda x: spans(3, 12, 3), "rank is 3; it should be below n_ranks=3"),
        (lambda x: bytes_sent(7, 2, 1, 1), "n is 7, which contiguous placement on 2 ranks"),
    ],
)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones((6, 2)))
