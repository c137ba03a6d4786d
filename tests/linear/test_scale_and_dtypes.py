"""Two things that no form may change: the factor on q, and sums in float32 under autocast."""

import numpy as np
import pytest
import torch
from kernel_support import DEVICE

from linear.cases import (
    FORMS,
    MECHANISMS,
    ONE_OF_EACH,
    definition,
    inputs,
    on_arrays,
    on_tensors,
    results,
    upstream,
)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", MECHANISMS)
def test_scale_is_a_factor_on_q(name, form):
    q, *rest = inputs(name, 13, 3, 2)
    right = definition(name, 0.3 * q, *rest).numpy()
    o = on_tensors(name)(q, *rest, scale=0.3, **form)
    np.testing.assert_allclose(o, right, rtol=1e-9, atol=1e-9)
    o = on_arrays(name)(*(x.numpy() for x in (q, *rest)), scale=0.3, **form)
    np.testing.assert_allclose(o, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in ONE_OF_EACH if name != "bidirectional"])
def test_scale_by_the_kernels(name):
    given = [x.to(DEVICE) for x in inputs(name, 19, 3, 2, torch.float32)]
    expected = on_tensors(name)(*given, scale=0.3, impl="torch")
    o = on_tensors(name)(*given, scale=0.3, impl="triton")
    torch.testing.assert_close(o, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", MECHANISMS)
def test_autocast_changes_nothing(name, dtype):
    """Outputs, states and gradients; backward is called outside, as the docstring asks."""
    arguments = inputs(name, 19, 5, 3, dtype=dtype)
    do = upstream(arguments)
    for form in FORMS:
        expected = results(lambda *x: on_tensors(name)(*x, **form), arguments, do)  # noqa: B023
        _, end = on_tensors(name)(*arguments, return_state=True, **form)

        def inside(*x, form=form):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return on_tensors(name)(*x, **form)

        for a, e in zip(results(inside, arguments, do), expected, strict=True):
            assert torch.equal(a, e) and a.dtype == dtype
        _, state = inside(*arguments, form=form | dict(return_state=True))
        assert torch.equal(state, end) and state.dtype == torch.float32


@pytest.mark.parametrize("name", ["delta", "gated delta"])
def test_a_kernel_whose_backward_is_torch_is_not_cast_even_inside(name):
    arguments = [x.to(DEVICE) for x in inputs(name, 19, 5, 3, dtype=torch.float32)]
    run = lambda *x: on_tensors(name)(*x, impl="triton")  # noqa: E731
    expected = results(run, arguments, upstream(arguments))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        actual = results(run, arguments, upstream(arguments))
    for a, e in zip(actual, expected, strict=True):
        assert torch.equal(a, e)
