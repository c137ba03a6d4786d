"""One token by compiled loops: each loop, the whole pass, when it is taken, and without numba."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from smollm2_support import model, perplexity, text_ids, weights_file

from attention_src.attention.layer import attention
from attention_src.models.smollm2 import SmolLM2, int4
from attention_src.models.smollm2 import model as smollm2_model
from attention_src.models.smollm2.compiled import token
from attention_src.models.smollm2.parts import rms_norm
from attention_src.models.smollm2.trace import Probe
from attention_src.rope.layer import apply_rotation, cos_sin

loops = pytest.importorskip("attention_src.models.smollm2.compiled.loops")
HALF_STEP = 2.0**-8  # what rounding to bfloat16 changes at most, relatively
ALMOST = 1e-5  # of float32 sums, and of the exponential


@pytest.fixture(scope="module")
def packed():
    """SmolLM2 with the file's blocks."""
    weights_file()
    reason = int4.obstacle()
    if reason is not None:
        pytest.skip(reason)
    return SmolLM2.load(weights="int4")


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


# Each loop, against the functions of the forward pass in float64.


def test_rounding_is_that_of_torch():
    """Halfway between two numbers it takes the even one."""
    halves = 1 + torch.arange(-9, 10) * 2.0**-8
    numbers = torch.cat([halves, -halves, torch.randn(100), torch.tensor([1e-38, 3e38])])
    one, zero, out = np.ones(1, np.float32), np.zeros(1, np.int16), np.empty(1, np.int16)
    for x in numbers:
        loops.add_norm(one, zero, x[None].numpy(), 0.0, out)  # x times 1 / sqrt(1)
        assert value(out) == x.bfloat16()


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


# The whole pass.


@torch.inference_mode()
def token_by_token(lm, ids, n, **options):
    """Logits [len(ids) - n, n_vocabulary] of the tokens after the first n, and the caches."""
    caches = lm.new_caches()
    lm.logits(ids[:n], caches=caches)
    rows = [lm.logits(one, caches=caches, **options) for one in ids[n:].split(1)]
    return torch.cat(rows), caches


def test_it_equals_the_forward_pass(packed):
    """But for rounding: bfloat16 rounds other numbers there. The storage doubles on the way."""
    ids = text_ids(60)
    got, caches = token_by_token(packed, ids, 20)
    expected, held = token_by_token(packed, ids, 20, impl="sdpa")
    assert got.dtype == torch.float32 and got.shape == expected.shape
    assert (got - expected).norm() < 0.02 * expected.norm()
    assert (got.argmax(-1) == expected.argmax(-1)).float().mean() > 0.9
    for x, y in zip(caches, held, strict=True):
        assert len(x) == len(y) == 60 and x.layout == y.layout
        for a, b in zip(x.read(), y.read(), strict=True):
            assert (a.float() - b.float()).norm() < 0.02 * b.float().norm()


def test_it_is_nearly_the_float_model(packed):
    ids = text_ids(180)
    logits, _ = token_by_token(packed, ids, 20)
    exact = model().logits(ids)[20:]
    assert perplexity(logits, ids[20:]) == pytest.approx(perplexity(exact, ids[20:]), rel=0.01)


def test_it_follows_positions(packed):
    """A token far from those before it expects something else, as in the forward pass."""
    ids = text_ids(9)
    far = dict(positions=torch.tensor([300]))
    near, _ = token_by_token(packed, ids, 8)
    got, _ = token_by_token(packed, ids, 8, **far)
    expected, _ = token_by_token(packed, ids, 8, **far, impl="sdpa")
    assert (got - expected).norm() < 0.05 * expected.norm() < (near - expected).norm()


def test_two_threads_do_not_disturb_each_other(packed):
    texts = [text_ids(40), text_ids(40, "bread")]
    alone = [token_by_token(packed, ids, 8)[0] for ids in texts]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda ids: token_by_token(packed, ids, 8)[0], texts))
    assert all(torch.equal(a, b) for a, b in zip(alone, both, strict=True))


# When it is taken.


@pytest.fixture
def compiled(monkeypatch):
    """The calls of the compiled pass."""
    calls, run = [], smollm2_model.next_token_logits

    def record(*arguments):
        calls.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(smollm2_model, "next_token_logits", record)
    return calls


def test_every_new_token_of_a_text_takes_it(packed, compiled):
    packed.generate("The capital of France is", 5, stop=None)
    assert len(compiled) == 4  # the first comes with the prompt


@pytest.mark.parametrize(
    "options",
    [
        dict(mask=torch.ones(1, 9, dtype=torch.bool)),
        dict(probe=Probe()),
        dict(impl="dense"),
        dict(cache="paged"),
        dict(cache="int8"),
        dict(cache=None),
        dict(n=2),
        dict(n=8),  # with empty caches
        dict(batch=2),
    ],
    ids=lambda options: " ".join(options),
)
def test_others_take_the_forward_pass(packed, compiled, options):
    ids, options = text_ids(9).repeat(options.pop("batch", 1), 1), dict(options)
    cache, n = options.pop("cache", "contiguous"), options.pop("n", 1)
    caches = packed.new_caches(cache, batch=len(ids)) if cache else None
    if n < 8 and cache:
        packed.logits(ids[:, : 9 - n], caches=caches)
    packed.logits(ids[:, 9 - n :], caches=caches, last=True, **options)
    assert not compiled


def test_floats_take_the_forward_pass(compiled):
    ids = text_ids(4)
    caches = model().new_caches()
    for part in ids.split([3, 1]):
        model().logits(part, caches=caches, last=True)
    assert not compiled


@pytest.mark.parametrize(
    ("shape", "message"), [((1, 2, 3, 64), "H_kv=3, not 2"), ((2, 3, 3, 64), "B=1, but .* B=2")]
)
def test_a_cache_of_another_shape_is_refused_as_before(packed, compiled, shape, message):
    caches = packed.new_caches()
    for cache in caches:
        cache.append(*torch.zeros(2, *shape, dtype=torch.bfloat16))
    with pytest.raises(ValueError, match=message):
        packed.logits(text_ids(1), caches=caches)
    assert not compiled and len(caches[0]) == 3


# Without numba.


@pytest.fixture
def anew():
    """Loops are looked for again, now and afterwards."""
    token.compiled_loops.cache_clear()
    yield
    token.compiled_loops.cache_clear()


def test_without_numba_the_forward_pass_is_taken(packed, compiled, anew, monkeypatch):
    monkeypatch.setattr(token, "has_numba", lambda: False)
    monkeypatch.setattr(smollm2_model, "load_weights", lambda *_, packed: model().weights)
    with pytest.warns(UserWarning, match="numba is not installed, and each new token then takes"):
        SmolLM2.load(weights="int4")
    logits, _ = token_by_token(packed, text_ids(6), 5)
    assert not compiled and logits.isfinite().all()


@pytest.mark.filterwarnings("error")
def test_loading_floats_says_nothing_of_numba(monkeypatch):
    monkeypatch.setattr(token, "has_numba", lambda: False)
    monkeypatch.setattr(smollm2_model, "load_weights", lambda *_, packed: model().weights)
    assert SmolLM2.load().stored == "float32"


def test_a_numba_that_cannot_be_used_is_told_once(packed, compiled, anew, monkeypatch):
    monkeypatch.setitem(sys.modules, "attention_src.models.smollm2.compiled.loops", None)
    monkeypatch.delattr(sys.modules["attention_src.models.smollm2.compiled"], "loops")
    with pytest.warns(UserWarning, match="numba cannot be used, and each new token") as said:
        token_by_token(packed, text_ids(7), 5)
    assert not compiled and len(said) == 1
