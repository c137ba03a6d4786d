"""The flash kernels, interpreted or compiled: the three gates, over every rule of visibility."""

import math

import numpy as np
import pytest
import torch
from kernel_support import DEVICE, DTYPES, needs_gpu

from attention_src.flash.kernel import flash_forward
from attention_src.testing import assert_sharp, assert_within_budget, probe_mask
from attention_src.triton_support.launch import INTERPRETED
from flash.oracle import NAMES, arguments, assert_close, exact, plain, results, visible_mask


def attend(q, k, v, *, causal=False, window=None, sinks=0, key_lengths=None, scale=None):
    """The operator, with the defaults of the layer, and its natural lse."""
    if key_lengths is not None:
        key_lengths = torch.tensor(key_lengths, dtype=torch.int32, device=q.device)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    o, lse_log2 = flash_forward(q, k, v, key_lengths, causal, window or 0, sinks, scale)
    return o, lse_log2 * math.log(2)


def on_device(*tensors):
    return [x.to(DEVICE) for x in tensors]


def check(inputs, **rule):
    """Budget and sharp gate for o, lse, dq, dk, dv; inputs are on the CPU."""
    dtype = inputs[0].dtype
    actual = results(attend, *on_device(*inputs), **rule)
    right, _ = exact(*inputs, **rule)
    rounded = results(plain, *inputs, **rule)
    for name, a, e, p in zip(NAMES, actual, right, rounded, strict=True):
        assert a.dtype == (torch.float32 if name == "lse" else dtype) and a.is_contiguous()
        if a.dtype == torch.float32:
            assert_sharp(a, e, name=name)
        # The budget is for half precision, where it is strict. In float32 a weight recomputed from
        # lse has lse's rounding, and a compiled product is three of tf32: sharp, but unlike plain.
        if dtype != torch.float32 or (INTERPRETED and name == "o"):
            assert_within_budget(a, e, p, name=name)


def check_sizes(inputs, *, units=16, **rule):
    """Every error relative to the size of the terms summed, for gradients that cancel."""
    actual = results(attend, *on_device(*inputs), **rule)
    right, sizes = exact(*inputs, **rule)
    sizes[1] = sizes[1] * (16 / units)  # lse is in float32 whatever q is in: its units are small
    assert_close(actual, right, sizes, units=units, context=str(rule))
    return actual


# n_q, n_k, d_k, d_v, H, H_kv. Interpreted, blocks have 16 or 32 rows: one below, one above, primes;
# widths that are no power of two; grouped heads. A head is a program, and each one takes long.
SIZES = [
    (1, 37, 17, 19, 3, 1),
    (15, 33, 24, 16, 1, 1),
    (31, 17, 32, 40, 2, 1),
    (33, 65, 16, 16, 1, 1),
    (65, 31, 80, 16, 1, 1),
    (16, 127, 16, 96, 1, 1),
]
LONG = pytest.param(33, 97, marks=pytest.mark.slow)
RULES = [
    dict(),
    dict(causal=True),
    dict(window=19),
    dict(window=7, sinks=5, scale=0.3),
    dict(key_lengths=[0, 23], scale=-0.2),
    dict(causal=True, key_lengths=[1000, 1]),
    dict(window=33, sinks=18, key_lengths=[29, 3]),
]


def ruled(size, dtype, rule):
    """Arguments for a size, one sequence or as many as the rule has lengths; and the rule."""
    lengths = [min(n, size[1]) for n in rule.get("key_lengths", [0])]
    inputs = arguments(size, dtype, batch=len(lengths))
    return inputs, rule | dict(key_lengths=lengths) if "key_lengths" in rule else rule


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_budget_and_sharp(poisoned, dtype, rule):
    # Each rule with one size in each dtype, so that every size meets a rule in every dtype.
    index = RULES.index(rule) + 3 * DTYPES.index(dtype)
    inputs, rule = ruled(SIZES[index % len(SIZES)], dtype, rule)
    check(inputs, **rule)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_key(poisoned, dtype):
    """Its weight is 1 whatever the score: dq and dk are small differences, held to their parts."""
    for n_q, rule in ((37, dict(window=1)), (1, dict(key_lengths=[1, 0]))):
        inputs, rule = ruled((n_q, 1, 16, 24, 1, 1), dtype, rule)
        check_sizes(inputs, **rule)


WIDTHS = [(64, 64), (128, 128), (192, 128), (256, 256), (40, 96), (72, 72), (120, 104), (65, 66)]


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("d_k, d_v", WIDTHS)
def test_budget_and_sharp_at_real_sizes(poisoned, dtype, d_k, d_v):
    for n_q, n_k in ((1000, 1537), (257, 4099)):
        for rule in [*RULES, dict(window=300, sinks=200), dict(causal=True, key_lengths=[900, 0])]:
            inputs, rule = ruled((n_q, n_k, d_k, d_v, 4, 2), dtype, rule)
            check(inputs, **rule)


def probe_rules(n_k):
    return [
        dict(),
        dict(causal=True),
        dict(window=1),
        dict(window=16, sinks=16),
        dict(window=17, sinks=33),
        dict(window=3, sinks=1, key_lengths=[n_k - 2]),
        dict(window=n_k - 1),
        dict(window=n_k),
        dict(window=10**12, sinks=10**12),
        dict(causal=True, key_lengths=[n_k // 2]),
        dict(key_lengths=[0]),
    ]


@pytest.mark.parametrize("n_q, n_k", [(17, 17), (50, 31)])
def test_probe_in_half_precision(poisoned, n_q, n_k):
    for rule in probe_rules(n_k)[n_q % 2 :: 2]:
        probe_mask(
            lambda *qkv: attend(*on_device(*qkv), **rule)[0],  # noqa: B023
            visible_mask(n_q, n_k, **rule)[0, 0],
            dtype=torch.float16,
        )


@pytest.mark.parametrize("n_q, n_k", [(17, 17), LONG, (50, 31)])
def test_probe_of_outputs_and_gradients(poisoned, n_q, n_k):
    """With identities among the columns, o and dv contain p, and dq and dk contain ds.

    v = [I, …] makes o = [p, …]            do = […, I] makes dv = […, p^T]
    k = [I, …] makes dq = scale [ds, …]    q = […, I] makes dk = scale […, ds^T]
    """
    q, k, v, do, dlse = arguments((n_q, n_k, n_q + n_k, n_q + n_k, 1, 1), torch.float32, batch=1)
    k[..., :n_k] = v[..., :n_k] = torch.eye(n_k)
    q[..., n_k:] = do[..., n_k:] = torch.eye(n_q)
    rules = probe_rules(n_k)
    for rule in rules if n_k == 97 else rules[n_q % 2 :: 2]:
        visible = visible_mask(n_q, n_k, **rule)[0, 0]
        several = visible & (visible.sum(axis=1, keepdims=True) > 1)  # one alone has weight 1
        o, _, dq, dk, dv = results(attend, *on_device(q, k, v, do, dlse), **rule)
        p, ds = o[0, 0, :, :n_k], dq[0, 0, :, :n_k]
        p_again, ds_again = dv[0, 0, :, n_k:].mT, dk[0, 0, :, n_k:].mT
        torch.testing.assert_close(p.sum(dim=-1).cpu(), torch.tensor(visible.any(axis=1)).float())
        for name, x, certain in (
            ("p", p, visible),
            ("p, backward", p_again, visible),
            ("ds", ds, several),
            ("ds^T", ds_again, several),
        ):
            x = x.cpu().numpy()
            assert not x[~visible].any() and x[certain].all(), (name, rule)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_logits_of_1e4(poisoned, dtype):
    inputs = arguments((37, 41, 16, 24, 1, 1), dtype, batch=1, scale_of_q=1e4)
    scores = inputs[0].float() @ inputs[1].float().mT / 16**0.5
    assert scores.abs().max() > 1e4
    # Scores are known to 1e-7 of their size, so weights are known to that many units.
    units = 16 if dtype != torch.float32 else int(scores.abs().max())
    for rule in (dict(), dict(window=19, sinks=2)):
        check_sizes(inputs, units=units, **rule)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_exact_logits_of_1e4(poisoned, dtype):
    # Scores of exactly ±16384: every product is a power of two, so the answer is exact.
    q, k, v = (torch.zeros(1, 1, n, 16, dtype=dtype) for n in (2, 3, 3))
    q[..., 0] = 128.0
    k[..., 0] = torch.tensor([128.0, -128.0, 128.0])
    v[:] = torch.tensor([1.0, 7.0, 3.0])[:, None]
    o, lse, *gradients = results(
        attend, *on_device(q, k, v, torch.ones_like(q), torch.zeros(1, 1, 2)), scale=1.0
    )
    assert (o == 2).all() and (lse == 16384 + np.float32(np.log(2))).all()
    assert gradients[2][0, 0, :, 0].tolist() == [1.0, 0.0, 1.0]
    assert all(g.isfinite().all() for g in gradients)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's NumPy, about inf and NaN
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rule", [dict(), dict(causal=True)], ids=str)
def test_infinite_logits_and_nan(poisoned, dtype, rule):
    q, k, v, *rest = arguments((65, 65, 16, 16, 1, 1), dtype, batch=1)
    q = q.abs() + 0.1  # no 0 * inf, no inf - inf
    k[..., :33, 3] = -torch.inf  # whole blocks of scores -inf, before any other
    q[..., 60, :] = torch.nan
    if rule:
        k[..., 64, 2] = torch.inf  # visible to the last query only
    right, _ = exact(q, k, v, *rest, **rule)
    o, lse = (x.double().cpu().numpy() for x in attend(*on_device(q, k, v), **rule))
    assert np.isfinite(right[0]).all(axis=-1).sum() == (63 if rule else 64)
    rounding = torch.finfo(dtype).eps / 2  # of weights, which sum to 1, times values of about 1
    for actual, expected in ((o, right[0]), (lse, right[1])):
        np.testing.assert_allclose(actual, expected, rtol=1e-2, atol=max(1e-3, rounding))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_scale_of_zero_is_a_mean(poisoned, dtype):
    inputs = arguments((17, 37, 16, 16, 1, 1), dtype, batch=1)
    actual = check_sizes(inputs, scale=0.0, window=5, sinks=2)
    assert not actual[2].any() and not actual[3].any()


def test_fully_masked_rows(poisoned):
    # More queries than keys: the first 20 are before the first key.
    inputs = arguments((37, 17, 16, 16, 2, 1), torch.float32, batch=1)
    inputs[4][:, :, :20] = torch.nan  # a gradient of lse = -inf is ignored
    o, lse, dq, dk, dv = results(attend, *on_device(*inputs), causal=True)
    assert not o[:, :, :20].any() and (lse[:, :, :20] == -torch.inf).all()
    assert not dq[:, :, :20].any() and o[:, :, 20:].any(dim=-1).all()
    q, k, v, do, dlse = on_device(*inputs)
    others = (q[:, :, 20:], k, v, do[:, :, 20:], dlse[:, :, 20:])
    for actual, expected in zip((dk, dv), results(attend, *others, causal=True)[3:], strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


def test_the_gradient_of_lse_alone(poisoned):
    inputs = arguments((33, 37, 16, 16, 1, 1), torch.float32, batch=1)
    inputs[3][:] = 0
    for rule in (dict(causal=True), dict(window=9, sinks=3, scale=-0.3)):
        actual = check_sizes(inputs, **rule)
        assert not actual[4].any() and actual[2].any()
