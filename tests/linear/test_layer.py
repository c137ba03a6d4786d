"""The layer: the reference's numbers, gradients, decoding with a state, cost, empty input."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from attention_src.linear.layer import linear_attention
from attention_src.testing import assert_sharp
from linear.cases import (
    FORMS,
    MECHANISMS,
    NAMES,
    ONE_OF_EACH,
    PER_MECHANISM,
    exact,
    inputs,
    on_arrays,
    on_tensors,
    results,
    upstream,
)

CAUSAL = [name for name in ONE_OF_EACH if name != "bidirectional"]


def awkward(x, kind):
    """The same numbers in other strides."""
    if kind == "projected":  # [B, n, H, d] seen as [B, H, n, d]
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if kind == "every other":
        return torch.stack([x, x * torch.nan], dim=-1)[..., 0]
    if kind == "reversed axes":
        return x.permute(*reversed(range(x.ndim))).contiguous().permute(*reversed(range(x.ndim)))
    return x


@pytest.mark.parametrize("name", MECHANISMS)
@PER_MECHANISM
@given(
    n=st.integers(0, 20),
    d_k=st.integers(1, 5),
    d_v=st.integers(1, 5),
    batch=st.integers(1, 2),
    form=st.sampled_from(["parallel", "recurrent", "chunkwise"]),
    chunk=st.integers(1, 24),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.float16, torch.bfloat16]),
    kind=st.sampled_from(["as it is", "projected", "every other", "reversed axes"]),
    cut=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_form_agrees_with_the_reference(
    name, n, d_k, d_v, batch, form, chunk, dtype, kind, cut, seed
):
    """In one go, and in two with the state handed over; the numbers in any strides."""
    run, options = on_tensors(name), dict(form=form, chunk=chunk)
    arguments = [awkward(x, kind) for x in inputs(name, n, d_k, d_v, dtype, seed, batch)]
    right, end = on_arrays(name)(
        *(x.double().numpy() for x in arguments), form="recurrent", return_state=True
    )
    size = max(1, np.abs(right).max(initial=0), np.abs(end).max(initial=0))
    tolerance = 2 * torch.finfo(torch.promote_types(dtype, torch.float32)).eps * 100 * size
    rounding = torch.finfo(dtype).eps * size
    o, state = run(*arguments, return_state=True, **options)
    assert o.dtype == dtype and state.dtype == torch.promote_types(dtype, torch.float32)
    np.testing.assert_allclose(o.double(), right, rtol=0, atol=tolerance + rounding)
    np.testing.assert_allclose(state.double(), end, rtol=0, atol=tolerance)
    if name != "bidirectional":
        at = round(cut * n)
        first, second = [x[:, :, :at] for x in arguments], [x[:, :, at:] for x in arguments]
        o_1, state = run(*first, return_state=True, **options)
        o_2 = run(*second, initial_state=state, **options)
        joined = torch.cat([o_1, o_2], dim=2)
        np.testing.assert_allclose(joined.double(), right, rtol=0, atol=tolerance + rounding)


@pytest.mark.parametrize("name", MECHANISMS)
@PER_MECHANISM
@given(
    n=st.integers(1, 20),
    d_k=st.integers(1, 5),
    d_v=st.integers(1, 5),
    form=st.sampled_from(["parallel", "recurrent", "chunkwise"]),
    chunk=st.integers(1, 24),
    seed=st.integers(0, 2**32 - 1),
)
def test_gradients_of_every_form(name, n, d_k, d_v, form, chunk, seed):
    arguments = inputs(name, n, d_k, d_v, seed=seed, batch=1)
    do = upstream(arguments, seed=seed)
    right = exact(name, arguments, do)
    actual = results(lambda *x: on_tensors(name)(*x, form=form, chunk=chunk), arguments, do)
    for label, a, e in zip(NAMES, actual, right, strict=False):
        error, size = (a - e).abs().max(), max(1.0, float(e.abs().max()))
        assert error < 1e-9 * size, label


@pytest.mark.parametrize("form", ["parallel", "recurrent", "chunkwise"])
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_gradcheck(name, form):
    """By finite differences: every argument, and the state that comes in and goes out."""
    form = dict(form=form, chunk=2)
    arguments = [x.requires_grad_() for x in inputs(name, 3, 2, 1, batch=1, seed=1)]
    _, state = on_tensors(name)(*arguments, return_state=True, **form)
    state = torch.randn_like(state).abs().requires_grad_()

    def run(initial_state, *x):
        return on_tensors(name)(*x, initial_state=initial_state, return_state=True, **form)

    assert torch.autograd.gradcheck(run, (state, *arguments))


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_gradient_of_decay(form):
    q, k, v = inputs("decay", 6, 2, 3, batch=1)
    gamma = torch.tensor([0.3, 0.9, 0.99], dtype=torch.float64, requires_grad=True)
    for normalize in (True, False):
        assert torch.autograd.gradcheck(
            lambda g: linear_attention(q, k, v, decay=g, normalize=normalize, **form),  # noqa: B023
            (gamma,),
        )


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_nothing_to_do(name, form):
    for n, d_v, batch in ((0, 3, 2), (5, 0, 2), (5, 3, 0)):
        arguments = [x.requires_grad_() for x in inputs(name, n, 2, d_v, batch=batch)]
        o, state = on_tensors(name)(*arguments, return_state=True, **form)
        assert o.shape == (batch, 3, n, d_v)
        given = torch.ones_like(state)
        _, unchanged = on_tensors(name)(*arguments, initial_state=given, return_state=True, **form)
        assert n > 0 or (unchanged == 1).all()
        for x, gradient in zip(arguments, torch.autograd.grad(o.sum(), arguments), strict=True):
            assert gradient.shape == x.shape and (gradient == 0).all()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_nan_stays_visible(name):
    for at in range(2):
        for form in FORMS:
            arguments = inputs(name, 9, 3, 2)
            arguments[at][0, 1, 4] = torch.nan
            o = on_tensors(name)(*arguments, **form)
            assert o[0, 1, 4].isnan().all()
            assert o[1].isfinite().all() and o[0, 0].isfinite().all()


@pytest.mark.parametrize("name", CAUSAL)
def test_decode_equals_prefill_and_its_cost_does_not_grow(name):
    """Token by token in float32, after a prefill in chunks; each token costs the same."""
    arguments = inputs(name, 80, 5, 3, dtype=torch.float32)
    run = on_tensors(name)
    whole = run(*arguments)
    o, state = run(*(x[:, :, :70] for x in arguments), return_state=True)
    pieces, costs = [o], set()
    for t in range(70, 80):
        with Written() as written:
            o, state = run(
                *(x[:, :, t : t + 1] for x in arguments),
                form="recurrent",
                initial_state=state,
                return_state=True,
            )
        pieces.append(o)
        costs.add(written.numbers)
    assert_sharp(torch.cat(pieces, dim=2), whole.double())
    assert len(costs) == 1


class Written(TorchDispatchMode):
    """Counts the numbers that torch's operations write, which no FLOP counter does."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else [out]:
            if isinstance(x, torch.Tensor) and not function.is_view:
                self.numbers += x.numel()
        return out


def work(name, n, **options):
    """FLOP and numbers written, forward and backward."""
    arguments = [x[:1, :].requires_grad_() for x in inputs(name, n, 4, 3, torch.float32, batch=1)]
    with FlopCounterMode(display=False) as flops, Written() as written:
        o = on_tensors(name)(*arguments, **options)
        torch.autograd.grad(o.sum(), arguments)
    return np.array([flops.get_total_flops(), written.numbers])


@pytest.mark.parametrize(
    ("name", "n"),
    [("elu", 512), ("retention", 512), ("gated", 128), ("one gate", 256), ("gated delta", 256)],
)
def test_chunkwise_costs_grow_with_n_and_parallel_with_its_square(name, n):
    flops, numbers = work(name, 4 * n) / work(name, n)
    assert 3.9 < flops < 4.1 and 3.9 < numbers < 4.1
    flops, numbers = work(name, 256, form="parallel") / work(name, 64, form="parallel")
    assert flops > 7 and numbers > 7  # linear: 4, quadratic: 16


@pytest.mark.parametrize("name", CAUSAL)
def test_torch_compile_without_a_break(name, untyped):
    torch._dynamo.reset()
    arguments = inputs(name, 7, 5, 3, dtype=torch.float32)
    compiled = torch.compile(on_tensors(name), fullgraph=True, backend="eager")
    expected = on_tensors(name)(*arguments, chunk=4)
    torch.testing.assert_close(compiled(*arguments, chunk=4), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(compiled(*arguments, chunk=4), expected)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_small_weights_count_as_much_as_large_ones(form):
    """Keys of −40 have features of 4e-18; dividing by a sum as small still works."""
    q, k, v = inputs("elu", 9, 3, 2, dtype=torch.float32)
    k = -k.abs().ceil()  # whole numbers, so that k - 40 is not rounded
    expected = linear_attention(q, k, v, **form)
    torch.testing.assert_close(linear_attention(q, k - 40, v, **form), expected)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_weights_that_cancel_to_zero_give_zero(form):
    """Weights of 1 and −1 sum to 0, though the weighted values do not."""
    q, k = torch.ones(1, 1, 2, 1), torch.tensor([1.0, -1.0]).reshape(1, 1, 2, 1)
    v = torch.tensor([3.0, 5.0]).reshape(1, 1, 2, 1)
    reference = on_arrays("elu")(*(x.numpy() for x in (q, k, v)), feature_map=None, **form)
    arguments = [x.requires_grad_() for x in (q, k, v)]
    o = linear_attention(*arguments, feature_map=None, **form)
    assert o.flatten().tolist() == reference.flatten().tolist() == [3.0, 0.0]
    for gradient in torch.autograd.grad(o[:, :, 1].sum(), arguments):
        assert (gradient == 0).all()
