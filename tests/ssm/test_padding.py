"""Steps of 0, as padding has them, change nothing; nor do autocast and torch.compile."""

import numpy as np
import pytest
import torch
from kernel_support import DEVICE

from attention_src.ssm import reference
from attention_src.ssm.layer import selective_scan, ssd
from ssm.cases import scan_arguments, ssd_arguments

FORMS = [
    (selective_scan, dict(form="recurrent")),
    (selective_scan, dict(form="associative")),
    (ssd, dict(form="recurrent")),
    (ssd, dict(form="parallel")),
    (ssd, dict(form="chunkwise", chunk=4)),
]
KERNELS = [(selective_scan, dict(impl="triton")), (ssd, dict(impl="triton"))]
AXES = {selective_scan: (1, 1, None, 1, 1, None), ssd: (2, 2, None, 1, 1)}  # where n is


def arguments(function, n, dtype=torch.float64, seed=0):
    """The arguments of one row, and a state before it."""
    random = scan_arguments if function is selective_scan else ssd_arguments
    given = [torch.from_numpy(a).to(DEVICE, dtype) for a in random((1,), n, seed=seed)]
    size = (1, *given[2].shape) if function is selective_scan else (1, 3, 5, 7)
    generator = torch.Generator().manual_seed(seed)
    return given, torch.randn(size, generator=generator, dtype=torch.float64).to(DEVICE, dtype)


def take(function, given, where):
    """Some positions of each argument that has positions."""
    where = torch.as_tensor(where, device=DEVICE, dtype=torch.int64)
    pairs = zip(given, AXES[function], strict=True)
    return [a if axis is None else a.index_select(axis, where) for a, axis in pairs]


def with_gradients(function, leaves):
    outputs = function(*leaves)
    loss = sum(
        (out * torch.linspace(-1, 2, out.numel(), device=DEVICE).view_as(out)).sum()
        for out in outputs
    )
    return [*outputs, *torch.autograd.grad(loss, leaves, materialize_grads=True)]


def close(dtype):
    return dict(rtol=1e-9, atol=1e-9) if dtype == torch.float64 else dict(rtol=1e-4, atol=1e-4)


def check_zeros(function, options, dtype=torch.float64):
    """y at the kept positions, the state and all gradients, with and without the padding."""
    given, start = arguments(function, 11, dtype)
    kept = [2, 3, 4, 6, 7, 9]
    padding = [t for t in range(11) if t not in kept]
    axis = AXES[function][1]
    given[1].index_fill_(axis, torch.tensor(padding, device=DEVICE), 0)

    def padded(start, *x):
        y, h = function(*x, initial_state=start, return_state=True, **options)
        return y.index_select(-2, torch.tensor(kept, device=DEVICE)), h

    def short(start, *x):
        x = take(function, x, kept)
        return function(*x, initial_state=start, return_state=True, **options)

    leaves = [a.requires_grad_() for a in (start, *given)]
    actual, expected = with_gradients(padded, leaves), with_gradients(short, leaves)
    # A padded step still has a gradient by its dt: whether it should be there at all.
    ddt = (actual.pop(4), expected.pop(4))
    assert ddt[0].isfinite().all()
    steps = (a.index_select(axis, torch.tensor(kept, device=DEVICE)) for a in ddt)
    for a, e in zip([*actual, next(steps)], [*expected, next(steps)], strict=True):
        torch.testing.assert_close(a, e, **close(dtype))


@pytest.mark.parametrize(("function", "options"), FORMS)
def test_a_step_of_zero_leaves_the_state_as_it_is(function, options):
    check_zeros(function, options)
    # Nothing but padding: the state is exactly what came in.
    given, start = arguments(function, 5)
    given[1].zero_()
    _, h = function(*given, initial_state=start, return_state=True, **options)
    assert torch.equal(h, start)
    in_numpy = getattr(reference, function.__name__)
    arrays, before = [a.cpu().numpy() for a in given], start.cpu().numpy()
    _, h = in_numpy(*arrays, initial_state=before, return_state=True, **options)
    np.testing.assert_array_equal(h, before)


@pytest.mark.parametrize(("function", "options"), KERNELS)
def test_a_step_of_zero_in_the_kernels(function, options):
    check_zeros(function, options, torch.float32)


def test_a_step_of_zero_for_models_fixed_in_time():
    for method in ("zoh", "bilinear", "mamba"):
        A_bar, B_bar = reference.discretize(0.0, -np.ones(2), np.ones(2), method=method)
        assert (A_bar == 1).all() and (B_bar == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("function", "options"), FORMS)
def test_autocast_changes_nothing(function, options, dtype):
    """Outputs, states and gradients; backward is called outside, as the docstring asks."""
    given, start = arguments(function, 9)
    leaves = [a.to(dtype).requires_grad_() for a in given]

    def run(*x):
        return function(*x, initial_state=start.float(), return_state=True, **options)

    def inside(*x):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            return run(*x)

    for a, e in zip(with_gradients(inside, leaves), with_gradients(run, leaves), strict=True):
        assert torch.equal(a, e) and a.dtype == e.dtype


@pytest.mark.parametrize(("function", "options"), FORMS)
def test_compiles_as_one_graph(function, options, untyped):
    torch._dynamo.reset()
    given, _ = arguments(function, 6)
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    expected = function(*given, **options)
    torch.testing.assert_close(compiled(*given, **options), expected)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        torch.testing.assert_close(compiled(*given, **options), expected)
