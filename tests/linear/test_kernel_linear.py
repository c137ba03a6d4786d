"""The kernels by the three gates, forward and all gradients.

Exact is the recurrence in float64; plain is the same in the inputs' own dtype.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_support import DEVICE, DTYPES, needs_gpu

from attention_src.linear.kernel import chunkwise_forward, delta_forward
from attention_src.linear.layer import (
    delta_rule,
    gated_delta_rule,
    gated_linear_attention,
    linear_attention,
)
from attention_src.testing import assert_sharp, assert_within_budget
from linear.cases import PER_MECHANISM

KINDS = ("one gate", "channels", "delta")
# The interpreter's kernels are not compiled, and C++ around them takes seconds.


def arguments(kind, size, dtype, seed=0):
    """The operator's arguments: q, k, v, (beta,) log gates in float32, the first state."""
    batch, heads, n, d_k, d_v = size
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q, k, v = (normal(batch, heads, n, d) for d in (d_k, d_k, d_v))
    last_axis = {"one gate": (1,), "channels": (d_k,), "delta": ()}[kind]
    gates = -(2 * normal(batch, heads, n, *last_axis)).exp() / 4  # from mild to nearly total
    more = [gates]
    if kind == "delta":
        k = k / k.norm(dim=-1, keepdim=True)
        more = [2 * normal(batch, heads, n).sigmoid(), gates]
    start = normal(batch, heads, d_k, d_v)
    narrow = [x.to(dtype) for x in (q, k, v)]
    return [x.to(DEVICE) for x in (*narrow, *(x.float() for x in (*more, start)))]


def token_by_token(kind, q, k, v, *more):
    """The recurrence as its equation reads, in the dtype of q; o and the last state."""
    *more, S = more
    gates, outputs = more[-1].exp(), []
    if kind == "delta":
        gates = gates[..., None]
    for t in range(q.shape[2]):
        S = gates[:, :, t, :, None] * S
        value = v[:, :, t]
        if kind == "delta":
            held = (k[:, :, t, :, None] * S).sum(dim=-2)
            value = more[0][:, :, t, None] * (value - held)
        S = S + k[:, :, t, :, None] * value[:, :, None]
        outputs.append((q[:, :, t, :, None] * S).sum(dim=-2))
    return torch.stack(outputs, dim=2) if outputs else v * q.sum(dim=-1, keepdim=True), S


def operator(kind):
    return delta_forward if kind == "delta" else chunkwise_forward


def with_gradients(function, leaves, dtype):
    """o, the last state, and all gradients of a loss with its own weight for every output."""
    outputs = function(*leaves)
    loss = 0.0
    for out in outputs:
        weights = torch.linspace(-1, 2, out.numel(), device=out.device).reshape(out.shape)
        loss = loss + (weights.to(dtype).to(out.dtype) * out).sum()
    gradients = torch.autograd.grad(loss, leaves, materialize_grads=True)
    return [*(out.detach() for out in outputs), *gradients]


def check(kind, given):
    dtype = given[0].dtype

    def as_leaves(wanted):
        moved = [x.detach().to("cpu", wanted) for x in given]
        return [x.requires_grad_() for x in moved]

    exact = with_gradients(lambda *x: token_by_token(kind, *x), as_leaves(torch.float64), dtype)
    # Views, so that strides are kept.
    leaves = [x.detach().requires_grad_() for x in given]
    actual = with_gradients(operator(kind), leaves, dtype)
    names = ("o", "last", "dq", "dk", "dv", *(["dbeta"] if kind == "delta" else []))
    names += ("dlog_gates", "dstart")
    if dtype == torch.float32:
        # A gate's gradient is a sum of differences q dq - k dk: as sharp as what is subtracted.
        terms = float((given[0].cpu().double() * exact[2]).abs().sum())
        for name, a, e in zip(names, actual, exact, strict=True):
            size = max(1e-300, float(e.abs().max())) if e.numel() else 1.0
            rtol = 1e-5 * max(1.0, terms / size) if name == "dlog_gates" else 1e-5
            smallest = torch.finfo(torch.float32).tiny  # strong gates underflow float32
            assert_sharp(a, e, rtol=max(rtol, smallest / size), name=name)
        return
    plain = with_gradients(lambda *x: token_by_token(kind, *x), as_leaves(dtype), dtype)
    for name, a, e, p in zip(names, actual, exact, plain, strict=True):
        # States and their gradients are float32 sums of rounded terms. With few numbers plain may
        # by chance be nearly exact, so its error counts as at least two units in the last place.
        by_chance = 2 * torch.finfo(dtype).eps * max([1.0, *e.abs().flatten().tolist()])
        assert_within_budget(a.to(dtype), e, e + (p.double() - e).abs() + by_chance, name=name)


# B, H, n, d_k, d_v: one position, and above one and two chunks of 16 (32 with a gate for each
# channel), each with a width above a block of 16.
SIZES = [(1, 1, 1, 1, 1), (2, 1, 17, 17, 3), (1, 1, 33, 4, 18)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_gates(poisoned, kind, size, dtype):
    check(kind, arguments(kind, size, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@PER_MECHANISM
@given(
    size=st.tuples(
        st.just(1), st.integers(1, 2), st.integers(0, 18), st.integers(1, 4), st.integers(1, 4)
    ),
    dtype=st.sampled_from(DTYPES),
    view=st.sampled_from(["plain", "heads behind", "gaps", "shared"]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_any_shape_and_stride(kind, size, dtype, view, seed):
    check(kind, in_layout(view, arguments(kind, size, dtype, seed)))


def in_layout(view, given):
    """The same numbers in another layout of memory."""
    q, k, v, *more, start = given
    if view == "heads behind":  # as projections leave them: [B, n, H, d]
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    elif view == "gaps":  # NaN between the numbers
        q, v, *more = (torch.stack([x, x * torch.nan], dim=-1)[..., 0] for x in (q, v, *more))
    elif view == "shared":
        k = k[:, :1].expand_as(k)
    return [q, k, v, *more, start]


@pytest.mark.parametrize("kind", ["one gate", "channels"])
def test_probe(kind):
    # With v = identity the output is the weights: exact zeros for later positions.
    n = 35
    q, k, _, gates, _ = arguments(kind, (1, 1, n, 3, 1), torch.float32)
    v, start = torch.eye(n, device=DEVICE)[None, None], torch.zeros(1, 1, 3, n, device=DEVICE)
    w, _ = chunkwise_forward(q.abs() + 0.1, k.abs() + 0.1, v, 0.1 * gates.clamp(min=-4), start)
    assert (w.triu(1) == 0).all()
    assert (w[0, 0].tril() > 0).sum() == n * (n + 1) // 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_gate_of_minus_infinity_forgets_all(kind):
    given = arguments(kind, (1, 2, 20, 4, 3), torch.float32)
    given[-2][:, :, 7] = -torch.inf
    o, last = operator(kind)(*given)
    assert o.isfinite().all() and last.isfinite().all()
    # Nothing before that position matters.
    later = [x[:, :, 7:] for x in given[:-1]]
    expected, expected_last = operator(kind)(*later, torch.zeros_like(given[-1]))
    torch.testing.assert_close(o[:, :, 7:], expected)
    torch.testing.assert_close(last, expected_last)


@pytest.mark.parametrize("kind", ["one gate", "delta"])
def test_a_strong_gate_costs_its_neighbours_no_digits(kind):
    # Added to numbers as low as these, in float32, the log of a mild gate would lose its last.
    given = arguments(kind, (1, 1, 16, 3, 2), torch.float32)
    given[-2][:, :, ::4] = -1e5
    check(kind, given)


def test_keys_that_are_all_alike():
    # The triangular system of the delta rule at its worst: every overlap is 1.
    q, _, v, _, gates, start = arguments("delta", (1, 1, 33, 4, 3), torch.float32)
    k = torch.zeros_like(q)
    k[..., 0] = 1
    given = [q, k, v, torch.ones_like(gates), torch.zeros_like(gates), start]
    check("delta", given)


def test_layers_use_them():
    q, k, v, beta, gates, start = arguments("delta", (2, 1, 19, 5, 4), torch.float32)
    channels = gates[..., None].expand_as(k)
    for function, tensors, options in (
        (linear_attention, (q, k, v), dict(normalize=False)),
        (linear_attention, (q, k, v), dict(decay=0.9)),
        (gated_linear_attention, (q, k, v, channels), dict(initial_state=start)),
        (delta_rule, (q, k, v, beta), dict(initial_state=start)),
        (gated_delta_rule, (q, k, v, beta, gates), dict(initial_state=start)),
    ):
        options = options | dict(return_state=True)
        expected = function(*tensors, **options, impl="torch")
        for a, e in zip(function(*tensors, **options, impl="triton"), expected, strict=True):
            torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-5)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(2, 3, 257, 64, 64), (1, 2, 130, 128, 96), (1, 1, 65, 80, 33)])
@pytest.mark.parametrize("kind", KINDS)
def test_larger_sizes(poisoned, kind, size, dtype):
    q, k, v, *more, start = arguments(kind, size, dtype)
    k = k / size[3] ** 0.5 if kind != "delta" else k
    check(kind, [q, k, v, *more, start])
