"""Packed rows against one call for each sequence: outputs, states and all gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_support import DEVICE

from attention_src.linear.layer import linear_attention
from linear.cases import MECHANISMS, ONE_OF_EACH, PER_MECHANISM, inputs, on_tensors

CLOSE = dict(rtol=1e-9, atol=1e-10)


def cumulated(lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def one_by_one(run, start, lengths, rows):
    """The definition: each sequence alone, from its own state."""
    pieces = zip(*(x.split(lengths, dim=2) for x in rows), strict=True)
    done = [run(*x, initial_state=s[None]) for x, s in zip(pieces, start, strict=True)]
    outputs, states = zip(*done, strict=True)
    return torch.cat(outputs, dim=2), torch.cat(states)


def with_gradients(function, leaves):
    """o, the states, and the gradients of a loss with its own weight for each number of both."""
    outputs = function(*leaves)
    loss = sum((out * torch.linspace(-1, 2, out.numel()).view_as(out)).sum() for out in outputs)
    return [*outputs, *torch.autograd.grad(loss, leaves, materialize_grads=True)]


def check(name, lengths, form, seed=0, dtype=torch.float64, close=CLOSE):
    rows = inputs(name, sum(lengths), 3, 2, dtype, seed, batch=1)
    options = dict(return_state=True) | form
    _, state = on_tensors(name)(*rows, return_state=True)
    generator = torch.Generator().manual_seed(seed)
    start = torch.rand(len(lengths), *state.shape[1:], generator=generator, dtype=dtype)
    leaves = [x.to(DEVICE).requires_grad_() for x in (start, *rows)]

    def packed(start, *x):
        given = dict(initial_state=start, cu_seqlens=cumulated(lengths))
        return on_tensors(name)(*x, **given, **options)

    def alone(start, *x):
        run = lambda *x, **state: on_tensors(name)(*x, **state, **options)  # noqa: E731
        return one_by_one(run, start, lengths, x)

    actual, expected = with_gradients(packed, leaves), with_gradients(alone, leaves)
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, **close)


@pytest.mark.parametrize("name", MECHANISMS)
@settings(PER_MECHANISM, max_examples=8)
@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    form=st.sampled_from(["parallel", "recurrent", "chunkwise"]),
    chunk=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_each_sequence_is_as_if_alone(name, lengths, form, chunk, seed):
    check(name, lengths, dict(form=form, chunk=chunk), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decay", "gated", "delta"])  # one for each way to a kernel
def test_by_the_kernels(name):
    close = dict(rtol=1e-4, atol=1e-4)
    check(name, [3, 0, 6], dict(impl="triton"), dtype=torch.float32, close=close)


def test_gradient_of_decay():
    q, k, v = inputs("decay", 6, 2, 3, batch=1)
    gamma = torch.tensor([0.3, 0.9, 0.99], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda g: linear_attention(
            q, k, v, decay=g, cu_seqlens=cumulated([4, 2]), return_state=True, chunk=3
        ),
        (gamma,),
    )


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_nan_stays_in_its_sequence(name):
    rows = inputs(name, 9, 3, 2, batch=1)
    rows[1][:, :, 5] = torch.nan
    o = on_tensors(name)(*rows, cu_seqlens=cumulated([4, 3, 2]))
    assert o[:, :, [0, 1, 2, 3, 7, 8]].isfinite().all() and o[:, :, 5].isnan().all()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_no_sequences_at_all(name):
    rows = inputs(name, 0, 3, 2, batch=1)
    o, state = on_tensors(name)(*rows, cu_seqlens=cumulated([]), return_state=True)
    assert o.shape == (1, 3, 0, 2) and state.shape[:2] == (0, 3)
