"""SSD by linear attention's kernels, which tests/linear tests: shapes, strides, gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_support import DEVICE, DTYPES, needs_gpu, needs_interpreter

from attention_src.ssm import reference
from attention_src.ssm.layer import ssd
from attention_src.testing import assert_sharp, assert_within_budget
from ssm.cases import ssd_arguments

NAMES = ("y", "h", "dx", "ddt", "dA", "dB", "dC", "dstart")


def arguments(size, dtype, seed=0):
    """x, dt, A, B, C and a first state; the parameters in float32."""
    batch, n, H, P, N = size
    x, dt, A, B, C = ssd_arguments((batch,), n, H, P, N, seed)
    start = np.random.default_rng(seed + 1).standard_normal((batch, H, P, N))
    dtypes = (dtype, torch.float32, torch.float32, dtype, dtype, torch.float32)
    arrays = (x, dt, A, B, C, start)
    return [torch.from_numpy(a).to(t).to(DEVICE) for a, t in zip(arrays, dtypes, strict=True)]


def with_gradients(given, dtype, **options):
    leaves = [a.detach().requires_grad_() for a in given]
    *rest, start = leaves
    y, h = ssd(*rest, initial_state=start, return_state=True, **options)
    loss = 0.0
    for out in (y, h):
        weights = torch.linspace(-1, 2, out.numel(), device=out.device).reshape(out.shape)
        loss = loss + (weights.to(dtype).to(out.dtype) * out).sum()
    gradients = torch.autograd.grad(loss, leaves, materialize_grads=True)
    return [y.detach(), h.detach(), *gradients]


def check(given):
    dtype = given[0].dtype
    actual = with_gradients(given, dtype, impl="triton")
    exact = [a.detach().cpu().double() for a in given]
    exact = with_gradients(exact, dtype, form="recurrent", impl="torch")
    # The gradients of decays are sums of differences C dC - B dB: as sharp as what is subtracted.
    terms = float((given[4].cpu().double() * exact[6]).abs().sum())
    for name, a, e in zip(NAMES, actual, exact, strict=True):
        if dtype == torch.float32:
            size = max(1e-300, float(e.abs().max())) if e.numel() else 1.0
            rtol = 1e-5 * max(1.0, terms / size) if name in ("ddt", "dA") else 1e-5
            assert_sharp(a, e, rtol=rtol, name=name)
        else:  # B, C and dt x are rounded once, and so are products of them
            assert_within_budget(a.to(dtype), e, e.to(dtype) * (1 + 2**-7), name=name)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(2, 5, 3, 5, 7), (1, 1, 1, 1, 1), (1, 17, 2, 3, 4)], ids=str)
def test_gates(poisoned, dtype, size):
    check(arguments(size, dtype))


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 5)
@given(
    size=st.tuples(
        st.integers(1, 2), st.integers(0, 5), st.integers(1, 2), st.integers(1, 4),
        st.integers(1, 4),
    ),
    transposed=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_any_size(size, transposed, seed):
    given = arguments(size, torch.float32, seed)
    if transposed:
        given = [a.mT.contiguous().mT if a.ndim > 2 else a for a in given]
    check(given)


def test_against_the_reference_without_a_batch():
    arrays = ssd_arguments((), 19, 2, 3, 4)
    y = ssd(*(torch.from_numpy(a).float().to(DEVICE) for a in arrays), impl="triton")
    assert_sharp(y, reference.ssd(*(a.astype(np.float32) for a in arrays)), rtol=2e-5, name="y")


def test_refusals():
    given = [torch.from_numpy(a).to(DEVICE) for a in ssd_arguments()]
    with pytest.raises(ValueError, match=r"q has dtype torch\.float64; kernels take"):
        ssd(*given, impl="triton")


@needs_interpreter
def test_bfloat16_is_refused_in_the_interpreter():
    given = [torch.from_numpy(a).bfloat16() for a in ssd_arguments()]
    with pytest.raises(ValueError, match=r"q has dtype torch\.bfloat16"):
        ssd(*given, impl="triton")


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_larger_sizes(poisoned, dtype):
    check(arguments((2, 300, 3, 64, 32), dtype))
