"""Costs against machines that run the algorithms number by number and count what they do."""

import math

import numpy as np
import pytest
import torch
from counting import ALL, Machine, assert_counted, combine, problem, repeated, scores
from torch.utils import flop_counter

from attention_src.attention import layer
from attention_src.attention.reference import attention, attention_backward
from attention_src.costs import quantized_kv_cache_bytes
from attention_src.costs.algorithms import (
    decode_cost,
    dense_backward_cost,
    dense_cost,
    rope_cost,
    softmax_backward_cost,
    softmax_cost,
)
from attention_src.softmax.reference import softmax, softmax_backward
from attention_src.testing import make_qkv


def softmax_row(machine, x, p, block):
    """Algorithm 2 (block None) or 3 of Milakov & Gimelshein, on one row in memory."""
    n = len(x.array)
    m, l, op = -math.inf, 0.0, machine.op
    blocks = [slice(a, min(a + (block or n), n)) for a in range(0, n, block or n)]
    for where in blocks:
        row, before = x.load(where), m
        for number in row:
            m = op(max(m, number))
        if block is not None:
            l = op(l * op(math.exp(op(before - m))))
        e = [op(math.exp(op(number - m))) for number in row]
        for number in e:
            l = op(l + number)
    for where in blocks:
        if block is not None:
            e = [op(math.exp(op(number - m))) for number in x.load(where)]
        p.store([op(number / l) for number in e], where)


@pytest.mark.parametrize("block", [None, 1, 3, 12])
def test_softmax(block):
    x = np.random.default_rng(0).standard_normal((2, 7))
    machine = Machine()
    for row in x:
        p = machine.memory(np.full(7, np.nan))
        softmax_row(machine, machine.memory(row), p, block)
        np.testing.assert_allclose(p.array, softmax(row), rtol=1e-14)
    assert_counted(softmax_cost(2, 7, block=block), machine)


@pytest.mark.parametrize("block", [None, 3])
def test_softmax_backward(block):
    rng = np.random.default_rng(0)
    p, dp = softmax(rng.standard_normal(7)), rng.standard_normal(7)
    machine = Machine()
    memory = [machine.memory(x, 4) for x in (p, dp, np.full(7, np.nan))]
    op, delta = machine.op, 0.0
    blocks = [slice(a, min(a + (block or 7), 7)) for a in range(0, 7, block or 7)]
    for where in blocks:
        row = [x.load(where) for x in memory[:2]]
        for a, b in zip(*row, strict=True):
            delta = op(delta + op(a * b))
    for where in blocks:
        if block is not None:
            row = [x.load(where) for x in memory[:2]]
        memory[2].store([op(a * op(b - delta)) for a, b in zip(*row, strict=True)], where)
    np.testing.assert_allclose(memory[2].array, softmax_backward(p, dp), rtol=1e-12)
    assert_counted(softmax_backward_cost(1, 7, block=block, dtype_bytes=4), machine)


@pytest.mark.parametrize("n_kv_heads", [2, 4])
def test_dense(n_kv_heads):
    q, k, v, do = problem(5, 7, n_kv_heads=n_kv_heads)
    forward, backward = Machine(), Machine()
    for h in range(4):
        g = h * n_kv_heads // 4
        first = h % (4 // n_kv_heads) == 0  # heads that share keys read them together
        s, p = forward.memory(np.zeros((5, 7))), forward.memory(np.zeros((5, 7)))
        Q, O = forward.memory(q[h]), forward.memory(np.zeros((5, 2)))
        K, V = forward.memory(k[g]), forward.memory(v[g])
        keys, values = (K.load(ALL), V.load(ALL)) if first else (k[g], v[g])
        s.store(forward.product(Q.load(ALL), keys), ALL)
        p.store(softmax(3**-0.5 * s.load(ALL)), ALL)
        O.store(forward.product(p.load(ALL), values.T), ALL)
        np.testing.assert_allclose(O.array, attention(q[h], k[g], v[g]), rtol=1e-12)

        P, DP, DS = (backward.memory(x) for x in (p.array, s.array, s.array))
        Q, DO = backward.memory(q[h]), backward.memory(do[h])
        K, V = backward.memory(k[g]), backward.memory(v[g])
        keys, values = (K.load(ALL), V.load(ALL)) if first else (k[g], v[g])
        dv = backward.product(P.load(ALL).T, DO.load(ALL).T)
        DP.store(backward.product(DO.load(ALL), values), ALL)
        DS.store(softmax_backward(P.load(ALL), DP.load(ALL)) * 3**-0.5, ALL)
        dq = backward.product(DS.load(ALL), keys.T)
        dk = backward.product(DS.load(ALL).T, Q.load(ALL).T)
        expected = attention_backward(q[h], k[g], v[g], do[h])
        for got, wanted in zip((dq, dk, dv), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-11)
        backward.memory(dq).store(dq, ALL)
        if first:
            backward.memory(dk).store(dk, ALL)
            backward.memory(dv).store(dv, ALL)
    sizes = dict(n_heads=4, n_kv_heads=n_kv_heads)
    assert_counted(dense_cost(5, 7, 3, 2, **sizes), forward)
    assert_counted(dense_backward_cost(5, 7, 3, 2, **sizes), backward)


def test_dense_products_are_what_torch_counts():
    q, k, v = make_qkv(5, 7, 11, 13, batch=2, n_heads=6, dtype=torch.float32)
    for x in (q, k, v):
        x.requires_grad_()
    with flop_counter.FlopCounterMode(display=False) as counter:
        layer.attention(q, k, v, impl="dense").sum().backward()
    sizes = dict(n_heads=6, batch=2)
    both = dense_cost(5, 7, 11, 13, **sizes) + dense_backward_cost(5, 7, 11, 13, **sizes)
    assert both.flops == counter.get_total_flops()


def test_rope():
    rng = np.random.default_rng(0)
    n, d, heads, kv_heads, batch = 5, 6, 4, 2, 3
    angles = rng.uniform(0, 6, (n, d // 2))
    machine = Machine()
    op = machine.op
    table = machine.memory(np.stack([np.cos(angles), np.sin(angles)]), 4).load(ALL)
    for x in (rng.standard_normal((batch, h, n, d)) for h in (heads, kv_heads)):
        y = np.zeros(x.shape)
        x_memory, y_memory = machine.memory(x), machine.memory(y)
        numbers = x_memory.load(ALL)
        for b, h, i, pair in np.ndindex(*x.shape[:3], d // 2):
            (x1, x2), (cos, sin) = numbers[b, h, i, [pair, pair + d // 2]], table[:, i, pair]
            y[b, h, i, pair] = op(op(x1 * cos) - op(x2 * sin))
            y[b, h, i, pair + d // 2] = op(op(x1 * sin) + op(x2 * cos))
        y_memory.store(y, ALL)
        turned = (x[..., :3] + 1j * x[..., 3:]) * np.exp(1j * angles)
        np.testing.assert_allclose(y, np.concatenate([turned.real, turned.imag], -1), atol=1e-14)
    assert_counted(rope_cost(n, d, n_heads=heads, n_kv_heads=kv_heads, batch=batch), machine)


@pytest.mark.parametrize(("n_kv_heads", "n_splits"), [(4, 1), (2, 1), (2, 5), (1, 2)])
def test_decode(n_kv_heads, n_splits):
    q, k, v, _ = problem(1, 7, n_kv_heads=n_kv_heads)
    machine = Machine()
    Q, K, V = (machine.memory(x) for x in (q, k, v))
    O = machine.memory(np.zeros((4, 1, 2)))
    o_parts = machine.memory(np.zeros((4, n_splits, 2)), 4)
    lse_parts = machine.memory(np.zeros((4, n_splits)), 4)
    group = 4 // n_kv_heads
    for g in range(n_kv_heads):
        heads = np.arange(g * group, (g + 1) * group)
        queries = Q.load(heads)[:, 0]
        for split, where in enumerate(np.array_split(np.arange(7), n_splits)):
            visible = np.ones((group, len(where)), bool)
            s = scores(machine, queries, K.load(g, where), visible) * 3**-0.5
            part = combine(machine, softmax(s), V.load(g, where), visible, 2)
            if n_splits > 1:
                o_parts.store(part, heads, split)
                lse_parts.store(np.log(np.exp(s).sum(axis=1)), heads, split)
        if n_splits > 1:
            part = softmax(lse_parts.load(heads))[..., None] * o_parts.load(heads)
            part = part.sum(axis=1)
        O.store(part[:, None], heads)
    expected = attention(q, repeated(k, 4), repeated(v, 4))
    np.testing.assert_allclose(O.array, expected, rtol=1e-12)
    sizes = dict(n_heads=4, n_kv_heads=n_kv_heads, n_splits=n_splits)
    assert_counted(decode_cost(7, 3, 2, **sizes), machine)


@pytest.mark.parametrize("group", [1, 4, 8])
def test_decode_intensity_is_the_number_of_queries_that_share_a_key(group):
    heads = dict(n_heads=8 * group, n_kv_heads=8, batch=64)
    assert decode_cost(16_384, 128, 128, **heads).intensity == pytest.approx(group, rel=1e-2)
    wide = decode_cost(16_384, 128, 128, dtype_bytes=4, **heads)
    assert wide.intensity == pytest.approx(group / 2, rel=1e-2)


def test_decode_over_other_caches():
    heads = dict(n_kv_heads=8, batch=64)
    n, d = 16_384, 128
    plain = decode_cost(n, d, d, n_heads=32, **heads)

    def over(cache_bytes):
        return decode_cost(n, d, d, n_heads=32, cache_bytes=cache_bytes, **heads)

    contiguous = plain.n_bytes - decode_cost(0, d, d, n_heads=32, **heads).n_bytes
    assert over(contiguous) == plain
    paged = over(contiguous + 64 * 4 * n // 16)
    assert 1 < paged.n_bytes / plain.n_bytes < 1.001  # 4 bytes for 16 tokens of 8 x 2 x 256 bytes
    int8 = over(quantized_kv_cache_bytes(1, 8, d, d, n, batch=64))
    assert plain.n_bytes / int8.n_bytes == pytest.approx(2 / (1 + 4 / 128), rel=1e-2)
    int4 = over(quantized_kv_cache_bytes(1, 8, d, d, n, batch=64, bits=4))
    assert plain.n_bytes / int4.n_bytes == pytest.approx(
        2 / (0.5 + (8 / 128 + 8 / 32) / 2), rel=1e-2
    )
    assert plain.flops == paged.flops == int8.flops == int4.flops


def test_nothing_costs_nothing():
    assert softmax_cost(0, 5, block=2).flops == softmax_backward_cost(5, 0).n_bytes == 0
    assert dense_cost(0, 7, 8, 8).flops == dense_backward_cost(7, 0, 8, 8).flops == 0
    assert rope_cost(0, 8).n_bytes == decode_cost(0, 8, 8).flops == 0


BAD = [
    (lambda: softmax_cost(-1, 2), "n_rows is -1; it should be at least 0"),
    (lambda: softmax_cost(1, 2.0), "n_columns is 2.0; it should be a whole number"),
    (lambda: softmax_cost(1, 2, block=0), "block is 0; it should be at least 1"),
    (lambda: softmax_backward_cost(1, 2, block=-1), "block is -1"),
    (lambda: dense_cost(1, 2, 3, -4), "d_v is -4"),
    (lambda: dense_cost(1, 2, 3, 4, n_heads=4, n_kv_heads=3), "does not divide"),
    (lambda: dense_backward_cost(1, 2, 3, 4, batch=-1), "batch is -1"),
    (lambda: rope_cost(4, 5), "d is 5; it should be even"),
    (lambda: rope_cost(4, 6, n_heads=3, n_kv_heads=2), "does not divide"),
    (lambda: decode_cost(4, 6, 6, n_kv_heads=0), "n_kv_heads is 0"),
    (lambda: decode_cost(4, 6, 6, cache_bytes=-1), "cache_bytes is -1"),
    (lambda: decode_cost(4, 6, 6, n_splits=0), "n_splits is 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
