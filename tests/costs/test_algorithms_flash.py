"""Attention by tiles: its cost against machines that run it and count."""

from itertools import pairwise

import numpy as np
import pytest
from counting import ALL, Machine, assert_counted, combine, problem, repeated, scores
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import flop_counter

from attention_src.attention.masks import window_mask
from attention_src.attention.reference import attention, attention_backward, attention_lse
from attention_src.costs import attention_bytes
from attention_src.costs.algorithms import flash_backward_cost, flash_cost, visible_pairs
from attention_src.softmax.reference import softmax

SIZES = st.integers(0, 7)

MASKS = st.one_of(
    st.just({}),
    st.just({"causal": True}),
    st.builds(
        lambda causal, window, sinks: dict(causal=causal, window=window, sinks=sinks),
        st.booleans(),
        st.integers(1, 11),
        st.integers(0, 11),
    ),
)


def matrix(n_q, n_k, causal=False, window=None, sinks=0):
    if window is None and not causal:
        return np.ones((n_q, n_k), bool)
    return window_mask(n_q, n_k, window or n_k + n_q + 1, sinks)


@given(SIZES, SIZES, MASKS)
def test_visible_pairs(n_q, n_k, mask):
    assert visible_pairs(n_q, n_k, **mask) == matrix(n_q, n_k, **mask).sum()


def test_visible_pairs_of_long_sequences():
    n = 1_000_003
    assert visible_pairs(n, n, causal=True) == n * (n + 1) // 2
    assert visible_pairs(7, n, causal=True) == 7 * n - 21
    # Every query sees 4 sinks and the last 4,096, but the first ones have fewer keys than that.
    missing = sum(4100 - keys for keys in range(1, 4100))
    assert visible_pairs(n, n, window=4096, sinks=4) == 4100 * n - missing


def blocks(n, size):
    return [np.arange(a, min(a + size, n)) for a in range(0, n, size)]


def flash_forward(machine, q, k, v, visible, block_q):
    """Every block of queries, of every head: read it, read what it sees, write o and lse."""
    n_heads, n_q, _ = q.shape
    Q, K, V = (machine.memory(x) for x in (q, k, v))
    O = machine.memory(np.zeros((n_heads, n_q, v.shape[-1])))
    lse = machine.memory(np.zeros((n_heads, n_q)), 4)
    for h in range(n_heads):
        g = h * len(k) // n_heads
        for rows in blocks(n_q, block_q):
            seen = np.flatnonzero(visible[rows].any(axis=0))
            tile = visible[np.ix_(rows, seen)]
            s = scores(machine, Q.load(h, rows), K.load(g, seen), tile) * 3**-0.5
            O.store(combine(machine, softmax(s), V.load(g, seen), tile, v.shape[-1]), h, rows)
            lse.store(attention_lse(q[h], k[g], mask=visible)[rows], h, rows)
    return O.array


@given(SIZES, SIZES, MASKS, st.integers(1, 10), st.sampled_from([(2, 1), (2, 2), (3, 1)]))
def test_flash_forward(n_q, n_k, mask, block_q, heads):
    n_heads, n_kv_heads = heads
    q, k, v, _ = problem(n_q, n_k, n_heads=n_heads, n_kv_heads=n_kv_heads)
    visible = matrix(n_q, n_k, **mask)
    sizes = dict(n_heads=n_heads, n_kv_heads=n_kv_heads, **mask)
    for remembers, given_block in ((False, block_q), (True, None)):
        machine = Machine(remembers)
        o = flash_forward(machine, q, k, v, visible, block_q)
        expected = attention(q, repeated(k, n_heads), repeated(v, n_heads), mask=visible)
        np.testing.assert_allclose(o, expected, atol=1e-12)
        assert_counted(flash_cost(n_q, n_k, 3, 2, block_q=given_block, **sizes), machine)


def flash_backward(machine, tensors, visible, block_q, block_k):
    """The course's two kernels: dq and delta by blocks of queries; dk and dv by blocks of keys."""
    q, k, v, o, lse, do = tensors
    n_heads, n_kv_heads, scale = len(q), len(k), 3**-0.5
    Q, K, V, O, DO = (machine.memory(x) for x in (q, k, v, o, do))
    LSE, delta = machine.memory(lse, 4), machine.memory(np.zeros(lse.shape), 4)
    DQ, DK, DV = (machine.memory(np.zeros(x.shape)) for x in (q, k, v))

    def tile(rows, columns, q_i, k_j, v_j, do_i, lse_i, delta_i):
        seen = visible[np.ix_(rows, columns)]
        p = np.where(seen, np.exp(scores(machine, q_i, k_j, seen) * scale - lse_i[:, None]), 0)
        dp = np.where(seen, scores(machine, do_i, v_j, seen), 0)
        return seen, p, scale * p * (dp - delta_i[:, None])

    for h in range(n_heads):
        g = h * n_kv_heads // n_heads
        for rows in blocks(q.shape[1], block_q):
            columns = np.flatnonzero(visible[rows].any(axis=0))
            do_i = DO.load(h, rows)
            delta_i = (do_i * O.load(h, rows)).sum(axis=-1)
            delta.store(delta_i, h, rows)
            on_chip = Q.load(h, rows), K.load(g, columns), V.load(g, columns), do_i
            seen, _, ds = tile(rows, columns, *on_chip, LSE.load(h, rows), delta_i)
            DQ.store(combine(machine, ds, on_chip[1], seen, q.shape[-1]), h, rows)
    for g in range(n_kv_heads):
        for columns in blocks(k.shape[1], block_k):
            rows = np.flatnonzero(visible[:, columns].any(axis=1))
            k_j, v_j = K.load(g, columns), V.load(g, columns)
            dk, dv = np.zeros(k_j.shape), np.zeros(v_j.shape)
            for h in range(g * n_heads // n_kv_heads, (g + 1) * n_heads // n_kv_heads):
                q_i, do_i = Q.load(h, rows), DO.load(h, rows)
                stored = LSE.load(h, rows), delta.load(h, rows)
                seen, p, ds = tile(rows, columns, q_i, k_j, v_j, do_i, *stored)
                dk += combine(machine, ds.T, q_i, seen.T, q.shape[-1])
                dv += combine(machine, p.T, do_i, seen.T, v.shape[-1])
            DK.store(dk, g, columns)
            DV.store(dv, g, columns)
    return DQ.array, DK.array, DV.array


def flash_backward_at_once(machine, tensors, visible):
    """One kernel with all the memory it could wish for: 5 products, everything read once."""
    q, k, v, o, lse, do = tensors
    n_heads, n_kv_heads, scale = len(q), len(k), 3**-0.5
    seen_keys = np.flatnonzero(visible.any(axis=0))
    K, V = machine.memory(k), machine.memory(v)
    dk, dv = np.zeros(k.shape), np.zeros(v.shape)
    dq = np.zeros(q.shape)
    for g in range(n_kv_heads):
        K.load(g, seen_keys)
        V.load(g, seen_keys)
        for h in range(g * n_heads // n_kv_heads, (g + 1) * n_heads // n_kv_heads):
            for x, size in ((q, 2), (o, 2), (do, 2), (lse, 4)):
                machine.memory(x[h], size).load(ALL)
            s = scores(machine, q[h], k[g], visible) * scale
            p = np.where(visible, np.exp(s - lse[h][:, None]), 0)
            dp = np.where(visible, scores(machine, do[h], v[g], visible), 0)
            ds = scale * p * (dp - (do[h] * o[h]).sum(axis=-1, keepdims=True))
            dq[h] = combine(machine, ds, k[g], visible, q.shape[-1])
            dk[g] += combine(machine, ds.T, q[h], visible.T, q.shape[-1])
            dv[g] += combine(machine, p.T, do[h], visible.T, v.shape[-1])
    for x in (dq, dk, dv):
        machine.memory(x).store(x, ALL)
    return dq, dk, dv


@given(
    SIZES,
    SIZES,
    MASKS,
    st.integers(1, 10),
    st.integers(1, 10),
    st.sampled_from([(2, 1), (2, 2), (3, 1)]),
)
def test_flash_backward(n_q, n_k, mask, block_q, block_k, heads):
    n_heads, n_kv_heads = heads
    q, k, v, do = problem(n_q, n_k, n_heads=n_heads, n_kv_heads=n_kv_heads)
    visible = matrix(n_q, n_k, **mask)
    q_k_v = q, repeated(k, n_heads), repeated(v, n_heads)
    o, lse = attention(*q_k_v, mask=visible), attention_lse(*q_k_v[:2], mask=visible)
    tensors = q, k, v, o, np.where(np.isfinite(lse), lse, 0), do
    expected = attention_backward(*q_k_v, do, mask=visible)
    sizes = dict(n_heads=n_heads, n_kv_heads=n_kv_heads, **mask)

    both = dict(block_q=block_q, block_k=block_k)
    tiles, at_once = Machine(), Machine()
    for gradients in (
        flash_backward(tiles, tensors, visible, **both),
        flash_backward_at_once(at_once, tensors, visible),
    ):
        for got, wanted in zip(gradients, expected, strict=True):
            wanted = wanted.reshape(len(got), n_heads // len(got), *got.shape[1:]).sum(axis=1)
            np.testing.assert_allclose(got, wanted, atol=1e-11)
    assert_counted(flash_backward_cost(n_q, n_k, 3, 2, **both, **sizes), tiles)
    assert_counted(flash_backward_cost(n_q, n_k, 3, 2, **sizes), at_once)


def test_flash_products_are_what_torch_counts():
    q, kv, o = (2, 6, 5, 11), (2, 6, 7, 11), (2, 6, 5, 11)
    sizes = dict(n_heads=6, batch=2)
    forward = flop_counter.sdpa_flop_count(q, kv, kv)
    assert flash_cost(5, 7, 11, 11, **sizes).flops == forward
    backward = flop_counter.sdpa_backward_flop_count(o, q, kv, kv)
    assert flash_backward_cost(5, 7, 11, 11, **sizes).flops == backward


def test_flash_limits():
    heads = dict(n_heads=6, n_kv_heads=2, batch=3)
    lse = 4 * 3 * 6 * 64
    least = flash_cost(64, 64, 16, 8, **heads)
    assert least.n_bytes == attention_bytes(64, 64, 16, 8, **heads) + lse
    # One block of all queries: only the sharing of keys between heads is lost.
    whole = flash_cost(64, 64, 16, 8, block_q=64, **heads)
    assert whole.n_bytes == attention_bytes(64, 64, 16, 8, n_heads=6, batch=3) + lse
    # Smaller blocks read more, and never compute more.
    sizes = [flash_cost(64, 64, 16, 8, block_q=b, **heads) for b in (64, 32, 16, 1)]
    assert all(a.n_bytes < b.n_bytes and a.flops == b.flops for a, b in pairwise(sizes))
    # Causal: half of the work, nearly, and with blocks nearly half of the reading.
    n = 4096
    full, half = (flash_cost(n, n, 64, 64, block_q=64, causal=c) for c in (False, True))
    assert half.flops / full.flops == pytest.approx(0.5, abs=1e-3)
    assert half.n_bytes / full.n_bytes == pytest.approx(0.5, abs=0.02)
    # A window: work and reading grow with n, not with its square.
    short, long = (flash_cost(n, n, 64, 64, block_q=64, window=256) for n in (n, 2 * n))
    assert long.flops / short.flops == pytest.approx(2, rel=0.05)
    assert long.n_bytes / short.n_bytes == pytest.approx(2, rel=0.05)
    # Backward: 2.5 times the forward's products at d_k = d_v, 3.5 times in two kernels.
    forward, backward = (cost(n, n, 64, 64) for cost in (flash_cost, flash_backward_cost))
    assert backward.flops / forward.flops == 2.5
    two = flash_backward_cost(n, n, 64, 64, block_q=64, block_k=64)
    assert two.flops / forward.flops == 3.5


def test_nothing_costs_nothing():
    assert flash_cost(0, 0, 8, 8, causal=True, block_q=4).n_bytes == 0
    assert flash_backward_cost(0, 0, 8, 8, window=3, block_q=4, block_k=4).n_bytes == 0
    assert flash_cost(5, 0, 8, 8, causal=True).flops == 0


BAD = [
    (lambda: visible_pairs(1, 2, window=0), "window is 0; it should be at least 1"),
    (lambda: visible_pairs(1, 2, causal=True, sinks=1), "sinks is 1 but window is None"),
    (lambda: visible_pairs(-1, 2), "n_q is -1"),
    (lambda: flash_cost(1, 2.5, 3, 4), "n_k is 2.5"),
    (lambda: flash_cost(1, 2, 3, 4, block_q=0), "block_q is 0; it should be at least 1"),
    (lambda: flash_cost(1, 2, 3, 4, n_heads=4, n_kv_heads=3, block_q=2), "does not divide"),
    (lambda: flash_backward_cost(1, 2, 3, 4, block_q=2), "block_q is 2 and block_k is None"),
    (lambda: flash_backward_cost(1, 2, 3, 4, block_q=2, block_k=0), "block_k is 0"),
    (lambda: flash_backward_cost(1, 2, 3, 4, n_heads=4, n_kv_heads=3), "does not divide"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
