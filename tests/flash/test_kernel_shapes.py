"""The flash kernels on any shape and any layout in memory: no copies, no neighbours, 64 bits."""

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kernel_support import DEVICE, DTYPES, huge_tensor, needs_gpu, needs_interpreter

from attention_src.flash.kernel import flash_backward, flash_forward
from attention_src.flash.kernel.config import Inputs, common_arguments
from attention_src.flash.kernel.tiles import forward_tiles
from attention_src.flash.visibility import Visibility
from attention_src.triton_support.launch import INTERPRETED
from flash.oracle import arguments, results

from .test_kernel import attend, check_sizes, on_device


def lay_out(x, order=(0, 1, 2, 3), steps=(1, 1, 1, 1)):
    """The same numbers in memory in another order of axes, with gaps full of NaN."""
    stored = [x.shape[axis] * steps[axis] for axis in order]
    room = torch.full(stored, torch.nan, dtype=x.dtype, device=x.device)
    room = room.permute(*np.argsort(order).tolist())
    return room[tuple(slice(step - 1, None, step) for step in steps)].copy_(x)


@st.composite
def problems(draw):
    """Sizes, the four layouts, and the rule: small, because interpreted blocks are slow."""
    heads = [(1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 2, 1), (2, 1, 1)]
    batch, n_kv_heads, group = draw(st.sampled_from(heads))
    n_q, n_k = draw(st.integers(0, 34)), draw(st.integers(0, 36))
    d_k, d_v = draw(st.integers(16, 34)), draw(st.integers(16, 34))
    layout = st.fixed_dictionaries(
        dict(order=st.permutations(range(4)), steps=st.tuples(*4 * [st.integers(1, 2)]))
    )
    rule = dict(causal=draw(st.booleans()))
    rule["scale"] = draw(st.sampled_from([None, None, 0.5, 0.0, -0.3]))
    if draw(st.booleans()):
        rule |= dict(window=draw(st.integers(1, n_k + 3)), sinks=draw(st.integers(0, n_k + 3)))
    if draw(st.booleans()):
        rule["key_lengths"] = draw(st.lists(st.integers(0, n_k), min_size=batch, max_size=batch))
    return dict(
        size=(n_q, n_k, d_k, d_v, n_kv_heads * group, n_kv_heads),
        dtype=draw(st.sampled_from(DTYPES)),
        options=dict(batch=batch, scale_of_q=draw(st.sampled_from([0.1, 1.0, 4.0]))),
        layouts=[draw(layout) for _ in "qkvo"],
        repeated=draw(st.sampled_from([None, None, 0, 1, 2, 3])),
        rule=rule,
    )


@pytest.mark.slow
@settings(phases=(Phase.generate,), max_examples=settings.default.max_examples // 2)
@given(problems())
def test_any_problem(problem):
    """o and lse of the forward operator; dq, dk and dv of the backward operator."""
    *tensors, dlse = arguments(problem["size"], problem["dtype"], **problem["options"])
    laid_out = []
    for x, layout in zip(tensors, problem["layouts"], strict=True):
        axis, shape = problem["repeated"], x.shape
        x = x if axis is None else x[(slice(None),) * axis + (slice(0, 1),)]
        laid_out.append(lay_out(x.to(DEVICE), **layout).expand(shape))  # repeated: a stride of 0
    # Half precision rounds p, ds and the result; in float32, scores up to 40 round the weights.
    units = 4 if problem["dtype"] != torch.float32 else 64
    check_sizes([*laid_out, dlse.to(DEVICE)], units=units, **problem["rule"])


LAYOUTS = {
    "[B, n, H, d]": dict(order=(0, 2, 1, 3)),
    "[d, n, H, B]": dict(order=(3, 2, 1, 0)),
    "with gaps": dict(steps=(2, 3, 2, 2)),
}


def assert_equal(actual, expected):
    assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES[:1] if INTERPRETED else DTYPES, ids=str)
def test_layouts_do_not_change_a_bit(poisoned, dtype):
    q, k, v, do, dlse = on_device(*arguments((33, 37, 16, 24, 2, 1), dtype, batch=1))
    expected = results(attend, q, k, v, do, dlse, window=19, sinks=3)
    for layout in LAYOUTS.values():
        given = [lay_out(x, **layout) for x in (q, k, v, do)]
        assert not given[0].is_contiguous() and not given[3].is_contiguous()
        assert_equal(results(attend, *given, dlse.mT.contiguous().mT, window=19, sinks=3), expected)


@pytest.mark.parametrize(("d", "step"), [(16, 1), (24, 8), (20, 4), (18, 2), (17, 1)])
def test_strides_are_told_apart_by_what_divides_them(poisoned, d, step):
    inputs = arguments((17, 19, d, d, 2, 1), torch.float32, batch=2)
    q, k, v, *_ = inputs
    given = Inputs(q, k, v, None, Visibility(17, 19), 0.1)
    assert common_arguments(given, forward_tiles(q.dtype, d, 0), 0)["STEP"] == step
    check_sizes(inputs, units=64, causal=True)


def test_gradients_that_are_one_number_everywhere(poisoned):
    """sum().backward() passes do and dlse with strides of 0."""
    q, k, v, do, dlse = on_device(*arguments((17, 37, 16, 24, 2, 1), torch.float32, batch=1))
    ones = torch.ones((), device=DEVICE)
    expected = results(attend, q, k, v, torch.ones_like(do), torch.ones_like(dlse), causal=True)
    actual = results(attend, q, k, v, ones.expand(do.shape), ones.expand(dlse.shape), causal=True)
    assert_equal(actual, expected)


@pytest.mark.parametrize(
    "batch, n_heads, n_q, n_k",
    [(1, 2, 0, 0), (1, 2, 0, 5), (1, 2, 5, 0), (0, 2, 5, 5), (2, 0, 5, 5)],
)
def test_nothing_to_do(poisoned, batch, n_heads, n_q, n_k):
    inputs = on_device(*arguments((n_q, n_k, 16, 17, n_heads, 2), torch.float32, batch=batch))
    for rule in (dict(), dict(window=2, sinks=1)):
        o, lse, dq, dk, dv = results(attend, *inputs, **rule)
        assert o.shape == (batch, n_heads, n_q, 17) and dq.shape == (batch, n_heads, n_q, 16)
        assert dk.shape == inputs[1].shape and dv.shape == inputs[2].shape
        assert not any(x.any() for x in (o, dq, dk, dv)) and (lse == -torch.inf).all()


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("rule", [dict(), dict(window=40, sinks=2)], ids=str)
def test_padding_is_never_read(poisoned, rule):
    q, k, v, do, dlse = on_device(*arguments((17, 70, 16, 24, 1, 1), torch.float32))
    lengths = [33, 5]
    expected = results(attend, q, k, v, do, dlse, key_lengths=lengths, **rule)
    for b, length in enumerate(lengths):
        k[b, :, length:] = v[b, :, length:] = torch.nan
    actual = results(attend, q, k, v, do, dlse, key_lengths=lengths, **rule)
    assert_equal(actual, expected)
    assert not actual[3][0, :, 33:].any() and not actual[4][1, :, 5:].any()


def test_lengths_beyond_the_keys_count_as_all_of_them_or_none(poisoned):
    inputs = on_device(*arguments((17, 37, 16, 16, 1, 1), torch.float32))
    actual = results(attend, *inputs, key_lengths=[10**9, -7])
    expected = results(attend, *inputs, key_lengths=[37, 0])
    assert_equal(actual, expected)


@pytest.mark.slow
@needs_interpreter  # whose blocks are known here: 16 and 32
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_hidden_blocks_are_not_read(poisoned):
    inputs = on_device(*arguments((64, 192, 16, 16, 1, 1), torch.float32, batch=1))
    expected = results(attend, *inputs, window=17, sinks=5)
    for x in inputs[1:3]:  # the sinks are in block 0; the first query is at position 128
        x[:, :, 32:96] = torch.nan
    actual = results(attend, *inputs, window=17, sinks=5)
    others = [[x[:, :, 96:] if x.shape[2] == 192 else x for x in y] for y in (actual, expected)]
    assert_equal(*others)
    inputs = on_device(*arguments((96, 96, 16, 16, 1, 1), torch.float32, batch=1))
    expected = results(attend, *inputs, window=17)
    for x in (inputs[0], inputs[3]):  # queries; keys 32 … 63 are visible to queries 32 … 79
        x[:, :, :32], x[:, :, 80:] = torch.nan, torch.nan
    actual = results(attend, *inputs, window=17)
    assert_equal(*([x[:, :, 32:64] for x in y[3:]] for y in (actual, expected)))


@pytest.mark.parametrize("axis, grouped", [(0, False), (1, False), (1, True), (2, True), (3, True)])
def test_offsets_beyond_31_bits(tmp_path, axis, grouped):
    # A stride below 2**31, so that only its product with an index exceeds 32 bits.
    batch, n_heads = 3 if axis == 0 else 1, {0: 1, 1: 3}.get(axis, 2)
    size = (5, 5, 16, 16, n_heads, 1 if grouped else n_heads)
    near = on_device(*arguments(size, torch.float16, batch=batch))
    far = []
    for x in near[:4]:
        strides = [n_heads * 5 * 16, 5 * 16, 16, 1]
        strides[axis] = 2**31 // max(x.shape[axis] - 1, 1) + 64
        alone = x.shape[axis] == 1  # nothing to step over
        far.append(x if alone else huge_tensor(tmp_path, x.shape, strides, x.dtype).copy_(x))
    expected = results(attend, *near, causal=True)
    assert_equal(results(attend, *far, near[4], causal=True), expected)


@needs_gpu
def test_answers_beyond_31_bits(poisoned):
    """o and dq of more than 2**31 numbers, then dk and dv: all rows are the same.

    dk is a difference of two nearly equal sums over eight million keys, so it is only compared with
    itself.
    """
    n, d = 2**31 // 256 + 131, 256
    one, few = (torch.randn(1, 1, m, d, dtype=torch.bfloat16, device=DEVICE) for m in (1, 5))
    many, rule = one.expand(1, 1, n, d), (None, False, 0, 0, 0.1)
    for q, k, small_q, small_k in ((many, few, one, few), (few, many, few, one)):
        o, lse = flash_forward(q, k, k, *rule)
        dlse = torch.zeros_like(lse)
        dq, dk, dv = flash_backward(q, k, k, None, o, lse, q, dlse, *rule[1:])
        right, right_lse = flash_forward(small_q, small_k, small_k, *rule)
        given = small_q, small_k, small_k, None, right, right_lse, small_q
        right_dq, _, right_dv = flash_backward(*given, torch.zeros_like(right_lse), *rule[1:])
        if q is many:
            pairs = ((o, right), (dq, right_dq))
        else:
            pairs = ((dv * n, right_dv),)
            assert (dk == dk[:, :, :1]).all()
        for large, small in pairs:
            torch.testing.assert_close(large[:, :, -1:], small[:, :, -1:], rtol=2e-2, atol=2e-2)
            assert (large == large[:, :, :1]).all()
        del o, dq, dk, dv
