"""SmolLM2's sizes and weights come from the file to where the forward pass expects them."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from smollm2_support import gguf

from attention_src.models.formats.gguf import GGUF, Tensor
from attention_src.models.formats.gguf_blocks import BLOCKS
from attention_src.models.smollm2.weights import Config, half_split, load_weights
from attention_src.rope.reference import rotate

SIZES = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.embedding_length": 24,
    "llama.attention.head_count": 6,
    "llama.attention.head_count_kv": 2,
    "llama.feed_forward_length": 10,
    "llama.vocab_size": 7,
    "llama.context_length": 50,
    "llama.rope.freq_base": 100.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-3,
}
LAYER = {
    "attn_norm": (24,),
    "attn_q": (24, 24),
    "attn_k": (8, 24),
    "attn_v": (8, 24),
    "attn_output": (24, 24),
    "ffn_norm": (24,),
    "ffn_gate": (10, 24),
    "ffn_up": (10, 24),
    "ffn_down": (24, 10),
}
SHAPES = {"token_embd.weight": (7, 24), "output_norm.weight": (24,)}
SHAPES |= {f"blk.{l}.{name}.weight": shape for l in range(2) for name, shape in LAYER.items()}


def load(arrays, dtype=torch.float32, sizes=SIZES):
    tensors = {
        name: Tensor(name, x.shape, BLOCKS[0], np.frombuffer(x.tobytes(), np.uint8))
        for name, x in arrays.items()
    }
    return load_weights(GGUF(Path("model.gguf"), sizes, tensors), Config.of(sizes), dtype, "cpu")


def arrays(shapes=SHAPES):
    rng = np.random.default_rng(7)
    return {name: rng.standard_normal(shape).astype("<f4") for name, shape in shapes.items()}


def test_config_reads_every_size():
    assert Config.of(SIZES) == Config(
        n_layers=2,
        d_model=24,
        n_heads=6,
        n_kv_heads=2,
        d_head=4,
        d_ffn=10,
        n_vocabulary=7,
        max_tokens=50,
        rope_base=100.0,
        epsilon=1e-3,
    )
    c = Config.of(gguf().metadata)
    assert (c.n_layers, c.d_model, c.n_heads, c.n_kv_heads, c.d_head) == (30, 576, 9, 3, 64)
    assert (c.d_ffn, c.n_vocabulary, c.max_tokens) == (1536, 49152, 8192)
    assert (c.rope_base, c.epsilon) == (100_000, pytest.approx(1e-5))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("general.architecture", "qwen2", "is 'qwen2'; it should be 'llama'"),
        ("llama.block_count", None, "is None; it should be a positive whole number"),
        ("llama.vocab_size", 0, "is 0; it should be a positive whole number"),
        ("llama.vocab_size", True, "is True; it should be a positive whole number"),
        ("llama.rope.freq_base", -1.0, "is -1.0; it should be a positive number"),
        ("llama.rope.freq_base", None, "is None; it should be a positive number"),
        ("llama.attention.head_count", 5, "is 5, which should divide embedding_length=24"),
        ("llama.attention.head_count", 8, "is 8, .*into heads of even width"),
        ("llama.attention.head_count_kv", 4, "head_count' is 6, .*multiple of head_count_kv=4"),
    ],
)
def test_sizes_that_do_not_fit(key, value, message):
    with pytest.raises(ValueError, match=message):
        Config.of(SIZES | {key: value})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_are_where_the_forward_pass_expects_them(dtype):
    w = arrays()
    got = load(w, dtype)

    def same(tensor, array):
        assert tensor.dtype == dtype
        expected = torch.from_numpy(np.ascontiguousarray(array)).to(dtype)
        torch.testing.assert_close(tensor, expected, rtol=0, atol=0)

    same(got.unembedding, w["token_embd.weight"].T)
    same(got.final_norm, w["output_norm.weight"])
    assert len(got.layers) == 2
    for l, layer in enumerate(got.layers):
        parts = "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"
        q, k, v, o, gate, up, down = (w[f"blk.{l}.{part}.weight"] for part in parts)
        order = [0, 2, 1, 3]  # of a head's rows: the even ones, then the odd ones
        same(layer.attention_norm, w[f"blk.{l}.attn_norm.weight"])
        same(layer.ffn_norm, w[f"blk.{l}.ffn_norm.weight"])
        same(layer.qkv[:, :24], q.reshape(6, 4, 24)[:, order].reshape(24, 24).T)
        same(layer.qkv[:, 24:32], k.reshape(2, 4, 24)[:, order].reshape(8, 24).T)
        same(layer.qkv[:, 32:], v.T)
        same(layer.output, o.T)
        same(layer.gate_up[:, :10], gate.T)
        same(layer.gate_up[:, 10:], up.T)
        same(layer.down, down.T)
    ids = torch.tensor([[6, 0, 3], [3, 3, 1]])
    same(got.embed(ids), w["token_embd.weight"][ids.numpy()])
    assert got.nbytes == sum(x.size for x in w.values()) * dtype.itemsize


def test_half_split_keeps_every_score():
    """Pairs (2 i, 2 i + 1) before, pairs (i, i + d/2) after: q k^T of each head is the same."""
    rng = np.random.default_rng(3)
    n_heads, d, n = 3, 8, 5
    w_q, w_k = rng.standard_normal((2, n_heads * d, 11))
    x, positions = rng.standard_normal((n, 11)), np.array([0, 1, 5, 9, 40])

    def scores(w_q, w_k, interleaved):
        q, k = ((x @ w.T).reshape(n, n_heads, d).swapaxes(0, 1) for w in (w_q, w_k))
        q, k = (rotate(y, positions, interleaved=interleaved) for y in (q, k))
        return q @ k.swapaxes(1, 2)

    before = scores(w_q, w_k, interleaved=True)
    after = scores(half_split(w_q, n_heads), half_split(w_k, n_heads), interleaved=False)
    np.testing.assert_allclose(after, before, atol=1e-12)


@pytest.mark.parametrize("name", ["token_embd.weight", "blk.1.ffn_down.weight"])
def test_tensors_that_are_missing_or_of_another_shape(name):
    right = SHAPES[name]
    tensors = arrays()
    del tensors[name]
    with pytest.raises(ValueError, match=rf"model\.gguf: tensor '{re.escape(name)}' is missing"):
        load(tensors)
    pattern = f"tensor '{name}' has shape {list(right[::-1])}; it should be {list(right)}"
    with pytest.raises(ValueError, match=re.escape(pattern)):
        load(arrays(SHAPES | {name: right[::-1]}))


@pytest.mark.parametrize("name", ["output.weight", "rope_freqs.weight"])
def test_a_tensor_that_the_model_would_not_use(name):
    """A model with an unembedding of its own must not silently run with the tied one."""
    with pytest.raises(ValueError, match=rf"tensor '{re.escape(name)}' is none of SmolLM2's"):
        load(arrays(SHAPES | {name: (24,)}))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int8])
def test_another_dtype(dtype):
    with pytest.raises(ValueError, match=rf"dtype is {dtype}; it should be one of"):
        load(arrays(), dtype)


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", "cuda", "meta", "xla", "hpu", ""])
def test_a_device_that_is_not_there(device):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("it is there")
    with pytest.raises(ValueError, match=f"device is '{device}', which torch cannot use"):
        load_weights(GGUF(Path("x"), SIZES, {}), Config.of(SIZES), torch.float32, device)
