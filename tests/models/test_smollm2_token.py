"""One token by compiled loops: the whole pass, when it is taken, and without numba."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from smollm2_support import model, packed_model, perplexity, text_ids

from attention_src.models.smollm2 import SmolLM2, int4
from attention_src.models.smollm2 import model as smollm2_model
from attention_src.models.smollm2.one_token import token
from attention_src.models.smollm2.sampling import greedy
from attention_src.models.smollm2.trace import Probe
from attention_src.rope.scaling import PositionInterpolation

pytest.importorskip("attention_src.models.smollm2.one_token.loops", exc_type=ImportError)
numba = pytest.importorskip("numba")


@pytest.fixture(scope="module")
def packed():
    """SmolLM2 with the file's blocks."""
    return packed_model()


# The whole pass.


@torch.inference_mode()
def token_by_token(lm, ids, n, **options):
    """Logits [len(ids) - n, n_vocabulary] of the tokens after the first n, and the caches."""
    caches = lm.new_caches()
    lm.logits(ids[:n], caches=caches)
    rows = [lm.logits(one, caches=caches, **options) for one in ids[n:].split(1)]
    return torch.cat(rows), caches


@pytest.mark.slow
def test_it_equals_the_forward_pass(packed):
    """But for rounding: bfloat16 rounds other numbers there. The storage doubles on the way."""
    ids = text_ids(60)
    got, caches = token_by_token(packed, ids, 20)
    expected, held = token_by_token(packed, ids, 20, impl="sdpa")
    assert got.dtype == torch.float32 and got.shape == expected.shape
    assert (got - expected).norm() < 0.02 * expected.norm()
    first, second = expected.topk(2).values.T
    clear = first - second > 1  # closer ones change places by rounding, on some processors
    assert clear.sum() > 10
    assert torch.equal(got.argmax(-1)[clear], expected.argmax(-1)[clear])
    for x, y in zip(caches, held, strict=True):
        assert len(x) == len(y) == 60 and x.layout == y.layout
        for a, b in zip(x.read(), y.read(), strict=True):
            assert (a.float() - b.float()).norm() < 0.02 * b.float().norm()


@pytest.mark.slow
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


@pytest.mark.slow
def test_two_threads_do_not_disturb_each_other(packed):
    texts = [text_ids(40), text_ids(40, "bread")]
    alone = [token_by_token(packed, ids, 8)[0] for ids in texts]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda ids: token_by_token(packed, ids, 8)[0], texts))
    assert all(torch.equal(a, b) for a, b in zip(alone, both, strict=True))


def test_an_interrupted_pass_is_refused(packed, monkeypatch):
    """In whichever layer: a row that was not written is not counted."""
    attend, calls = token.compiled_loops().attend, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) % 30 == 0:
            raise KeyboardInterrupt
        attend(*arguments)

    caches, ids = packed.new_caches(), text_ids(5)
    packed.logits(ids[:4], caches=caches)
    monkeypatch.setattr(token.compiled_loops(), "attend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        packed.logits(ids[4:], caches=caches)
    assert [len(cache) for cache in caches] == 29 * [5] + [4]
    with pytest.raises(ValueError, match="caches have seen 4 tokens in one layer and 5 in another"):
        packed.logits(ids[4:], caches=caches)


def test_another_default_device_changes_nothing(packed):
    ids = text_ids(9)
    with torch.device("meta"):
        got, _ = token_by_token(packed, ids, 7)
        chosen = greedy(got)
        matrix = int4.pack(np.zeros((16, 20), np.uint8), "Q4_1")
    assert torch.equal(got, token_by_token(packed, ids, 7)[0])
    assert torch.equal(chosen, got.argmax(-1)) and matrix.codes.device.type == "cpu"


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
        dict(empty=True),
        dict(scaling=PositionInterpolation(2)),
        dict(batch=2),
    ],
    ids=lambda options: " ".join(options),
)
def test_others_take_the_forward_pass(packed, compiled, options):
    options = dict(options)  # pytest's own stays as it is
    ids, empty = text_ids(9).repeat(options.pop("batch", 1), 1), options.pop("empty", False)
    cache, n = options.pop("cache", "contiguous"), options.pop("n", 1)
    caches = packed.new_caches(cache, batch=len(ids)) if cache else None
    if cache and not empty:
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
def anew(monkeypatch):
    """Loops are imported again, now and afterwards."""
    token._import_loops.cache_clear()
    monkeypatch.delitem(sys.modules, f"{token.__package__}.loops")
    monkeypatch.delattr(sys.modules[token.__package__], "loops")
    yield
    token._import_loops.cache_clear()


@pytest.mark.slow
def test_without_numba_the_forward_pass_is_taken(packed, compiled, anew, monkeypatch):
    monkeypatch.setattr(token, "has_numba", lambda: False)
    monkeypatch.setattr(smollm2_model, "load_weights", lambda *_, packed: model().weights)
    with pytest.warns(UserWarning, match="numba is not installed, and each new token then takes"):
        SmolLM2.load(weights="int4")
    logits, _ = token_by_token(packed, text_ids(6), 5)
    assert not compiled and logits.isfinite().all()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_loading_floats_says_nothing_of_numba(monkeypatch):
    monkeypatch.setattr(token, "has_numba", lambda: False)
    monkeypatch.setattr(smollm2_model, "load_weights", lambda *_, packed: model().weights)
    assert SmolLM2.load().stored == "float32"


@pytest.mark.parametrize("error", [ImportError, RuntimeError, TypeError, OSError])
def test_a_numba_that_cannot_be_used_is_told_once(error, packed, compiled, anew, monkeypatch):
    def broken(*_, **__):
        raise error("no room")

    monkeypatch.setattr(numba, "njit", broken)
    message = "numba cannot be used, and each new token .*: no room"
    with pytest.warns(UserWarning, match=message) as said:
        token_by_token(packed, text_ids(7), 5)
    assert not compiled and len(said) == 1


def test_a_numba_that_does_not_compile_is_not_used(anew, monkeypatch):
    """Python itself would take seconds for a token."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    with pytest.warns(UserWarning, match="numba cannot be used, .*: NUMBA_DISABLE_JIT is set"):
        assert token.compiled_loops() is None


def test_a_numba_installed_later_is_found(anew, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(token, "has_numba", lambda: False)
        assert token.compiled_loops() is None
    assert token.compiled_loops() is not None


@pytest.mark.slow
def test_a_replaced_matrix_is_multiplied_by(packed, compiled, monkeypatch):
    """By the forward pass, whichever it is and though the others stay packed."""
    ids, layer = text_ids(3), packed.weights.layers[7]
    right = packed.logits(ids)
    for name in ("qkv", "output", "gate_up", "down"):
        old = getattr(layer, name)
        dense = old.multiply(torch.eye(old.d_in)).float()
        with monkeypatch.context() as patched:
            patched.setattr(layer, name, dense)
            logits, _ = token_by_token(packed, ids, 2)
        assert (logits - right[2:]).norm() < 0.05 * right[2:].norm()
    assert not compiled
    token_by_token(packed, ids, 2)
    assert len(compiled) == 1
