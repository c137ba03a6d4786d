"""SmolLM2 from the bytes of its file, for `in_numpy.listing`.

Each matrix is [d_in, d_out], to be used as x @ w. It stays in its 4-bit or 8-bit blocks where there
is a product for them (`blocks.use`); elsewhere it is float32, five times as much memory.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8

from attention_src.models.formats.gguf import GGUF, Tensor, parse_gguf
from attention_src.models.smollm2.config import FILE, Config, half_split
from attention_src.models.smollm2.in_numpy.blocks import Blocks, matrix
from attention_src.models.smollm2.in_numpy.bpe import BPE
from attention_src.shapes import check_whole

Matrix = np.ndarray | Blocks


@dataclass
class Layer:
    """One layer's weights. H heads of width d; H_kv key/value heads."""

    attention_norm: np.ndarray  # [d_model]
    q: Matrix  # [d_model, H d], in half-split rotary pairs, as k
    k: Matrix  # [d_model, H_kv d]
    v: Matrix  # [d_model, H_kv d]
    output: Matrix  # [H d, d_model]
    ffn_norm: np.ndarray  # [d_model]
    gate: Matrix  # [d_model, d_ffn]
    up: Matrix  # [d_model, d_ffn]
    down: Matrix  # [d_ffn, d_model]


@dataclass
class Model:
    """Sizes, tokenizer and weights; create it with `load`."""

    config: Config
    tokenizer: BPE
    embedding: Tensor  # of the file; the same numbers as the unembedding
    layers: list[Layer]
    final_norm: np.ndarray  # [d_model]
    unembedding: Matrix  # [d_model, n_vocabulary]

    def embed(self, ids: Any) -> Float32[np.ndarray, "n d_model"]:
        """Look up the vectors of tokens.

        Args:
            ids: [n]  token ids
        Returns: [n, d_model]
        Raises:
            ValueError: ids that are not whole numbers, or out of range
        """
        return self.embedding.rows(check_whole(ids, "ids", 0, self.config.n_vocabulary - 1))


def load(raw: UInt8[np.ndarray, "n_bytes"]) -> Model:
    """Make a model of its file.

    Args:
        raw: uint8 [n_bytes]  the file, which the model keeps and does not change
    Returns: a Model
    Raises:
        ValueError: no GGUF file, or that of another model
    Cost: with a product for blocks 0.3 s, and hardly any memory beside raw; otherwise a second or
        two, and 538 MB of float32.
    """
    file = parse_gguf(raw, Path(FILE))
    c = Config.of(file.metadata)
    embedding = _find(file, "token_embd.weight", (c.n_vocabulary, c.d_model))
    return Model(
        config=c,
        tokenizer=BPE.of(file.metadata),
        embedding=embedding,
        layers=[_layer(file, f"blk.{l}.", c) for l in range(c.n_layers)],
        final_norm=_find(file, "output_norm.weight", (c.d_model,)).dequantize(),
        unembedding=matrix(embedding.block, embedding.raw_rows),
    )


def _layer(file: GGUF, prefix: str, c: Config) -> Layer:
    d_kv = c.n_kv_heads * c.d_head

    def vector(name: str) -> np.ndarray:
        return _find(file, f"{prefix}{name}.weight", (c.d_model,)).dequantize()

    def of(name: str, d_in: int, d_out: int, n_heads: int = 0) -> Matrix:
        tensor = _find(file, f"{prefix}{name}.weight", (d_out, d_in))
        return matrix(tensor.block, half_split(tensor.raw_rows, n_heads))

    return Layer(
        attention_norm=vector("attn_norm"),
        q=of("attn_q", c.d_model, c.d_model, c.n_heads),
        k=of("attn_k", c.d_model, d_kv, c.n_kv_heads),
        v=of("attn_v", c.d_model, d_kv),
        output=of("attn_output", c.d_model, c.d_model),
        ffn_norm=vector("ffn_norm"),
        gate=of("ffn_gate", c.d_model, c.d_ffn),
        up=of("ffn_up", c.d_model, c.d_ffn),
        down=of("ffn_down", c.d_ffn, c.d_model),
    )


def _find(file: GGUF, name: str, shape: tuple[int, ...]) -> Tensor:
    tensor = file.tensors.get(name)
    if tensor is None or tensor.shape != shape:
        found = f"has shape {list(tensor.shape)}" if tensor else "is missing"
        raise ValueError(f"{file.path}: tensor {name!r} {found}; it should be {list(shape)}")
    return tensor
