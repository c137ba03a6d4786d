"""The flash kernels with their scores changed: softcap, ALiBi, lookahead, learned sinks."""

import numpy as np
import pytest
import torch
from kernel_support import DEVICE, DTYPES, needs_gpu

from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.flash.kernel import flash_backward, flash_forward
from attention_src.flash.layer import flash_attention, flash_attention_with_lse
from attention_src.testing import assert_sharp, assert_within_budget, probe_mask
from flash.oracle import NAMES, arguments, assert_close, exact, plain, results, visible_mask

from .test_kernel import on_device

SINKS = torch.tensor([0.7, -1.1, 2.0, -torch.inf])
# Interpreted blocks have 16 or 32 rows. n_q, n_k, d_k, d_v, H, H_kv and the options.
CASES = [
    ((33, 37, 16, 19, 2, 1), dict(alibi=True, causal=True)),
    ((37, 35, 17, 16, 1, 1), dict(alibi=True, scale=-0.2)),
    ((17, 53, 16, 16, 2, 2), dict(softcap=1.3, causal=True, sink_logits=SINKS[:2])),
    ((37, 17, 24, 16, 1, 1), dict(softcap=0.9, scale=-0.4, key_lengths=[17, 3])),
    ((35, 37, 16, 24, 1, 1), dict(window=5, lookahead=18, sinks=2)),
    (
        (19, 41, 16, 17, 2, 1),
        dict(window=7, lookahead=3, sinks=1, alibi=True, softcap=2.0, sink_logits=SINKS[2:],
             key_lengths=[41, 22]),
    ),
    ((33, 17, 16, 16, 2, 1), dict(alibi=True, softcap=5.0, scale=0.0, sink_logits=SINKS[2:])),
    ((33, 7, 16, 16, 2, 2), dict(causal=True, softcap=5.0, sink_logits=SINKS[2:])),  # 26 see no key
    ((7, 0, 16, 16, 2, 1), dict(alibi=True, softcap=5.0, sink_logits=SINKS[2:])),
]  # fmt: skip


def case(size, options, dtype):
    """Arguments on the CPU, and the layer's options for them."""
    options = dict(options)
    if options.pop("alibi", False):
        options["bias"] = Alibi(alibi_slopes(size[4]))
    if "sink_logits" in options:
        options["sink_logits"] = options["sink_logits"].to(dtype)
    batch = len(options.get("key_lengths", [0]))
    return arguments(size, dtype, batch=batch), options


def by_kernel(inputs, options):
    options = {x: y.to(DEVICE) if isinstance(y, torch.Tensor) else y for x, y in options.items()}
    return results(flash_attention_with_lse, *on_device(*inputs), impl="triton", **options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("size", "options"), CASES, ids=[str(size) for size, _ in CASES])
def test_budget_and_sharp(poisoned, dtype, size, options):
    inputs, options = case(size, options, dtype)
    actual = by_kernel(inputs, options)
    right, sizes = exact(*inputs, **options)
    rounded = results(plain, *inputs, **options)
    for name, a, e, p in zip(NAMES, actual, right, rounded, strict=False):
        if a.dtype == dtype == torch.float32:
            assert_sharp(a, e, name=name)
        if dtype != torch.float32:
            assert_within_budget(a, e, p, name=name)
    assert_close(actual, right, [sizes[0], 16 * sizes[1], *sizes[2:]], units=16)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("d", [64, 128, 256])
def test_budget_at_real_sizes(poisoned, dtype, d):
    for _, options in CASES:
        lengths = dict(key_lengths=[1537, 700]) if "key_lengths" in options else {}
        size = (1000, 1537, d, d, 4, 2)
        sinks = dict(sink_logits=SINKS) if "sink_logits" in options else {}
        inputs, changed = case(size, options | lengths | sinks, dtype)
        actual, rounded = by_kernel(inputs, changed), results(plain, *inputs, **changed)
        right, _ = exact(*inputs, **changed)
        for name, a, e, p in zip(NAMES, actual, right, rounded, strict=False):
            if dtype == torch.float32:
                assert_sharp(a, e, name=name)
            else:
                assert_within_budget(a, e, p, name=name)


@pytest.mark.parametrize("softcap", [1e3, 1e6])
def test_a_softcap_far_above_the_scores_changes_nothing(softcap):
    """tanh near 0 keeps its digits: a difference of exponentials would lose them all."""
    inputs = arguments((17, 19, 16, 16, 1, 1), torch.float32, batch=1)
    actual = by_kernel(inputs, dict(softcap=softcap))
    for name, a, e in zip(NAMES, actual, exact(*inputs, softcap=softcap)[0], strict=True):
        assert_sharp(a, e, rtol=2e-6, name=name)


@pytest.mark.filterwarnings("ignore:overflow")  # the interpreter's NumPy: e^2x is inf, tanh is 1
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_softcap_of_logits_of_1e4(poisoned, dtype):
    inputs = arguments((17, 35, 16, 16, 1, 1), dtype, batch=1, scale_of_q=1e4)
    options = dict(softcap=5.0, causal=True, bias=Alibi([0.25]))
    actual = by_kernel(inputs, options)
    assert actual[1].isfinite().all() and actual[1].abs().max() < 5 + np.log(35)
    assert_close(actual, *exact(*inputs, **options), units=64)


@pytest.mark.parametrize("softcap", [2.6e5, 3e5])
def test_large_scores_lose_nothing_on_the_way_back(poisoned, softcap):
    """Near 3e5 a score is known to 0.03, so lse must not be rounded once more than the score."""
    q, k, v, do, dlse = arguments((20, 20, 16, 16, 1, 1), torch.float32, batch=1)
    inputs = torch.full_like(q, 512.0), 150 * k, v, do, torch.zeros_like(dlse)
    right, _ = exact(*inputs, softcap=softcap)
    assert np.abs(right[1]).max() > 1e5
    assert_sharp(by_kernel(inputs, dict(softcap=softcap))[4], right[4], rtol=1e-5)


def test_probe(poisoned):
    for rule in (
        dict(window=1, lookahead=1),
        dict(window=16, lookahead=17, sinks=3),
        dict(window=3, lookahead=2, key_lengths=[20]),
        dict(window=2, lookahead=10**12),
        dict(window=10**12, lookahead=1, softcap=2.0),
        dict(causal=True, bias=Alibi([0.02]), softcap=1.3),
    ):
        places = {x: y for x, y in rule.items() if x not in ("bias", "softcap")}
        probe_mask(
            lambda *qkv: flash_attention(*on_device(*qkv), impl="triton", **rule),  # noqa: B023
            visible_mask(33, 37, **places)[0, 0],
            dtype=torch.float16,
        )


def test_opcheck():
    inputs = on_device(*arguments((5, 7, 16, 24, 2, 1), torch.float32, batch=1))
    slopes = torch.tensor([0.5, 0.25], device=DEVICE)
    options = (False, 3, 1, 0.25, 2, 1.5, slopes)
    # Without the parts of opcheck that trace a graph, which take long: test_compiles does that.
    parts = dict(test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))
    q, k, v, do, dlse = inputs
    torch.library.opcheck(flash_forward, (q, k, v, None, *options), **parts)
    o, lse = flash_forward(q, k, v, None, *options)
    given = (q, k, v, None, o, lse, do, dlse, *options)
    torch.library.opcheck(flash_backward, given, **parts)


def test_refusals(untyped):
    q, k, v, *_ = on_device(*arguments((5, 7, 16, 24, 2, 1), torch.float32, batch=1))
    slopes = torch.ones(2, device=DEVICE)

    def operator(causal=False, window=0, lookahead=0, softcap=0.0, slopes=None):
        flash_forward(q, k, v, None, causal, window, 0, 0.25, lookahead, softcap, slopes)

    for options, message in (
        (dict(lookahead=1), "lookahead is 1 but window is None"),
        (dict(lookahead=1, window=3, causal=True), "lookahead is 1 but .* causal is True"),
        (dict(lookahead=-1, window=3), "lookahead is -1"),
        (dict(slopes=slopes[:1]), r"slopes is \[1\].*; it should be \[H\] = \[2\] torch.float32"),
        (dict(slopes=slopes.double()), "slopes is .* torch.float64"),
        (dict(softcap=-1.0), "softcap is -1.0; it should be"),
        (dict(softcap=float("inf")), "softcap is inf; it should be"),
        (dict(softcap=float("nan")), "softcap is nan; it should be"),
    ):
        with pytest.raises(ValueError, match=message):
            operator(**options)
    with pytest.raises(ValueError, match=r'bias is a tensor but impl is "triton".*"tiled"'):
        flash_attention(q, k, v, bias=torch.zeros(5, 7, device=DEVICE), impl="triton")
