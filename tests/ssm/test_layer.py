"""Scan and SSD on tensors: the gates, forward and gradients, against the reference."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.ssm import reference
from attention_src.ssm.layer import selective_scan, ssd
from attention_src.testing import assert_sharp, assert_within_budget
from ssm.cases import scan_arguments, ssd_arguments

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def tensors(arguments, dtype):
    return [torch.from_numpy(np.ascontiguousarray(a)).to(dtype) for a in arguments]


def as_given(arguments):
    """The layer's inputs in float64."""
    return [a.double().numpy() for a in arguments]


def plain_scan(x, dt, A, B, C, D):
    """The recurrence in x's own dtype, rounded after every step."""
    h = x.new_zeros(*x.shape[:-2], *A.shape)
    y = torch.zeros_like(x)
    for t in range(x.shape[-2]):
        step = dt[..., t, :, None]
        h = (step * A).exp() * h + step * B[..., t, None, :] * x[..., t, :, None]
        y[..., t, :] = (h * C[..., t, None, :]).sum(dim=-1) + D * x[..., t, :]
    return y


def plain_ssd(x, dt, A, B, C):
    """The same for ssd."""
    h = x.new_zeros(*x.shape[:-2], x.shape[-1], B.shape[-1])
    y = torch.zeros_like(x)
    for t in range(x.shape[-2]):
        decay = (dt[..., t] * A).exp()[..., None, None]
        write = (dt[..., t, None] * x[..., t, :])[..., None] * B[..., None, t, None, :]
        h = decay * h + write
        y[..., t, :] = (h * C[..., None, t, None, :]).sum(dim=-1)
    return y


@pytest.mark.parametrize("form", ["recurrent", "associative"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "size", [((2,), 13, 3, 5), ((), 1, 1, 1), ((2, 1), 64, 2, 16), ((1,), 0, 3, 2)]
)
def test_scan_gates(form, dtype, size):
    arguments = tensors(scan_arguments(*size), dtype)
    exact = reference.selective_scan(*as_given(arguments))
    y = selective_scan(*arguments, form=form)
    assert y.dtype == dtype
    assert_within_budget(y, exact, plain_scan(*arguments), name="y")
    if dtype == torch.float32:
        assert_sharp(y, exact, name="y")


@pytest.mark.parametrize("form", ["recurrent", "parallel", "chunkwise"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "size", [((2,), 13, 3, 5, 7), ((), 1, 1, 1, 1), ((2,), 65, 2, 8, 16), ((1,), 0, 2, 3, 2)]
)
def test_ssd_gates(form, dtype, size):
    arguments = tensors(ssd_arguments(*size), dtype)
    exact = reference.ssd(*as_given(arguments))
    y = ssd(*arguments, form=form, chunk=16)
    assert y.dtype == dtype
    assert_within_budget(y, exact, plain_ssd(*arguments), name="y")
    if dtype == torch.float32:
        assert_sharp(y, exact, name="y")


def test_probe_of_ssd():
    # With x = identity and B = C = 1 the output is L dt: what each token keeps of each earlier one.
    n = 11
    _, dt, A, _, _ = tensors(ssd_arguments((), n, 1), torch.float64)
    x, ones = torch.eye(n, dtype=torch.float64)[None], torch.ones(n, 1, dtype=torch.float64)
    for form in ("recurrent", "parallel", "chunkwise"):
        w = ssd(x, dt, A, ones, ones, form=form, chunk=4)[0]
        assert (w.triu(1) == 0).all()
        sums = torch.tensor(
            [[dt[0, s + 1 : t + 1].sum() for s in range(n)] for t in range(n)], dtype=torch.float64
        )
        torch.testing.assert_close(w, ((A * sums).exp() * dt[0]).tril())


def results(function, arguments, layout, **options):
    """y, the last state, and all gradients of a loss of both."""
    leaves = [a.requires_grad_() for a in tensors(arguments, torch.float64)]
    given = leaves
    if layout == "gaps":  # NaN between the numbers
        given = [torch.stack([a, (a * torch.nan).detach()], dim=-1)[..., 0] for a in leaves]
    elif layout == "transposed":
        given = [a.mT.contiguous().mT if a.ndim > 1 else a for a in leaves]
    y, h = function(*given, return_state=True, **options)
    weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)
    loss = (weights * y).sum() + h.sin().sum()
    return [y, h, *torch.autograd.grad(loss, leaves, materialize_grads=True)]


LAYOUTS = st.sampled_from(["plain", "gaps", "transposed"])


@given(
    n=st.integers(0, 21),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)),
    chunk=st.integers(1, 24),
    form=st.sampled_from(["parallel", "chunkwise"]),
    seed=st.integers(0, 99),
    layout=LAYOUTS,
)
def test_ssd_and_all_gradients_equal_the_recurrence(n, sizes, chunk, form, seed, layout):
    arguments = ssd_arguments((2,), n, *sizes, seed)
    actual = results(ssd, arguments, layout, form=form, chunk=chunk)
    exact = results(ssd, arguments, "plain", form="recurrent")
    for a, e in zip(actual, exact, strict=True):
        torch.testing.assert_close(a, e, rtol=1e-9, atol=1e-9)


@given(
    n=st.integers(0, 21),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 99),
    layout=LAYOUTS,
)
def test_associative_scan_and_all_gradients_equal_the_recurrence(n, sizes, seed, layout):
    arguments = scan_arguments((2,), n, *sizes, seed)
    actual = results(selective_scan, arguments, layout, form="associative")
    exact = results(selective_scan, arguments, "plain", form="recurrent")
    for a, e in zip(actual, exact, strict=True):
        torch.testing.assert_close(a, e, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (selective_scan, "recurrent"),
        (selective_scan, "associative"),
        (ssd, "recurrent"),
        (ssd, "parallel"),
        (ssd, "chunkwise"),
    ],
)
def test_gradcheck(function, form):
    """By finite differences: every argument, and the state that comes in and goes out."""
    options = dict(form=form, return_state=True) | (dict(chunk=2) if form == "chunkwise" else {})
    scan = function is selective_scan
    arguments = scan_arguments((), 3, 2, 2) if scan else ssd_arguments((), 3, 2, 1, 2)
    leaves = [a.requires_grad_() for a in tensors(arguments, torch.float64)]
    size = (2, 2) if scan else (2, 1, 2)
    start = torch.randn(size, dtype=torch.float64, generator=torch.manual_seed(0))
    assert torch.autograd.gradcheck(
        lambda *a: function(*a[:-1], initial_state=a[-1], **options),
        (*leaves, start.requires_grad_()),
    )


def test_the_state_equals_the_reference():
    arguments = scan_arguments()
    _, expected = reference.selective_scan(*arguments, return_state=True)
    for form in ("recurrent", "associative"):
        _, h = selective_scan(*tensors(arguments, torch.float64), form=form, return_state=True)
        np.testing.assert_allclose(h, expected, rtol=1e-12)
    arguments = ssd_arguments()
    _, expected = reference.ssd(*arguments, return_state=True)
    _, h = ssd(*tensors(arguments, torch.float64), chunk=5, return_state=True)
    np.testing.assert_allclose(h, expected, rtol=1e-11)


def test_sharp_over_many_tokens_with_strong_decay():
    # Long sums of log decays, whose differences float32 would lose.
    x, dt, A, B, C = ssd_arguments((1,), 512, 2, 4, 4)
    arguments = tensors((x, dt, 20 * A, B, C), torch.float32)
    for form in ("parallel", "chunkwise"):
        y = ssd(*arguments, form=form, chunk=128)
        assert_sharp(y, reference.ssd(*as_given(arguments), form="recurrent"), name="y")


def test_wide_parameters_beside_narrow_inputs():
    x, dt, A, B, C, D = tensors(scan_arguments(), torch.float32)
    y = selective_scan(x.bfloat16(), dt, A, B, C, D)
    assert y.dtype == torch.bfloat16
    expected = selective_scan(x.bfloat16().float(), dt, A, B, C, D)
    torch.testing.assert_close(y.float(), expected, rtol=2**-8, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(x=np.ones((13, 3))), "x is a ndarray; it should be a torch tensor"),
        (dict(dt=torch.ones(2, 13, 3, dtype=torch.int64)), "dt has dtype torch.int64"),
        (dict(dt=-torch.ones(2, 13, 3)), "dt holds a negative number"),
        (dict(A=torch.ones(3)), "A has shape"),
        (dict(B=torch.ones(2, 13, 4)), r"B has shape \[2, 13, 4\]; it should be"),
        (dict(D=torch.ones(4)), r"D has shape \[4\]; it should be \[d\] = \[3\]"),
        (
            dict(C=torch.ones(2, 13, 5, device="meta")),
            "C is torch.float32 on meta but x is torch.float.. on cpu",
        ),
        (dict(form="parallel"), "form is 'parallel'; it should be one of 'recurrent'"),
        (dict(initial_state=torch.ones(2, 5, 3)), "initial_state has shape"),
        (
            dict(initial_state=torch.ones(2, 3, 5).double()),
            "initial_state is torch.float64; it should be torch.float32.*numbers would be rounded",
        ),
        (dict(impl="cuda"), "impl is 'cuda'; it should be one of 'auto'"),
        (dict(impl="triton", form="recurrent"), "form is 'recurrent'; impl=\"triton\" has"),
    ],
)
def test_bad_scan_arguments(untyped, change, message):
    names = ("x", "dt", "A", "B", "C", "D")
    arguments = dict(zip(names, tensors(scan_arguments(), torch.float32), strict=True))
    with pytest.raises(ValueError, match=message):
        selective_scan(**(arguments | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(x=torch.ones(13, 5)), "x has shape"),
        (dict(A=torch.ones(2)), r"A has shape \[2\]; it should be \[H\] = \[3\]"),
        (dict(dt=torch.full((2, 3, 13), -1e-9)), "dt holds a negative number"),
        (dict(chunk=1.5), "chunk is 1.5; it should be a whole number"),
        (dict(form="associative"), "form is 'associative'"),
        (dict(form="parallel", impl="triton"), "form is 'parallel'; impl=\"triton\" has"),
        (dict(impl="cuda"), "impl is 'cuda'"),
        (dict(initial_state=torch.ones(2, 3, 7, 5)), "initial_state has shape"),
    ],
)
def test_bad_ssd_arguments(untyped, change, message):
    names = ("x", "dt", "A", "B", "C")
    arguments = dict(zip(names, tensors(ssd_arguments(), torch.float32), strict=True))
    with pytest.raises(ValueError, match=message):
        ssd(**(arguments | change))
