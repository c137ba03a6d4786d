"""Each compiled loop against the functions of the forward pass, in float64."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from attention_src.attention.layer import attention
from attention_src.models.smollm2.operations import rms_norm
from attention_src.rope.layer import apply_rotation, cos_sin

loops = pytest.importorskip("attention_src.models.smollm2.one_token.loops", exc_type=ImportError)
HALF_STEP = 2.0**-8  # what rounding to bfloat16 changes at most, relatively
ALMOST = 1e-5  # of float32 sums, and of the exponential


def numbers(*shape, seed=0, size=1.0):
    """Random numbers that bfloat16 holds, as float32."""
    generator = torch.Generator().manual_seed(seed)
    return (size * torch.randn(*shape, generator=generator)).bfloat16().float()


def bits(x):
    return x.bfloat16().contiguous().view(torch.int16).numpy()


def value(bits):
    return torch.from_numpy(bits).view(torch.bfloat16)


def check(got, exact, size=0.0):
    """Whether got is the bfloat16 nearest to a sum of float32 numbers of this size."""
    bound = (HALF_STEP + ALMOST) * exact.abs() + ALMOST * size + 1e-37
    assert ((got.double() - exact).abs() <= bound).all()


def test_rounding_is_that_of_torch():
    """Halfway between two numbers it takes the even one."""
    halves = 1 + torch.arange(-9, 10) * 2.0**-8
    far = torch.tensor([0.0, 1e-38, 3e38, 3.4e38, torch.inf, -torch.inf])
    inputs = torch.cat([halves, -halves, torch.linspace(-3, 3, 100), far])
    one, zero, out = np.ones(1, np.float32), np.zeros(1, np.int16), np.empty(1, np.int16)
    for x in inputs:
        loops.add_norm(one, zero, x[None].numpy(), 0.0, out)  # x times 1 / sqrt(1)
        assert value(out) == x.bfloat16()
    for nan in (0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF):
        x = np.array([nan], np.uint32).view(np.float32)
        loops.add_norm(one, zero, x, 0.0, out)
        assert value(out).isnan()


def test_exponential():
    x = np.linspace(-87, 88, 1001, dtype=np.float32)
    exact = np.exp(x.astype(np.float64))
    got = np.array([loops._exp(one) for one in x])
    assert (np.abs(got - exact) <= 6e-6 * exact).all()  # x / ln(2) is rounded before its 2^k
    assert loops._exp(np.float32(0)) == 1
    assert [loops._exp(np.float32(one)) for one in (-1e9, 1e9)] == [0, np.inf]


@given(st.integers(1, 600), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 1e3]))
def test_add_and_norm(d, seed, size):
    x, y = (numbers(d, seed=seed + i, size=size) for i in (0, 1))
    weight = 1 + numbers(d, seed=seed + 2)
    exact = rms_norm(x.double() + y.double(), weight.double(), 1e-5)
    changed, out = x.numpy().copy(), np.empty(d, np.int16)
    loops.add_norm(changed, bits(y), weight.numpy(), 1e-5, out)
    np.testing.assert_array_equal(changed, (x + y).numpy())
    check(value(out), exact, size=exact.abs() + (y.abs() + x.abs()) * exact.abs().max())


@given(st.integers(1, 100), st.integers(0, 99), st.sampled_from([0.1, 1.0, 10.0]))
def test_gate(d, seed, size):
    gate, up = numbers(d, seed=seed, size=size), numbers(d, seed=seed + 1)
    out = np.empty(d, np.int16)
    loops.gate(bits(torch.cat([gate, up])), out)
    check(value(out), F.silu(gate.double()) * up.double())


def test_gate_far_from_zero():
    far = torch.tensor([-3e38, -1e5, -200.0, -89.0, -87.0, 0.0, 87.0, 89.0, 200.0, 1e5, 3e38])
    far = far.bfloat16().float()
    out = np.empty(len(far), np.int16)
    loops.gate(bits(torch.cat([far, torch.ones(len(far))])), out)
    check(value(out), F.silu(far.double()), size=1e-30)
    loops.gate(bits(torch.tensor([torch.nan] + 21 * [1.0])), out)
    assert value(out).isnan().tolist() == [True] + 10 * [False]


@given(
    st.sampled_from([(1, 1), (4, 2), (9, 3), (6, 6)]),
    st.sampled_from([2, 8, 64]),
    st.integers(0, 70),
    st.sampled_from([0.1, 1.0, 8.0]),
)
def test_attend(heads, d, n, size):
    H, H_kv = heads
    qkv = numbers(H + 2 * H_kv, d, seed=n, size=size)
    old = numbers(2, H_kv, n, d, seed=n + 1, size=size)
    cos, sin = cos_sin(torch.tensor([n]), d, dtype=torch.float64)
    q, k, v = (x[None, :, None].double() for x in qkv.split([H, H_kv, H_kv]))
    q, k = apply_rotation(q, k, cos, sin)
    k = k.bfloat16().double()  # as the cache holds it
    cached = [torch.cat([x[None].double(), y], dim=2) for x, y in zip(old, (k, v), strict=True)]
    exact = attention(q, *cached)[0, :, 0]

    room = n + 3
    keys, values = (torch.full((H_kv, room, d), torch.nan) for _ in range(2))
    keys[:, :n], values[:, :n] = old
    keys, values, out = bits(keys), bits(values), np.empty(H * d, np.int16)
    cos, sin = (x.float().numpy().ravel() for x in (cos, sin))
    loops.attend(bits(qkv.ravel()), cos, sin, keys, values, n, out)
    largest = cached[1].abs().max() * (1 + size**2)  # scores are rounded too, and multiply values
    check(value(out).view(H, d), exact, size=largest)
    check(value(keys)[:, : n + 1], cached[0][0], size=size)
    torch.testing.assert_close(value(values)[:, : n + 1].double(), cached[1][0], rtol=0, atol=0)
    assert value(keys)[:, n + 1 :].isnan().all() and value(values)[:, n + 1 :].isnan().all()


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("where", ["keys", "values"])
def test_attend_lets_nan_through(where, n):
    """To the query heads that use the key/value head, and to no other."""
    cache = {name: numbers(2, n + 1, 8, seed=i) for i, name in enumerate(("keys", "values"))}
    cache[where][1, 2] = torch.nan
    cos, sin, out = np.ones(4, np.float32), np.zeros(4, np.float32), np.empty(32, np.int16)
    qkv = bits(numbers(8 * 8))
    loops.attend(qkv, cos, sin, bits(cache["keys"]), bits(cache["values"]), n, out)
    assert value(out).view(4, 8).isnan().all(1).tolist() == [False, False, True, True]
    assert value(out).view(4, 8).isnan().any(1).tolist() == [False, False, True, True]
