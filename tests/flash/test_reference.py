"""The NumPy reference: equal to the dense oracle, memory that does not grow, bad input."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention import reference as dense
from attention_src.attention.masks import causal_mask, window_mask
from attention_src.flash.reference import flash_attention, flash_attention_backward
from attention_src.flash.visibility import Visibility, blocks
from attention_src.testing import assert_sharp, assert_within_budget, make_qkv, probe_mask
from flash.oracle import arguments, assert_close, exact

# n_q, n_k, d_k, d_v: distinct primes, one position, one below and one above a block of 16.
SIZES = [
    (7, 5, 13, 11),
    (1, 37, 17, 19),
    (37, 1, 2, 3),
    (15, 33, 5, 4),
    (0, 5, 3, 2),
    (5, 0, 3, 2),
]
RULES = [
    dict(),
    dict(causal=True),
    dict(window=1),
    dict(window=6, sinks=2),
    dict(window=16, sinks=17, causal=True),
    dict(scale=-0.3),
]


def mask_of(n_q, n_k, *, causal=False, window=None, sinks=0, scale=None):
    mask = causal_mask(n_q, n_k) if causal else np.ones((n_q, n_k), dtype=bool)
    return mask if window is None else mask & window_mask(n_q, n_k, window, sinks)


def expected(q, k, v, do, **rule):
    """o, lse, dq, dk, dv from the dense oracle."""
    options = dict(mask=mask_of(q.shape[-2], k.shape[-2], **rule), scale=rule.get("scale"))
    lse = dense.attention_lse(q, k, **options)
    gradients = dense.attention_backward(q, k, v, do, **options)
    return dense.attention(q, k, v, **options), lse, *gradients


def tiled(q, k, v, do, **options):
    o, lse = flash_attention(q, k, v, **options)
    return o, lse, *flash_attention_backward(q, k, v, o, lse, do, **options)


def upstream(o_shape, dtype=np.float64):
    return np.random.default_rng(1).standard_normal(o_shape).astype(dtype)


def assert_same(actual, right, tolerance=1e-12):
    for name, a, e in zip(("o", "lse", "dq", "dk", "dv"), actual, right, strict=True):
        np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_equals_the_dense_oracle(size, rule):
    q, k, v = make_qkv(*size)
    do = upstream((2, 3, size[0], size[3]))
    right = expected(q, k, v, do, **rule)
    for block in (dict(), dict(block_q=16, block_k=16), dict(block_q=5, block_k=3)):
        assert_same(tiled(q, k, v, do, **rule, **block), right)


@given(
    sizes=st.tuples(st.integers(0, 25), st.integers(0, 25), st.integers(1, 6), st.integers(0, 6)),
    block_q=st.integers(1, 30),
    block_k=st.integers(1, 30),
    window=st.none() | st.integers(1, 30),
    sinks=st.integers(0, 30),
    causal=st.booleans(),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_blocks_and_any_rule(sizes, block_q, block_k, window, sinks, causal, dtype, seed):
    rule = dict(causal=causal, window=window, sinks=0 if window is None else sinks)
    q, k, v = make_qkv(*sizes, batch=1, n_heads=2, dtype=dtype, seed=seed)
    do = upstream((1, 2, sizes[0], sizes[3]), dtype)
    actual = tiled(q, k, v, do, **rule, block_q=block_q, block_k=block_k)
    right = expected(*(x.astype(np.float64) for x in (q, k, v, do)), **rule)
    assert [x.dtype for x in actual] == [dtype, np.float64, dtype, dtype, dtype]
    assert_same(actual, right, tolerance=max(1e-12, 40 * float(np.finfo(dtype).eps)))


@pytest.mark.parametrize("rule", [dict(), dict(window=500, sinks=4)], ids=["full", "window"])
def test_agrees_to_1e12_at_1021(rule):
    q, k, v = (x[0, 0] for x in make_qkv(1021, d_k=64, batch=1, n_heads=1))
    do = upstream((1021, 64))
    assert_same(tiled(q, k, v, do, **rule, block_q=128, block_k=64), expected(q, k, v, do, **rule))


def extra_bytes(function, *inputs, **options):
    """Peak memory in bytes beyond what is returned; and what is returned."""
    tracemalloc.start()
    try:
        answers = function(*inputs, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak - sum(x.nbytes for x in answers), answers


@pytest.mark.slow
def test_extra_memory_does_not_grow():
    forward, backward = [], []
    for n in (512, 2048, 8192):
        q, k, v = (x[0, 0] for x in make_qkv(n, d_k=16, batch=1, n_heads=1))
        options = dict(causal=True, block_q=128, block_k=256)
        used, (o, lse) = extra_bytes(flash_attention, q, k, v, **options)
        forward.append(used)
        used, _ = extra_bytes(flash_attention_backward, q, k, v, o, lse, o, **options)
        backward.append(used)
    tile, row = 8 * 128 * 256, 8 * 512
    for extra in (forward, backward):
        assert max(extra) < 8 * tile, "a few tiles"
        # 16 times as many positions, and less than one more number for every eight of them.
        assert max(extra) - min(extra) < 2 * row, extra


def test_gates():
    def plain(q, k, v):
        s = (q @ k.swapaxes(-1, -2)) * q.dtype.type(q.shape[-1] ** -0.5)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ v

    for dtype in (np.float16, np.float32):
        q, k, v = make_qkv(33, 65, 16, 7, dtype=dtype)
        o, _ = flash_attention(q, k, v, block_q=16, block_k=16)
        right = dense.attention(*(x.astype(np.float64) for x in (q, k, v)))
        assert_within_budget(o, right, plain(q, k, v))
        if dtype == np.float32:
            assert_sharp(o, right)


@pytest.mark.parametrize(("n_q", "n_k"), [(7, 7), (11, 5), (1, 13), (15, 17)])
def test_probe(n_q, n_k):
    for rule in (dict(), dict(causal=True), dict(window=3, sinks=1), dict(window=1)):
        for block in (3, 16):
            probe_mask(
                lambda q, k, v: flash_attention(q, k, v, **rule, block_q=block, block_k=block)[0],  # noqa: B023
                mask_of(n_q, n_k, **rule),
            )


def test_logits_of_1e4():
    *inputs, dlse = arguments((9, 21, 5, 4, 3, 3), scale_of_q=1e4)
    q, k, v, do = (x.numpy() for x in inputs)
    assert np.abs(q @ k.swapaxes(-1, -2)).max() > 1e4
    actual = tiled(q, k, v, do, causal=True, block_q=4, block_k=4)
    assert_close(actual, *exact(*inputs, 0 * dlse, causal=True), units=8)


def test_leading_axes_broadcast_and_their_gradients_are_summed():
    q, k, v = make_qkv(5, 7, batch=2, n_heads=3)
    for few in (
        (q, k[:, :1], v[:, :1]),
        (q[0, 0], k, v),
        (q, k[0], v),
        (q[:1], k[0, 0], v[:, 1:2]),
    ):
        shape = np.broadcast_shapes(*(x.shape[:-2] for x in few))
        do = upstream((*shape, 5, 5))
        actual, right = tiled(*few, do, block_k=3), expected(*few, do)
        assert [x.shape for x in actual[2:]] == [x.shape for x in few]
        right = (right[0], np.broadcast_to(right[1], actual[1].shape), *right[2:])
        assert_same(actual, right)


def test_merging_two_halves_by_lse():
    q, k, v = make_qkv(5, 12)
    (o1, lse1), (o2, lse2) = (flash_attention(q, k[..., j, :], v[..., j, :]) for j in blocks(12, 7))
    lse = np.logaddexp(lse1, lse2)
    o = np.exp(lse1 - lse)[..., None] * o1 + np.exp(lse2 - lse)[..., None] * o2
    np.testing.assert_allclose(o, dense.attention(q, k, v), rtol=1e-12)


def test_nan_stays_in_its_row():
    q, k, v = make_qkv(9, 11)
    q[0, 1, 2, 0] = np.nan
    o, lse = flash_attention(q, k, v, block_q=4, block_k=4)
    assert np.isnan(o[0, 1, 2]).all() and np.isnan(o).sum() == 5 and np.isnan(lse).sum() == 1


def test_inputs_are_left_alone_and_integers_are_welcome():
    q, k, v = make_qkv(5, 7)
    before = [x.copy() for x in (q, k, v)]
    o, lse = flash_attention(q, k, v)
    do = o.copy()
    flash_attention_backward(q, k, v, o, lse, do)
    for x, y in zip((q, k, v, do), (*before, o), strict=True):
        assert np.array_equal(x, y)
    o, lse = flash_attention([[1, 2]], [[3, 4]], [[5, 6]])
    assert o.dtype == np.float64 and o.tolist() == [[5, 6]]
    assert lse == pytest.approx(11 / 2**0.5)


@given(
    st.integers(0, 30), st.integers(0, 30), st.integers(1, 9), st.integers(1, 9), st.booleans(),
    st.none() | st.integers(1, 30), st.integers(0, 30),
)  # fmt: skip
def test_blocks_are_visited_iff_something_in_them_is_visible(
    n_q, n_k, block_q, block_k, causal, window, sinks
):
    visibility = Visibility(n_q, n_k, causal, window, 0 if window is None else sinks)
    mask = mask_of(n_q, n_k, causal=causal, window=window, sinks=visibility.sinks)
    for arange, expected in ((np.arange, mask), (torch.arange, torch.tensor(mask))):
        t = visibility.positions(arange(n_q))
        assert (visibility.visible(t, arange(n_k)) == expected).all()
    assert visibility.restricts or mask.all()
    for i in blocks(n_q, block_q):
        visited = list(visibility.key_blocks(i, block_k))
        # Keys cut from the last block are hidden from the whole tile.
        assert sum(mask[i, j].sum() for j in visited) == mask[i].sum()
        assert all(mask[i, j].any() for j in visited)
        assert all(j.start % block_k == 0 and j.stop - j.start <= block_k for j in visited)


Q, K, V = np.ones((2, 5, 4)), np.ones((2, 7, 4)), np.ones((2, 7, 8))
O, LSE = np.ones((2, 5, 8)), np.ones((2, 5))
forward, backward = flash_attention, flash_attention_backward
BAD = [
    (lambda: forward(Q, K[..., :3], V), "k has d_k=3 but q has d_k=4"),
    (lambda: forward(Q, K, V[:, :5]), "v has n_k=5 but k has n_k=7"),
    (lambda: forward(np.ones((3, 5, 4)), K, V), r"leading axes \[3\], \[2\], \[2\]"),
    (lambda: forward(np.ones(4), K, V), r"q has shape \[4\]"),
    (lambda: forward(torch.ones(5, 4), K, V), r"q is a torch tensor.*detach\(\).numpy"),
    (lambda: forward(Q, K, V.astype(complex)), "v has dtype complex128"),
    (lambda: forward(Q, [[1.0], [1.0, 2.0]], V), "k has rows of different lengths"),
    (lambda: forward(Q, K, V, scale=float("nan")), "scale is nan"),
    (lambda: forward(Q, K, V, block_q=0), "block_q is 0; it should be at least 1"),
    (lambda: forward(Q, K, V, block_k=2.5), "block_k is 2.5; it should be a whole number"),
    (lambda: forward(Q, K, V, causal=True, sinks=2), "sinks is 2 but window is None"),
    (lambda: backward(Q, K, V, O[:1], LSE, O), r"o has shape \[1, 5, 8\]; it.*2, 5, 8"),
    (lambda: backward(Q, K, V, O, LSE[:, :4], O), r"lse has shape \[2, 4\]; it.*\[2, 5\]"),
    (lambda: backward(Q, K, V, O, LSE, O[..., :1]), r"do has shape \[2, 5, 1\]; it"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
