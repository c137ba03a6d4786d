"""Weights in 4 bits: the product, what it refuses, when it is not taken, and the whole model."""

import warnings

import numpy as np
import pytest
import torch
from smollm2_support import agreement, gguf, model, packed_model, perplexity, text_ids

from attention_src.models.smollm2 import SmolLM2, int4
from attention_src.models.smollm2 import model as smollm2_model
from attention_src.models.smollm2.operations import project

pytestmark = pytest.mark.slow

ROUNDING = 2.0**-8  # of bfloat16


@pytest.fixture(scope="module")
def packed():
    """SmolLM2 with the file's blocks."""
    return packed_model()


def blocks(kind, d_out, d_in, seed=0):
    """Random bytes of a matrix; its numbers and what they are summed from, float64 [d_out, d_in].

    By the format's definition, number after number: w = scale code + minimum.
    """
    rng = np.random.default_rng(seed)
    shape = d_out, d_in // 32
    scale = rng.uniform(-0.1, 0.1, shape).astype("<f2")
    if kind == "Q8_0":
        codes = rng.integers(-128, 128, (*shape, 32)).astype(np.int8)
        raw = np.concatenate([scale[..., None].view(np.uint8), codes.view(np.uint8)], axis=-1)
        w = scale[..., None].astype(np.float64) * codes
        size = np.abs(w)
    else:
        minimum = rng.uniform(-1, 1, shape).astype("<f2")
        codes = rng.integers(0, 16, (*shape, 32)).astype(np.uint8)
        halves = codes[..., :16] | codes[..., 16:] << 4
        head = np.stack([scale, minimum], axis=-1).view(np.uint8)
        raw = np.concatenate([head, halves], axis=-1)
        scale, minimum = (x[..., None].astype(np.float64) for x in (scale, minimum))
        w = scale * codes + minimum
        size = np.abs(w) + 16 * np.abs(scale) + np.abs(minimum)
    return raw.reshape(d_out, -1), w.reshape(d_out, d_in), size.reshape(d_out, d_in)


@pytest.mark.parametrize("kind", int4.KINDS)
@pytest.mark.parametrize(("d_out", "d_in"), [(16, 32), (112, 96), (4096 + 48, 32), (64, 352)])
def test_product_is_that_by_the_dequantised_matrix(kind, d_out, d_in):
    raw, w, size = blocks(kind, d_out, d_in)
    matrix = int4.pack(raw, kind)
    assert matrix.shape == (d_in, d_out)
    generator = torch.Generator().manual_seed(1)
    for rows in ((), (1,), (1, 1), (3,), (2, 5)):
        x = torch.randn(*rows, d_in, generator=generator).bfloat16().float()
        y = project(x, matrix)
        assert y.dtype == torch.bfloat16 and y.shape == (*rows, d_out)
        exact = x.double().numpy() @ w.T
        bound = ROUNDING * (np.abs(x.numpy()) @ size.T + np.abs(exact))
        assert (np.abs(y.double().numpy() - exact) <= bound).all()
        torch.testing.assert_close(project(x.bfloat16(), matrix), y, rtol=0, atol=0)


def test_a_matrix_takes_5_bits_a_weight():
    raw, _, _ = blocks("Q4_1", 64, 320)
    assert int4.pack(raw, "Q4_1").nbytes == raw.nbytes


@pytest.mark.parametrize(
    ("shape", "kind", "message"),
    [
        ((17, 40), "Q4_1", r"rows has shape \[17, 40\]; .*multiple of 16"),
        ((16, 34), "Q4_1", r"rows has shape \[16, 34\]; .*n_bytes of 20"),
        ((16, 20), "Q8_0", r"rows has shape \[16, 20\]; .*n_bytes of 34"),
        ((0, 20), "Q4_1", r"rows has shape \[0, 20\]"),
        ((16, 20), "Q4_0", "kind is 'Q4_0'; it should be one of 'Q4_1', 'Q8_0'"),
    ],
)
def test_blocks_that_do_not_fit(shape, kind, message):
    with pytest.raises(ValueError, match=message):
        int4.pack(np.zeros(shape, np.uint8), kind)


def test_what_is_packed():
    assert int4.fits(576, 960, ["Q4_1"] * 3) and int4.fits(576, 49152, ["Q8_0"])
    assert not int4.fits(576, 960, ["Q4_1", "Q8_0"]) and not int4.fits(576, 960, ["F16"])
    assert not int4.fits(24, 960, ["Q4_1"]) and not int4.fits(576, 24, ["Q4_1"])


def test_inputs_that_do_not_fit():
    matrix = int4.pack(blocks("Q4_1", 16, 32)[0], "Q4_1")
    with pytest.raises(ValueError, match=r"x has shape \[2, 16\]; it should be \[..., 32\]"):
        matrix.multiply(torch.ones(2, 16))
    x = torch.ones(1, 32, requires_grad=True)
    with pytest.raises(ValueError, match=r"x requires a gradient, but the product .* has none"):
        matrix.multiply(x)
    with torch.no_grad():
        assert matrix.multiply(x).shape == (1, 16)


# Whether to take it.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(weights="int8"), "weights is 'int8'; it should be one of 'float', 'int4', 'auto'"),
        (dict(dtype=torch.bfloat16), "weights is 'int4', but dtype is torch.bfloat16"),
        (dict(device="cuda"), "weights is 'int4', but .*device is 'cuda', .* 'float' or 'auto'"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        SmolLM2.load(**dict(weights="int4") | options)


def test_without_the_product_int4_is_refused_and_auto_takes_floats(monkeypatch):
    ours, asked = model().weights, []
    monkeypatch.delattr(torch, "_weight_int4pack_mm_for_cpu")
    monkeypatch.setattr(
        smollm2_model, "load_weights", lambda *_, packed: asked.append(packed) or ours
    )
    with pytest.raises(ValueError, match=r"weights is 'int4', but torch .* has no 4-bit product"):
        SmolLM2.load(weights="int4")
    with pytest.warns(UserWarning, match=r"taking 'float', because torch .* has no 4-bit product"):
        loaded = SmolLM2.load(weights="auto")
    assert asked == [False] and loaded.stored == "float32" and "weights=float32" in repr(loaded)


def test_auto_takes_floats_where_blocks_cannot_be():
    with pytest.warns(UserWarning, match="taking 'float', because dtype is torch.bfloat16"):
        assert not int4.keeps_blocks("auto", torch.bfloat16, "cpu")


@pytest.mark.parametrize(("took_ms", "fast"), [(0.1, True), (5.7, False)])
def test_a_slow_product_is_taken_if_asked_for_and_never_by_auto(took_ms, fast, monkeypatch):
    times_ms = {"4 bits": took_ms, "float32": 0.2}
    threads, timed_on = torch.get_num_threads(), []

    def fastest_ms(ways, repeats, clock):
        timed_on.append((torch.get_num_threads(), clock))
        return times_ms

    monkeypatch.setattr(int4, "fastest_ms", fastest_ms)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert int4.keeps_blocks("int4", torch.float32, "cpu")
        assert int4.keeps_blocks("auto", torch.float32, "cpu") is fast
        assert not int4.keeps_blocks("float", torch.float32, "cpu")
    assert timed_on == 2 * [(1, "processor")] and torch.get_num_threads() == threads
    assert [("takes 5.7 ms" in str(w.message)) for w in said] == [True, True] * (not fast)
    assert fast or "taking 'float'" in str(said[1].message)


# The model.


def test_it_keeps_the_blocks_and_says_so(packed):
    assert packed.stored == "int4" and packed.dtype == torch.float32
    held = sum(t.raw.nbytes for t in gguf().tensors.values())
    assert held <= packed.weights.nbytes < 1.2 * held
    assert repr(packed) == f"SmolLM2(weights=int4, {packed.weights.nbytes / 1e6:.0f} MB, cpu)"
    assert model().stored == "float32"


def test_it_is_nearly_the_float_model(packed):
    ids = text_ids(257)
    exact, logits = model().logits(ids), packed.logits(ids)
    assert logits.dtype == torch.float32
    assert perplexity(logits, ids) == pytest.approx(perplexity(exact, ids), rel=0.01)
    assert agreement(logits, exact) > 0.95
    torch.testing.assert_close(packed.weights.embed(ids), model().weights.embed(ids))


def test_it_generates(packed):
    prompt = "The capital of France is"
    assert packed.generate(prompt, 12) == model().generate(prompt, 12)
    both = packed.generate([prompt, "Water boils at"], 3)
    assert both[0].startswith(" Paris")


@pytest.mark.parametrize("cache", ["contiguous", "paged", "windowed(64, 4)", "int8"])
def test_a_cache_changes_little(packed, cache):
    ids = text_ids(41)
    caches = packed.new_caches(cache, max_tokens=41)
    parts = [packed.logits(part, caches=caches) for part in (ids[:37], *ids[37:].split(1))]
    whole = packed.logits(ids)
    assert (torch.cat(parts) - whole).norm() < 0.05 * whole.norm()
