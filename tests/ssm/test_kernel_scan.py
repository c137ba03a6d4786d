"""The selective scan's kernels, forward and all gradients, against the float64 recurrence."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_support import BACKEND, DEVICE, DTYPES, huge_tensor, needs_gpu, needs_interpreter

from attention_src.ssm import reference
from attention_src.ssm.kernel import selective_scan_backward, selective_scan_forward
from attention_src.ssm.layer import selective_scan
from attention_src.testing import assert_sharp, assert_within_budget
from ssm.cases import scan_arguments

NAMES = ("x", "dt", "A", "B", "C", "D", "start")


def arguments(batch, n, d, N, dtype, seed=0):
    """x, dt, B and C in dtype, the parameters and the state in float32."""
    x, dt, A, B, C, D = scan_arguments((batch,), n, d, N, seed)
    start = np.random.default_rng(seed + 1).standard_normal((batch, d, N))
    dtypes = (dtype, dtype, torch.float32, dtype, dtype, torch.float32, torch.float32)
    arrays = (x, dt, A, B, C, D, start)
    return [torch.from_numpy(a).to(t).to(DEVICE) for a, t in zip(arrays, dtypes, strict=True)]


def gradients_of(y, last, leaves, dtype):
    """y, last and the gradients of a loss with a different weight for every output.

    The weights are rounded to dtype, so that every implementation gets the same ones.
    """
    loss = 0.0
    for out in (y, last):
        weights = torch.linspace(-1, 2, out.numel(), device=out.device).reshape(out.shape)
        loss = loss + (weights.to(dtype).to(out.dtype) * out).sum()
    grads = torch.autograd.grad(loss, leaves, materialize_grads=True)
    return [y.detach(), last.detach(), *grads]


def kernel_results(given):
    leaves = [a.detach().clone(memory_format=torch.preserve_format).requires_grad_() for a in given]
    return gradients_of(*selective_scan_forward(*leaves), leaves, given[0].dtype)


def torch_results(given, dtype):
    """The recurrence on the same numbers, in dtype; the state in float32 at least."""
    leaves = [a.detach().to("cpu", dtype).requires_grad_() for a in given]
    *rest, start = leaves
    start = start.to(torch.promote_types(dtype, torch.float32))
    options = dict(form="recurrent", initial_state=start, impl="torch")
    return gradients_of(
        *selective_scan(*rest, return_state=True, **options), leaves, given[0].dtype
    )


def check(given):
    names = ("y", "last", *(f"d{name}" for name in NAMES))
    actual, exact = kernel_results(given), torch_results(given, torch.float64)
    plain = torch_results(given, given[0].dtype)
    for name, a, e, p in zip(names, actual, exact, plain, strict=True):
        if given[0].dtype == torch.float32:
            assert_sharp(a, e, name=name)
        else:
            assert_within_budget(a, e, p.to(a.dtype), name=name)


# B, n, d, N: a tile is 4 tokens of 2 channels.
SIZES = [(2, 9, 3, 5), (1, 1, 1, 1), (1, 4, 2, 3), (1, 5, 5, 2)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_gates(poisoned, dtype, size):
    check(arguments(*size, dtype))


def test_the_oracle_is_the_reference():
    given = arguments(2, 9, 3, 5, torch.float32)
    arrays = [a.double().cpu().numpy() for a in given]
    y, last = reference.selective_scan(*arrays[:-1], initial_state=arrays[-1], return_state=True)
    exact = torch_results(given, torch.float64)
    np.testing.assert_allclose(exact[0], y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(exact[1], last, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 3)
@given(
    size=st.tuples(st.integers(1, 2), st.integers(0, 9), st.integers(1, 3), st.integers(1, 3)),
    dtype=st.sampled_from(DTYPES),
    view=st.sampled_from(["plain", "transposed", "gaps", "shared"]),
    seed=st.integers(0, 99),
)
def test_any_shape_and_stride(size, dtype, view, seed):
    x, dt, A, B, C, D, start = arguments(*size, dtype, seed)
    if view == "transposed":
        x, dt, A, B, C = (a.mT.contiguous().mT for a in (x, dt, A, B, C))
    elif view == "gaps":  # every other number, NaN between them
        x, B = (torch.stack([a, a * torch.nan], dim=-1)[..., 0] for a in (x, B))
    elif view == "shared":  # one B for the whole batch
        B = B[:1].expand_as(B)
    check([x, dt, A, B, C, D, start])


def test_nothing_leaks_from_beyond_the_end():
    x, dt, A, B, C, D, start = arguments(1, 9, 3, 5, torch.float32)
    wide = [torch.nn.functional.pad(a, (0, 3, 0, 3), value=torch.nan) for a in (x, dt, B, C)]
    cut = [a[:, :9, :-3] for a in wide]
    expected = kernel_results([x, dt, A, B, C, D, start])
    actual = kernel_results([cut[0], cut[1], A, cut[2], cut[3], D, start])
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=0, atol=0)


def test_strong_decay_forgets():
    x, dt, A, B, C, D, start = arguments(1, 9, 3, 5, torch.float32)
    results = kernel_results([x, dt, -1e6 * torch.ones_like(A), B, C, D, start])
    assert all(r.isfinite().all() for r in results)
    alone = (B * C).sum(-1, keepdim=True) * dt * x + D * x
    torch.testing.assert_close(results[0], alone)


def test_layer_with_nothing_to_do():
    x, dt, A, B, C, D, _ = arguments(2, 0, 3, 2, torch.float32)
    assert selective_scan(x, dt, A, B, C, D, impl="triton").shape == (2, 0, 3)


def test_layer_uses_it():
    x, dt, A, B, C, D, start = arguments(2, 6, 3, 2, torch.float32)
    given = [a.reshape(2, 1, 6, -1) for a in (x, dt, B, C)]
    options = dict(initial_state=start[:, None])
    expected = selective_scan(given[0], given[1], A, given[2], given[3], D, **options, impl="torch")
    actual = selective_scan(given[0], given[1], A, given[2], given[3], D, **options, impl="triton")
    torch.testing.assert_close(actual, expected)
    expected = selective_scan(x, dt, A, B, C, impl="torch")
    torch.testing.assert_close(selective_scan(x, dt, A, B, C, impl="triton"), expected)


@pytest.mark.slow
def test_operator_rules():
    given = arguments(1, 3, 1, 2, torch.float32)
    torch.library.opcheck(selective_scan_forward, [a.requires_grad_() for a in given])
    given = [a.detach() for a in given]
    gradients = (torch.ones_like(given[0]), torch.ones_like(given[-1]))
    torch.library.opcheck(selective_scan_backward, [*given, *gradients])


def test_compiles_as_one_graph():
    given = arguments(1, 3, 1, 2, torch.float32)
    leaves = [a.requires_grad_() for a in given]

    def loss(*a):
        y, last = selective_scan_forward(*a)
        return (y.sin().sum() + last.cos().sum(),)

    (expected,) = loss(*leaves)
    (actual,) = torch.compile(loss, fullgraph=True, backend=BACKEND)(*leaves)
    torch.testing.assert_close(actual, expected)
    for a, e in zip(
        torch.autograd.grad(actual, leaves), torch.autograd.grad(expected, leaves), strict=True
    ):
        torch.testing.assert_close(a, e)


def test_offsets_beyond_32_bits(tmp_path):
    small = arguments(2, 3, 2, 2, torch.float32)
    expected = kernel_results(small)
    for strides in ((2**31 + 8, 2, 1), (8, 2**30 + 4, 1), (1, 2, 2**31 + 8)):
        x = huge_tensor(tmp_path, (2, 3, 2), strides, torch.float32)
        x.copy_(small[0])
        y, last = selective_scan_forward(x, *small[1:])
        torch.testing.assert_close(y, expected[0])
        torch.testing.assert_close(last, expected[1])
        with torch.no_grad():
            dy = torch.linspace(-1, 2, y.numel(), device=y.device).reshape(y.shape)
            dlast = torch.linspace(-1, 2, last.numel(), device=y.device).reshape(last.shape)
            actual = selective_scan_backward(x, *small[1:], dy, dlast)
        for a, e in zip(actual, expected[2:], strict=True):
            torch.testing.assert_close(a, e)


def test_refusals():
    given = arguments(1, 5, 2, 3, torch.float32)
    with pytest.raises(ValueError, match=r"x has dtype torch\.float64; kernels take"):
        selective_scan_forward(given[0].double(), *given[1:])
    with pytest.raises(ValueError, match=r"C has dtype torch\.float64"):
        selective_scan_forward(*given[:4], given[4].double(), *given[5:])
    wide = arguments(1, 2, 1, 65, torch.float32)
    with pytest.raises(ValueError, match="A has N=65; the kernel holds states of up to 64"):
        selective_scan_forward(*wide)


@needs_interpreter
def test_bfloat16_is_refused_in_the_interpreter():
    given = arguments(1, 5, 2, 3, torch.bfloat16)
    with pytest.raises(ValueError, match=r"x has dtype torch\.bfloat16"):
        selective_scan_forward(*given)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(2, 257, 67, 16), (1, 1000, 33, 13), (3, 64, 128, 64)], ids=str)
def test_larger_sizes(poisoned, dtype, size):
    check(arguments(*size, dtype))


@needs_gpu
def test_no_race():
    given = arguments(2, 515, 67, 16, torch.float16)
    expected = kernel_results(given)
    for _ in range(200):
        for a, e in zip(kernel_results(given), expected, strict=True):
            assert torch.equal(a, e)
