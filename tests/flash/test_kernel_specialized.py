"""The forward kernel for Hopper: what it takes, and that it computes what the other one does."""

import pytest
import torch
from kernel_support import DTYPES

from attention_src.flash.kernel import flash_forward, operators
from attention_src.flash.kernel.config import Inputs
from attention_src.flash.kernel.specialized import BLOCK_K, specialized_launch, takes
from attention_src.flash.visibility import Visibility
from attention_src.testing import assert_sharp, assert_within_budget
from attention_src.triton_support.launch import INTERPRETED, capability
from flash.oracle import arguments, exact, plain

from .test_kernel import on_device

HOPPER = not INTERPRETED and torch.cuda.get_device_capability()[0] == 9
# n_q, n_k, d_k, d_v, H, H_kv. Interpreted, blocks have 32 queries and 16 keys.
SIZES = [(1, 16, 16, 16, 2, 1), (31, 48, 32, 32, 3, 3), (65, 32, 16, 16, 4, 2)]
if not INTERPRETED:
    SIZES = [(1, 128, 128, 128, 2, 1), (515, 1024, 128, 128, 4, 2)]


def attend(q, k, v):
    """o and lse from the launch itself."""
    inputs = Inputs(q, k, v, None, Visibility(q.shape[2], k.shape[2]), q.shape[3] ** -0.5)
    o, lse = operators._empty_outputs(q, v)
    specialized_launch(inputs, o, lse, capability=capability(q)).run()
    return o, lse


@pytest.mark.skipif(not (INTERPRETED or HOPPER), reason="for Hopper, or interpreted")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(poisoned, size, dtype):
    if HOPPER and dtype == torch.float32:
        pytest.skip("half precision only")
    inputs = arguments(size, dtype, batch=2)
    actual = attend(*on_device(*inputs[:3]))
    right, _ = exact(*inputs)
    for a, e, p in zip(actual, right, plain(*inputs[:3]), strict=False):
        if a.dtype == torch.float32:
            assert_sharp(a, e)
        else:
            assert_within_budget(a, e, p)


def inputs(n_q=512, n_k=4 * BLOCK_K, d=128, dtype=torch.bfloat16, scale=0.1, **more):
    q, k = (torch.empty(2, h, n, d, dtype=dtype, device="meta") for h, n in ((4, n_q), (2, n_k)))
    rule = {name: more.pop(name) for name in ("causal", "window") if name in more}
    return Inputs(
        q, k, k, more.pop("key_lengths", None), Visibility(n_q, n_k, **rule), scale, **more
    )


REFUSED = dict(
    causal=dict(causal=True),
    window=dict(window=5),
    ragged=dict(n_k=4 * BLOCK_K - 1),
    empty=dict(n_k=0),
    narrow=dict(d=64),
    wide=dict(d=256),
    single=dict(dtype=torch.float32),
    negative=dict(scale=-0.1),
    zero=dict(scale=0.0),
    lengths=dict(key_lengths=torch.ones(2)),
    softcap=dict(softcap=3.0),
    alibi=dict(slopes=torch.ones(4)),
)


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_take(change):
    assert takes(inputs(), 90) and takes(inputs(n_q=7, dtype=torch.float16), 90)
    assert not takes(inputs(**change), 90)


def test_other_chips_and_rows_that_cannot_be_addressed():
    assert not any(takes(inputs(), chip) for chip in (0, 75, 80, 100, 120))
    fine = inputs()
    for name in "qkv":
        x = getattr(fine, name)
        for bad in (x.mT, torch.empty(*x.shape[:3], 132, dtype=x.dtype, device="meta")[..., :128]):
            assert not takes(fine._replace(**{name: bad.expand(x.shape[0], -1, -1, -1)}), 90)
        spaced = torch.empty(*x.shape[:3], 136, dtype=x.dtype, device="meta")[..., :128]
        assert takes(fine._replace(**{name: spaced}), 90)


@pytest.mark.skipif(not HOPPER, reason="needs a Hopper GPU")
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_it_gives_the_same_bits_200_times_and_those_of_the_other_kernel(dtype):
    q, k, v, *_ = on_device(*arguments((515, 1024, 128, 128, 4, 2), dtype, batch=2))
    expected = attend(q, k, v)
    for _ in range(200):
        assert all(torch.equal(a, e) for a, e in zip(attend(q, k, v), expected, strict=True))
    other = flash_forward(q, k, v, None, False, 0, 0, 128**-0.5)
    torch.testing.assert_close(expected[0], other[0], atol=2e-2, rtol=2e-2)
    torch.testing.assert_close(expected[1], other[1])
