"""SmolLM2's file: its name, the sizes that it gives, and the order of its rotary pairs."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from attention_src.rope.reference import half_split_order

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class Config:
    """SmolLM2's sizes, as its file gives them. SmolLM2-135M's own are in the comments."""

    n_layers: int  # 30
    d_model: int  # 576
    n_heads: int  # 9
    n_kv_heads: int  # 3
    d_head: int  # 64
    d_ffn: int  # 1536
    n_vocabulary: int  # 49152
    max_tokens: int  # 8192
    rope_base: float  # 100000
    epsilon: float  # 1e-5

    @classmethod
    def of(cls, metadata: dict[str, Any]) -> "Config":
        """Read the sizes from a GGUF file's metadata.

        Args:
            metadata: of a Llama model
        Returns: a Config
        Raises:
            ValueError: another architecture; a size that is missing or does not divide
        """
        if metadata.get("general.architecture") != "llama":
            found = metadata.get("general.architecture")
            raise ValueError(f"metadata 'general.architecture' is {found!r}; it should be 'llama'")
        d_model = _size(metadata, "embedding_length")
        n_heads = _size(metadata, "attention.head_count")
        n_kv_heads = _size(metadata, "attention.head_count_kv")
        if d_model % (2 * n_heads) or n_heads % n_kv_heads:
            raise ValueError(
                f"metadata 'llama.attention.head_count' is {n_heads}, which should divide "
                f"embedding_length={d_model} into heads of even width and be a multiple of "
                f"head_count_kv={n_kv_heads}"
            )
        return cls(
            n_layers=_size(metadata, "block_count"),
            d_model=d_model,
            n_heads=n_heads,
            n_kv_heads=n_kv_heads,
            d_head=d_model // n_heads,
            d_ffn=_size(metadata, "feed_forward_length"),
            n_vocabulary=_size(metadata, "vocab_size"),
            max_tokens=_size(metadata, "context_length"),
            rope_base=_number(metadata, "rope.freq_base"),
            epsilon=_number(metadata, "attention.layer_norm_rms_epsilon"),
        )


def half_split(rows: Shaped[np.ndarray, "d_out d_in"], n_heads: int) -> np.ndarray:
    """Reorder rows of q or k from interleaved to half-split rotary pairs, in every head.

    Args:
        rows: [n_heads * d, d_in]  a projection as GGUF stores it, or its bytes
        n_heads: number of heads in those rows; 0 = leave them as they are
    Returns: [n_heads * d, d_in]
    """
    if not n_heads:
        return rows
    heads = rows.reshape(n_heads, -1, rows.shape[1])  # [n_heads, d, d_in]
    return heads[:, half_split_order(heads.shape[1])].reshape(rows.shape)


def _size(metadata: dict[str, Any], key: str) -> int:
    value = metadata.get(f"llama.{key}")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"metadata 'llama.{key}' is {value!r}; it should be a positive whole number"
        )
    return value


def _number(metadata: dict[str, Any], key: str) -> float:
    value = metadata.get(f"llama.{key}")
    if not isinstance(value, float) or not 0 < value < math.inf:
        raise ValueError(f"metadata 'llama.{key}' is {value!r}; it should be a positive number")
    return value
