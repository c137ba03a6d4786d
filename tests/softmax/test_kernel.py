"""The softmax kernels, interpreted or compiled: gates, strides, empty rows, huge tensors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_support import BACKEND, DEVICE, DTYPES, huge_tensor, needs_gpu

from attention_src.softmax import kernel, reference
from attention_src.softmax.kernel import softmax_backward, softmax_forward
from attention_src.softmax.layer import softmax
from attention_src.testing import assert_sharp, assert_within_budget, probe_mask
from attention_src.triton_support.launch import INTERPRETED

# Rows of one number, up to and beyond the longest whole row, and of several incomplete blocks.
WIDTHS = (1, 97, 128, 129, 193)
if not INTERPRETED:
    WIDTHS += (16384, 16385, 32768, 32769, 50257, 131072)


def randn(*shape, dtype=torch.float32, size=1.0, seed=0):
    x = size * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return x.to(dtype).to(DEVICE)


def numbers(x):
    return x.detach().double().cpu().numpy()


def plain(x):
    """The formula in x's own dtype, rounded after every step."""
    e = (x - x.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


def test_numpys_error_state_changes_nothing():
    with np.errstate(all="raise"):  # the interpreter computes with NumPy
        assert softmax(randn(1, 2, size=0) - 800 * torch.eye(2)[1:], impl="triton").sum() == 1


def plain_backward(p, dp):
    return p * (dp - (p * dp).sum(dim=-1, keepdim=True))


def check(actual, exact, rounded, name):
    """The gates for one result."""
    assert actual.dtype == rounded.dtype and actual.device == rounded.device
    times = 4 if actual.dtype == torch.float32 else 2
    assert_within_budget(actual, exact, rounded, name=name, times=times)
    if actual.dtype == torch.float32:
        assert_sharp(actual, exact, name=name)


def check_both(x, dp):
    """Forward and backward of the operators, against float64."""
    p = softmax_forward(x)
    exact = reference.softmax(numbers(x))
    check(p, exact, plain(x), "p")
    dx = softmax_backward(p, dp)
    exact = reference.softmax_backward(numbers(p), numbers(dp))
    check(dx, exact, plain_backward(p, dp), "dx")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_gates(poisoned, dtype, n, size):
    check_both(randn(3, n, dtype=dtype, size=size), randn(3, n, dtype=dtype, seed=1))


@pytest.mark.parametrize("shape", [(1, 7), (33, 127), (131, 5), (2, 3, 41), (7,), (2, 1, 3, 129)])
def test_any_number_of_rows_and_axes(poisoned, shape):
    check_both(randn(*shape), randn(*shape, seed=1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [61, 193])
def test_the_gradient_of_the_operator(poisoned, dtype, n):
    x, dp = randn(3, n, dtype=dtype), randn(3, n, dtype=dtype, seed=1)
    leaf = x.clone().requires_grad_()
    softmax(leaf, impl="triton").backward(dp)
    exact = reference.softmax_backward(reference.softmax(numbers(x)), numbers(dp))
    check(leaf.grad, exact, plain_backward(plain(x), dp), "dx")


@pytest.mark.parametrize("n", [37, 193])
def test_probe(n):
    visible = np.random.default_rng(n).random((5, n)) < 0.5
    visible[3] = False

    def attend(q, k, v):
        s = (q @ k.mT).masked_fill(~torch.from_numpy(visible), -torch.inf).to(DEVICE)
        return softmax_forward(s).cpu() @ v

    probe_mask(attend, visible, dtype=torch.float32)


STRIDES = {
    "transposed": lambda x: x.mT,
    "every second column": lambda x: x[..., ::2],
    "every second row": lambda x: x[..., ::2, :],
    "one row for all": lambda x: x[:1, :1].expand(x.shape),
    "axes that cannot be merged": lambda x: x.transpose(0, 1),
    "begins in the middle": lambda x: x[1:, 1:, 5:],
}


@pytest.mark.parametrize("name", STRIDES)
@pytest.mark.parametrize("n", [38, 138])
def test_strides(poisoned, name, n):
    # Two axes before the rows; the transposed rows are long enough for both kernels.
    size = (2, n, 3) if name == "transposed" else (2, 3, 2 * n if "column" in name else n)
    x, dp = (STRIDES[name](randn(*size, seed=seed)) for seed in (0, 1))
    assert not x.is_contiguous()
    check_both(x, dp)
    p = STRIDES[name](randn(*size).softmax(-1))
    exact = reference.softmax_backward(numbers(p), numbers(dp))
    check(softmax_backward(p, dp), exact, plain_backward(p, dp), "dx")


@pytest.mark.parametrize("n", [38, 138])
def test_one_score_for_all(poisoned, n):
    """A stride of 0 along the row: the weights are uniform, and a common gradient has no effect."""
    x, dp = (randn(3, 1, seed=seed).expand(3, n) for seed in (0, 1))
    p = softmax_forward(x)
    torch.testing.assert_close(p, torch.full_like(p, 1 / n))
    assert softmax_backward(p, dp).abs().max() < 1e-7


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 5), (0,)])
def test_empty(shape):
    x = torch.zeros(shape, device=DEVICE, requires_grad=True)
    p = softmax_forward(x)
    assert p.shape == shape and p.device == x.device
    p.sum().backward()
    assert x.grad.shape == shape


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's NumPy, about NaN
@pytest.mark.parametrize("n", [3, 193])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fully_masked_rows_and_nan(poisoned, dtype, n):
    x = randn(5, n, dtype=dtype)
    x[0] = -torch.inf
    x[1, n // 2] = torch.nan
    x[2, n - 1] = torch.inf
    x[3, : n - 1] = -torch.inf
    p = softmax_forward(x)
    assert not p[0].any() and p[1:3].isnan().all()
    assert not p[3, : n - 1].any() and p[3, n - 1] == 1
    assert torch.allclose(p[4].sum().float(), torch.ones((), device=DEVICE), atol=1e-2)
    # A fully masked row has gradient 0, even where dp is not finite.
    dp = randn(5, n, dtype=dtype, seed=1)
    dp[0, 0], dp[0, 1] = torch.nan, torch.inf
    dx = softmax_backward(p, dp)
    assert not dx[0].any() and dx[1:3].isnan().all() and not dx[3].any()
    assert dx[4].isfinite().all()


@pytest.mark.slow
@given(data=st.data())
def test_any_shape_strides_and_hidden_scores(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(st.lists(st.integers(1, 5), max_size=2))
    shape.append(data.draw(st.integers(1, 300)))
    size, seed = data.draw(st.sampled_from([0.01, 1.0, 100.0])), data.draw(st.integers(0, 2**20))
    x, dp = randn(*shape, dtype=dtype, size=size, seed=seed), randn(*shape, dtype=dtype, seed=1)
    if data.draw(st.booleans()):
        x = x.masked_fill(randn(*shape, seed=seed + 1) < data.draw(st.floats(-1, 2)), -torch.inf)
    step = data.draw(st.integers(1, 3))
    order = data.draw(st.permutations(range(len(shape))))
    x, dp = x[..., ::step].permute(order), dp[..., ::step].permute(order)
    p = softmax_forward(x)
    right = softmax(x, impl="torch")
    check(p, reference.softmax(numbers(x)), right, "p")
    assert ((p == 0) >= (x == -torch.inf)).all()
    # A gradient may be a small difference of large numbers, so the error is relative to those.
    p, dp, dx = numbers(p), numbers(dp), softmax_backward(p, dp)
    large = p * (np.abs(dp) + (p * np.abs(dp)).sum(-1, keepdims=True))
    error = np.abs(numbers(dx) - reference.softmax_backward(p, dp))
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    assert (error <= 2 * torch.finfo(dtype).eps * large + smallest).all()


def test_opcheck():
    x = randn(5, 3).mT.requires_grad_()
    torch.library.opcheck(softmax_forward, (x,))
    torch.library.opcheck(softmax_backward, (x.detach().softmax(-1), randn(5, 3, seed=1).mT))


def test_compiles_into_one_graph(untyped):
    def f(x):
        return 2 * softmax(x, impl="triton")

    # Interpreted, the graph is traced but not compiled: C++ code around it takes long to build.
    x, dp = randn(3, 37), randn(3, 37, seed=1)
    grads = []
    for function in (f, torch.compile(f, fullgraph=True, backend=BACKEND)):
        leaf = x.clone().requires_grad_()
        p = function(leaf)
        p.backward(dp)
        grads.append((p.detach(), leaf.grad))
    (eager, eager_dx), (compiled, compiled_dx) = grads
    assert torch.equal(eager, compiled) and torch.equal(eager_dx, compiled_dx)


@pytest.mark.parametrize("longest", [8, 16])
@pytest.mark.parametrize("far", ["rows", "columns"])
def test_offsets_beyond_31_bits(tmp_path, monkeypatch, longest, far):
    n = 12  # few numbers, because each is on a page of its own; so shorten the longest whole row
    for name in ("ROW_FORWARD", "ROW_BACKWARD", "ROW_INTERPRETED"):
        monkeypatch.setattr(kernel, name, longest)
    # Strides below 2**31: a larger one is a 64-bit number, and so is every product with it.
    n_rows, strides = (5, (2**29 + 5, 1)) if far == "rows" else (2, (1, 2**31 // (n - 1) + 1))
    x, p, dp = (huge_tensor(tmp_path, (n_rows, n), strides, torch.float16) for _ in range(3))
    for seed, view in enumerate((x, dp)):
        view.copy_(randn(n_rows, n, dtype=torch.float16, seed=seed))
    p.copy_(randn(n_rows, n).softmax(-1))
    assert torch.equal(softmax_forward(x), softmax_forward(x.clone().contiguous()))
    assert torch.equal(
        softmax_backward(p, dp), softmax_backward(p.clone().contiguous(), dp.clone().contiguous())
    )


@needs_gpu
@pytest.mark.parametrize("n", [2048, 65536])
def test_a_result_beyond_31_bits(n):
    n_rows = 2**31 // n + 3
    x = torch.zeros(n_rows, n, dtype=torch.float16, device=DEVICE)
    x[-2:] = randn(2, n, dtype=torch.float16)
    p = softmax_forward(x)
    assert torch.equal(p[-2:], softmax_forward(x[-2:]))
    assert (p[:-2] == p[0, 0]).all() and p[0, 0] == 1 / n
    x[:] = 0  # reused as the gradient by the weights
    x[-2:] = randn(2, n, dtype=torch.float16, seed=1)
    dx = softmax_backward(p, x)
    assert torch.equal(dx[-2:], softmax_backward(p[-2:], x[-2:])) and not dx[:-2].any()


@needs_gpu
@pytest.mark.parametrize("n", [61, 4096, 20000, 70000])
def test_the_same_result_200_times(n):
    x, dp = randn(301, n, dtype=torch.bfloat16), randn(301, n, dtype=torch.bfloat16, seed=1)
    p = softmax_forward(x)
    dx = softmax_backward(p, dp)
    for _ in range(200):
        assert torch.equal(softmax_forward(x), p) and torch.equal(softmax_backward(p, dp), dx)


@needs_gpu
@pytest.mark.parametrize("dtype", (*DTYPES, torch.float64), ids=str)
def test_auto_takes_the_kernel_on_a_gpu(dtype):
    x = randn(3, 41, dtype=dtype)
    expected = softmax_forward(x) if dtype != torch.float64 else softmax(x, impl="torch")
    assert torch.equal(softmax(x), expected)


def test_short_rows_share_a_program_and_long_rows_take_a_loop():
    def launch(n, capability=90):
        x = torch.empty((4096, n), device="meta")
        return kernel.forward_launch(x, x, capability=capability)

    short, whole, long = launch(64), launch(kernel.ROW_FORWARD), launch(kernel.ROW_FORWARD + 1)
    assert short.arguments["BLOCK_R"] == 64 and short.grid == (64,)
    assert whole.arguments["BLOCK_R"] == 1 and whole.grid == long.grid == (4096,)
    assert whole.arguments["BLOCK_N"] == kernel.ROW_FORWARD > long.arguments["BLOCK_N"]
    assert launch(129, capability=0).arguments["BLOCK_N"] < 129, "tests should reach the loop"


def test_refusals(untyped):
    ones = torch.ones(2, 3, device=DEVICE)
    with pytest.raises(ValueError, match=r"x has dtype torch.float64.*Choose another impl"):
        softmax(ones.double(), impl="triton")
    with pytest.raises(ValueError, match=r"dp has shape \[2, 4\] but p has shape \[2, 3\]"):
        softmax_backward(ones, torch.ones(2, 4, device=DEVICE))
    with pytest.raises(ValueError, match=r"dp is torch.float16 on .* but p is torch.float32"):
        softmax_backward(ones, ones.half())
    for f in (softmax_forward, lambda x: softmax_backward(x, x)):
        with pytest.raises(ValueError, match="is a single number"):
            f(torch.ones((), device=DEVICE))
    if INTERPRETED:
        with pytest.raises(ValueError, match=r"bfloat16.*interpreter"):
            softmax(ones.bfloat16(), impl="triton")
    else:
        with pytest.raises(ValueError, match="on cpu, but kernels run on cuda"):
            softmax(ones.cpu(), impl="triton")
