"""Softmax on tensors: equal to the reference, forward and backward, in every dtype."""

import numpy as np
import pytest
import torch

from attention_src.softmax import reference
from attention_src.softmax.layer import softmax
from attention_src.testing import assert_sharp, assert_within_budget

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def plain(x):
    """The formula in x's own dtype, rounded after every step."""
    e = (x - x.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("n_k", [1, 127, 1031])
def test_budget_and_sharp(dtype, size, n_k):
    x = (size * torch.randn(5, n_k, generator=torch.Generator().manual_seed(n_k))).to(dtype)
    exact = reference.softmax(x.double().numpy())
    p = softmax(x)
    assert p.dtype == dtype
    if dtype != torch.float64:  # the reference is no more exact than that
        assert_within_budget(p, exact, plain(x), name="p")
    if dtype in (torch.float32, torch.float64):
        assert_sharp(p, exact, name="p")


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients(dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 97, generator=generator).to(dtype)
    dp = torch.randn(5, 97, generator=generator).to(dtype)
    p = reference.softmax(x.double().numpy())
    exact = reference.softmax_backward(p, dp.double().numpy())
    grads = []
    for function in (softmax, plain):
        leaf = x.clone().requires_grad_()
        function(leaf).backward(dp)
        grads.append(leaf.grad)
    if dtype != torch.float64:
        assert_within_budget(grads[0], exact, grads[1], name="dx")
    if dtype in (torch.float32, torch.float64):
        assert_sharp(grads[0], exact, name="dx")


def test_gradcheck():
    x = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[1] = -torch.inf  # a fully masked row
    x[2, 3] = -torch.inf
    dp = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    leaf = x.clone().requires_grad_()
    softmax(leaf).backward(dp)
    exact = reference.softmax_backward(reference.softmax(x.numpy()), dp.numpy())
    np.testing.assert_allclose(leaf.grad.numpy(), exact, atol=1e-15)
    assert torch.autograd.gradcheck(softmax, x[:1].clone().requires_grad_())


def test_fully_masked_rows_and_nan():
    x = torch.tensor([[-torch.inf, -torch.inf], [torch.nan, 0], [0, 0]], requires_grad=True)
    p = softmax(x)
    assert p[0].tolist() == [0, 0] and p[1].isnan().all() and p[2].tolist() == [0.5, 0.5]
    p[[0, 2]].sum().backward()
    assert x.grad[[0, 2]].tolist() == [[0, 0], [0, 0]]


def test_empty_and_strided():
    assert softmax(torch.zeros(3, 0)).shape == (3, 0)
    assert softmax(torch.zeros(0, 3)).shape == (0, 3)
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(softmax(x.T), softmax(x.T.contiguous()))


def test_bad_input(untyped):
    with pytest.raises(ValueError, match=r"impl is 'fused'.* one of 'auto', 'torch', 'triton'"):
        softmax(torch.ones(2), impl="fused")
    with pytest.raises(ValueError, match=r"x has dtype torch.int64; it should be floating point"):
        softmax(torch.ones(2, dtype=torch.int64))
    with pytest.raises(ValueError, match="x is a ndarray; it should be a torch tensor"):
        softmax(np.ones(2))
    with pytest.raises(ValueError, match="x is a single number"):
        softmax(torch.tensor(1.0))
