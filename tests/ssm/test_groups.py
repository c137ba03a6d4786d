"""Groups, the skip connection and the output gate of SSD, in NumPy, in torch and by the kernels.

The oracle computes each head alone, weight by weight, in float64.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_support import DEVICE

from attention_src.ssm import reference
from attention_src.ssm.layer import ssd
from ssm.cases import ssd_arguments

FORMS = ("recurrent", "parallel", "chunkwise")
CLOSE = dict(rtol=1e-9, atol=1e-9)


def arguments(batch, n, G, H, P, N, seed=0):
    """x, dt, A, B, C with G groups (None = no such axis), D and z, as float64 tensors."""
    rng = np.random.default_rng(seed + 1)
    x, dt, A, B, C = ssd_arguments(batch, n, H, P, N, seed)
    if G is not None:
        B, C = rng.standard_normal((2, *batch, G, n, N))
    arrays = (x, dt, A, B, C, rng.standard_normal(H), 3 * rng.standard_normal(x.shape))
    return [torch.from_numpy(a) for a in arrays]


def definition(x, dt, A, B, C, D, z):
    """y_t = Σ_s (C_t·B_s) exp(A Σ_{r=s+1..t} dt_r) dt_s x_s + D x_t, then the gate."""
    H, heads = x.shape[-3], []
    for h in range(H):
        b, c = (m if m.ndim < x.ndim else m.select(-3, h * m.shape[-3] // H) for m in (B, C))
        steps, inputs = dt[..., h, :], x.select(-3, h)
        until = steps.cumsum(dim=-1)
        decay = (A[h] * (until[..., :, None] - until[..., None, :])).tril().exp()
        w = (decay * (c @ b.mT) * steps[..., None, :]).tril()
        heads.append(w @ inputs + D[h] * inputs)
    return torch.stack(heads, dim=-3) * z / (1 + (-z).exp())


def results(function, given, **options):
    """y and all gradients of a loss with its own weight for each number."""
    leaves = [a.detach().requires_grad_() for a in given]
    *rest, z = leaves
    y = function(*rest, z=z, **options)
    weights = torch.linspace(-1, 2, y.numel(), device=y.device).reshape(y.shape)
    return [y, *torch.autograd.grad((weights * y).sum(), leaves)]


@given(
    n=st.integers(1, 13),
    G=st.sampled_from([None, 1, 2, 3]),
    per_group=st.integers(1, 3),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    batch=st.sampled_from([(), (2,), (2, 1)]),
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 99),
)
def test_each_head_alone(n, G, per_group, sizes, batch, form, seed):
    tensors = arguments(batch, n, G, (G or 1) * per_group, *sizes, seed)
    expected = results(definition, tensors)
    *arrays, z = (a.numpy() for a in tensors)
    y = reference.ssd(*arrays, z=z, form=form, chunk=5)
    np.testing.assert_allclose(y, expected[0].detach(), **CLOSE)
    for a, e in zip(results(ssd, tensors, form=form, chunk=5), expected, strict=True):
        torch.testing.assert_close(a, e, **CLOSE)


@pytest.mark.parametrize("G", [None, 2])
def test_by_the_kernels(G):
    given = [a.float().to(DEVICE) for a in arguments((1,), 7, G, 4, 5, 3)]
    expected = results(definition, given)
    for a, e in zip(results(ssd, given, impl="triton"), expected, strict=True):
        torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-4 * float(e.detach().abs().max()))


def test_the_state_goes_on_with_groups():
    *tensors, z = arguments((2,), 13, 2, 6, 5, 3)
    x, dt, A, B, C, D = tensors
    whole, last = ssd(*tensors, z=z, return_state=True)
    cuts = [[a[..., part, :] for a in (x, B, C, z)] for part in (slice(8), slice(8, None))]
    steps, h, parts = dt.split([8, 5], dim=-1), None, []
    for (x, B, C, z), dt in zip(cuts, steps, strict=True):
        y, h = ssd(x, dt, A, B, C, D, z=z, initial_state=h, return_state=True, chunk=3)
        parts.append(y)
    torch.testing.assert_close(torch.cat(parts, dim=-2), whole, **CLOSE)
    torch.testing.assert_close(h, last, **CLOSE)
    *arrays, z = (a.numpy() for a in (*tensors, z))
    _, theirs = reference.ssd(*arrays, return_state=True)
    np.testing.assert_allclose(last, theirs, **CLOSE)


def test_the_number_of_axes_decides():
    # Three heads, no batch: [3, 13, 7] is a group for each head, [13, 7] one for all.
    x, dt, A, B, C, _, _ = arguments((), 13, 3, 3, 5, 7)
    alone = [ssd(x[h : h + 1], dt[h : h + 1], A[h : h + 1], B[h], C[h]) for h in range(3)]
    torch.testing.assert_close(ssd(x, dt, A, B, C), torch.cat(alone), **CLOSE)
    shared = ssd(x, dt, A, B[0], C[0])
    torch.testing.assert_close(ssd(x, dt, A, B[:1], C[:1]), shared, **CLOSE)


def test_a_strong_gate_neither_overflows_nor_warns():
    *tensors, z = arguments((), 3, None, 1, 2, 2)
    for value, factor in ((-1e4, 0.0), (1e4, 1e4)):
        *arrays, gate = (a.numpy() for a in (*tensors, torch.full_like(z, value)))
        with np.errstate(all="raise", under="ignore"):
            y = reference.ssd(*arrays, z=gate)
        np.testing.assert_allclose(y, factor * reference.ssd(*arrays), rtol=1e-12)
        y = ssd(*tensors, z=torch.full_like(z, value))
        torch.testing.assert_close(y, factor * ssd(*tensors))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(B=np.ones((4, 5, 3))), r"B has G=4 groups, .* H=6 heads"),
        (dict(B=np.ones((0, 5, 3))), "B has G=0 groups"),
        (dict(C=np.ones((5, 3))), r"C has shape \[5, 3\]; it should be \[..., G, n, N\]"),
        (dict(D=np.ones((6, 1))), r"D has shape \[6, 1\]; it should be \[H\] = \[6\]"),
        (dict(z=np.ones((5, 2))), r"z has shape \[5, 2\]; it should be \[..., H, n, P\]"),
    ],
)
def test_refusals(untyped, change, message):
    names = ("x", "dt", "A", "B", "C", "D", "z")
    given = dict(zip(names, arguments((), 5, 2, 6, 2, 3), strict=True))
    arrays = {name: a.numpy() for name, a in given.items()}
    with pytest.raises(ValueError, match=message):
        reference.ssd(**(arrays | change))
    with pytest.raises(ValueError, match=message):
        ssd(**(given | {name: torch.from_numpy(a) for name, a in change.items()}))
