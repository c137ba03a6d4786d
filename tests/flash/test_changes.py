"""The layer with its scores changed: bias, softcap, learned sinks, both sides of a window."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.flash.layer import flash_attention, flash_attention_with_lse
from attention_src.testing import assert_sharp, assert_within_budget, probe_mask
from flash.oracle import NAMES, arguments, assert_close, exact, plain, results, visible_mask

from .test_layer import DTYPES, small_tiles

HALF = DTYPES[:2]
SHARP = {torch.float32: 5e-6, torch.float64: 1e-13}
IMPLS = ("dense", "sdpa", "tiled")


def random(*shape, dtype=torch.float64, hidden=0.0, seed=0):
    """Normal numbers, some of which are −inf."""
    rng = np.random.default_rng(seed)
    numbers = np.where(rng.random(shape) < hidden, -np.inf, rng.normal(size=shape))
    return torch.from_numpy(numbers).to(dtype)


def impls(options):
    """Those that can do it: torch's function has no softcap and no learned sinks."""
    able = options.get("softcap") is None and options.get("sink_logits") is None
    return [impl for impl in IMPLS if able or impl != "sdpa"]


def changes(size, dtype):
    """Each option alone, and all together."""
    n_q, n_k, _, _, H, _ = size
    alibi, sinks = Alibi(alibi_slopes(H)), random(H, dtype=dtype, seed=3)
    window = dict(window=3, sinks=2, lookahead=2, key_lengths=[n_k, n_k // 2])
    keys = random(2, 1, 1, n_k, dtype=dtype, seed=4)
    return [
        dict(bias=alibi, causal=True),
        dict(bias=random(H, n_q, n_k, dtype=dtype, hidden=0.3)),
        dict(softcap=0.7, scale=-0.4),
        dict(sink_logits=sinks, causal=True),
        dict(window=2, lookahead=3),
        dict(bias=alibi, softcap=2.0, scale=0.0, key_lengths=[n_k // 2, 0]),
        dict(bias=alibi, softcap=30.0, sink_logits=sinks, **window),
        dict(bias=keys, softcap=1.3, sink_logits=sinks, **window),
    ]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(7, 5, 13, 11, 6, 2), (1, 37, 5, 3, 4, 1)])
def test_budget_and_sharp(poisoned, dtype, size):
    inputs = arguments(size, dtype)
    for options in changes(size, dtype):
        right, _ = exact(*inputs, **options)
        rounded = results(plain, *inputs, **options)
        for impl in impls(options):
            with small_tiles():
                actual = results(flash_attention_with_lse, *inputs, impl=impl, **options)
            for index, (a, e, p) in enumerate(zip(actual, right, rounded, strict=True)):
                name = f"{index} of {impl}, {options}"
                if a.dtype in SHARP and dtype in SHARP:
                    assert_sharp(a, e, rtol=SHARP[a.dtype], name=name)
                if dtype in HALF and index < len(NAMES):  # dsink is few numbers: plain may be lucky
                    assert_within_budget(a, e, p, name=name)


@st.composite
def cases(draw):
    """Sizes, dtype, every option, tiles."""
    n_q, n_k = draw(st.integers(0, 19)), draw(st.integers(0, 19))
    batch, n_kv_heads, group = (draw(st.integers(1, 3)) for _ in range(3))
    H, dtype, seed = n_kv_heads * group, draw(st.sampled_from(DTYPES)), draw(st.integers(0, 2**16))
    size = (n_q, n_k, draw(st.integers(1, 9)), draw(st.integers(0, 9)), H, n_kv_heads)
    bias = draw(st.sampled_from([None, "alibi", "tensor"]))
    if bias == "alibi":
        bias = Alibi(alibi_slopes(H))
    elif bias == "tensor":
        axes = [draw(st.sampled_from([1, n])) for n in (batch, H, n_q, n_k)]
        shape = axes[draw(st.integers(0, 4)) :]
        bias = random(*shape, dtype=dtype, hidden=draw(st.sampled_from([0, 0.4])), seed=seed)
    window = draw(st.none() | st.integers(1, 21))
    lookahead = 0 if window is None else draw(st.sampled_from([0, 1, 4, 21]))
    lengths = st.lists(st.integers(0, n_k), min_size=batch, max_size=batch)
    options = dict(
        causal=draw(st.booleans()) and not lookahead,
        window=window,
        sinks=0 if window is None else draw(st.sampled_from([0, 0, 2, 21])),
        lookahead=lookahead,
        key_lengths=draw(st.none() | lengths),
        scale=draw(st.sampled_from([None, 0.0, 1.0, -0.4])),
        bias=bias,
        softcap=draw(st.sampled_from([None, 0.7, 30.0])),
        sink_logits=draw(st.sampled_from([None, random(H, dtype=dtype, hidden=0.2, seed=seed)])),
    )
    blocks = (draw(st.integers(3, 21)), draw(st.integers(3, 21)))
    return arguments(size, dtype, batch=batch, seed=seed), options, blocks


@given(cases())
def test_every_impl_is_the_oracle(case):
    inputs, options, blocks = case
    right, sizes = exact(*inputs, **options)
    for impl in impls(options):
        with small_tiles(*blocks):
            actual = results(flash_attention_with_lse, *inputs, impl=impl, **options)
        assert_close(actual, right, sizes, units=16, context=f"{impl} {options}")


def test_the_bias_gets_a_gradient_in_its_own_shape():
    inputs = arguments((5, 7, 3, 2, 4, 2))
    full = exact(*inputs, bias=torch.zeros(2, 4, 5, 7, dtype=torch.float64))[0][5]
    for axes in itertools.product((1, 2), (1, 4), (1, 5), (1, 7)):
        for cut in range(5):
            if any(n > 1 for n in axes[:cut]):
                continue
            shape, alone = axes[cut:], tuple(a for a, n in enumerate(axes) if n == 1)
            expected = full.sum(axis=alone, keepdims=True).reshape(shape)
            bias = torch.zeros(shape, dtype=torch.float64)
            for impl in IMPLS:
                with small_tiles(3, 4):
                    dbias = results(flash_attention_with_lse, *inputs, bias=bias, impl=impl)[5]
                np.testing.assert_allclose(dbias, expected, rtol=1e-11, atol=1e-13)


def test_gradcheck():
    inputs = arguments((3, 5, 2, 1, 2, 1), batch=2)
    leaves = [*inputs[:3], random(1, 2, 1, 5), random(2, seed=1)]
    leaves = [x.requires_grad_() for x in leaves]
    rule = dict(window=2, sinks=1, lookahead=1, key_lengths=[5, 3], softcap=0.8)

    def function(q, k, v, bias, sinks):
        changed = dict(bias=bias, sink_logits=sinks)
        return flash_attention_with_lse(q, k, v, impl="tiled", **changed, **rule)

    with small_tiles(2, 3):
        assert torch.autograd.gradcheck(function, leaves)


@pytest.mark.parametrize("impl", ["dense", "tiled"])
def test_rows_that_see_no_key(poisoned, impl):
    """Without a sink o = 0 and lse = −inf; with one o = 0 and lse is the sink; never a gradient."""
    sinks = torch.tensor([0.5, -torch.inf], dtype=torch.float64)
    hidden = torch.full((1, 1, 1, 5), -torch.inf, dtype=torch.float64)
    for n_k, options in (
        (0, dict()),
        (5, dict(key_lengths=[0])),
        (5, dict(bias=hidden, softcap=3.0)),
        (2, dict(causal=True, bias=Alibi([0.5, 0.25]))),
    ):
        inputs = arguments((5, n_k, 3, 2, 2, 1), batch=1)
        rows = slice(0, 3)  # with two keys the last two queries see some
        for given_sinks in (None, sinks):
            expected = torch.full((2,), -torch.inf) if given_sinks is None else sinks
            changed = options | dict(sink_logits=given_sinks)
            o, lse, dq, *others = results(flash_attention_with_lse, *inputs, impl=impl, **changed)
            assert not o[:, :, rows].any() and not dq[:, :, rows].any()
            assert (lse[:, :, rows] == expected[:, None]).all()
            assert all(x.isfinite().all() for x in others)


@pytest.mark.parametrize("impl", ["dense", "tiled"])
def test_a_softcap_of_logits_of_1e4(impl):
    inputs = arguments((13, 41, 7, 3, 4, 2), torch.float32, scale_of_q=1e4)
    for options in (dict(), dict(causal=True, bias=Alibi(alibi_slopes(4))), dict(scale=-1.0)):
        actual = results(flash_attention_with_lse, *inputs, impl=impl, softcap=5.0, **options)
        assert_close(actual, *exact(*inputs, softcap=5.0, **options), units=96)
        assert abs(actual[1]).max() < 5 + np.log(41)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(("n_q", "n_k"), [(7, 7), (11, 5), (1, 13), (17, 33)])
def test_probe(dtype, n_q, n_k):
    hiding = random(n_q, n_k, dtype=dtype, hidden=0.4)
    for rule in (
        dict(window=1, lookahead=1),
        dict(window=3, lookahead=2, sinks=2),
        dict(window=2, lookahead=n_k, key_lengths=[n_k - 1]),
        dict(window=10**12, lookahead=1),
        dict(window=2, lookahead=10**12),
        dict(causal=True, bias=hiding),
        dict(key_lengths=[n_k - 1], softcap=1.3, bias=Alibi([0.5])),
    ):
        places = {x: y for x, y in rule.items() if x not in ("bias", "softcap")}
        visible = visible_mask(n_q, n_k, **places)[0, 0]
        if isinstance(rule.get("bias"), torch.Tensor):
            visible = visible & (hiding > -torch.inf).numpy()
        for impl in impls(rule):
            with small_tiles():
                probe_mask(
                    lambda q, k, v: flash_attention(q, k, v, impl=impl, **rule),  # noqa: B023
                    visible,
                    dtype=dtype,
                )
