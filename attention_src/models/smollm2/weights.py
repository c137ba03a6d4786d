"""SmolLM2's weights, in the forward pass's layout.

It differs from the file's in three ways. Each matrix is [d_in, d_out], to be used as x @ w, as in
the chapters. Projections of the same input are one matrix: q, k and v; gate and up. The columns of
q and k are ordered for half-split rotary pairs, (i, i + 32); the file has interleaved pairs,
(2 i, 2 i + 1).
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_src.models.formats.gguf import GGUF
from attention_src.models.formats.gguf import Tensor as FileTensor
from attention_src.models.smollm2.config import Config, half_split
from attention_src.models.smollm2.int4 import PackedMatrix, fits, pack

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclass
class Layer:
    """One layer's weights. H heads of width d; H_kv key/value heads."""

    attention_norm: Float[Tensor, "d_model"]
    qkv: Float[Tensor, "d_model d_qkv"] | PackedMatrix  # d_qkv = (H + 2 H_kv) d
    output: Float[Tensor, "d_heads d_model"] | PackedMatrix  # d_heads = H d
    ffn_norm: Float[Tensor, "d_model"]
    gate_up: Float[Tensor, "d_model two_d_ffn"] | PackedMatrix
    down: Float[Tensor, "d_ffn d_model"] | PackedMatrix


@dataclass
class Weights:
    """All weights. The embedding is tied to the unembedding: column t is token t's vector."""

    unembedding: Float[Tensor, "d_model n_vocabulary"] | PackedMatrix
    layers: list[Layer]
    final_norm: Float[Tensor, "d_model"]
    embedding: FileTensor | None = None  # for a packed unembedding, which gives no columns

    @property
    def packed(self) -> bool:
        """Whether every matrix is packed."""
        matrices = [w for x in self.layers for w in (x.qkv, x.output, x.gate_up, x.down)]
        return all(isinstance(w, PackedMatrix) for w in [self.unembedding, *matrices])

    @property
    def nbytes(self) -> int:
        """Bytes of all weights, without what stays in the file."""
        parts = [getattr(layer, f.name) for layer in self.layers for f in fields(layer)]
        return sum(w.nbytes for w in [self.unembedding, self.final_norm, *parts])

    def embed(self, ids: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows d_model"]:
        """Look up the vectors of tokens.

        Args:
            ids: [...]  token ids
        Returns: [..., d_model]
        """
        if isinstance(self.unembedding, PackedMatrix):
            assert self.embedding is not None
            return torch.from_numpy(self.embedding.rows(ids.numpy()))
        columns = self.unembedding.index_select(1, ids.flatten())  # [d_model, n_ids]
        return columns.T.contiguous().view(*ids.shape, -1)


def load_weights(
    file: GGUF,
    config: Config,
    dtype: torch.dtype,
    device: torch.device | str,
    *,
    packed: bool = False,
) -> Weights:
    """Dequantise a file's weights, one tensor at a time, or keep its 4-bit and 8-bit blocks.

    Args:
        file: with the tensors of a Llama model
        config: its sizes
        dtype: float32, bfloat16 or float16
        device: where to put the weights
        packed: True = keep blocks as they are, for float32 on a CPU; other tensors are dequantised
    Returns: Weights
    Raises:
        ValueError: another dtype; a device that is not available; a tensor that is missing, has
            another shape, or is not used
    Cost: 4 or 2 bytes for each of 134.5 million weights, or 102 MB packed; while loading, one
        tensor is held twice.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype}; it should be one of {DTYPES}")
    check_device(device)
    c, make = config, _Maker(file, dtype, device, packed)
    d_kv = c.n_kv_heads * c.d_head

    def layer(l: int) -> Layer:
        file.release()  # what earlier layers read
        p = f"blk.{l}."
        q, k = (f"{p}attn_q.weight", c.n_heads), (f"{p}attn_k.weight", c.n_kv_heads)
        v = (f"{p}attn_v.weight", 0)
        gate, up = ((f"{p}ffn_{x}.weight", 0) for x in ("gate", "up"))
        return Layer(
            attention_norm=make.vector(f"{p}attn_norm.weight", c.d_model),
            qkv=make.matrix([q, k, v], c.d_model, [c.d_model, d_kv, d_kv]),
            output=make.matrix([(f"{p}attn_output.weight", 0)], c.d_model, [c.d_model]),
            ffn_norm=make.vector(f"{p}ffn_norm.weight", c.d_model),
            gate_up=make.matrix([gate, up], c.d_model, [c.d_ffn, c.d_ffn]),
            down=make.matrix([(f"{p}ffn_down.weight", 0)], c.d_ffn, [c.d_model]),
        )

    weights = Weights(
        unembedding=make.matrix([("token_embd.weight", 0)], c.d_model, [c.n_vocabulary]),
        layers=[layer(l) for l in range(c.n_layers)],
        final_norm=make.vector("output_norm.weight", c.d_model),
        embedding=file.tensors["token_embd.weight"] if packed else None,
    )
    make.check_all_used()
    file.release()
    return weights


def check_device(device: Any) -> None:
    """Check that torch can use a device, and that numbers come back from it: none do from "meta".

    Args:
        device: as `torch.empty` takes it
    Raises:
        ValueError: it cannot; says why
    """
    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        why = str(error).partition("\n")[0].partition(". ")[0]  # torch goes on to list its devices
        raise ValueError(f"device is {str(device)!r}, which torch cannot use: {why}") from None


class _Maker:
    """Converts a file's tensors to torch and checks their shapes."""

    def __init__(
        self, file: GGUF, dtype: torch.dtype, device: torch.device | str, packed: bool
    ) -> None:
        self.file, self.packed = file, packed
        self.options: dict[str, Any] = dict(dtype=dtype, device=device)
        self.used: set[str] = set()

    def vector(self, name: str, n: int) -> Tensor:
        return torch.from_numpy(self._find(name, (n,)).dequantize()).to(**self.options)

    def matrix(
        self, parts: list[tuple[str, int]], d_in: int, d_outs: list[int]
    ) -> Tensor | PackedMatrix:
        """[d_in, sum of d_outs] of parts (name, number of heads to reorder, 0 = none)."""
        pairs = zip(parts, d_outs, strict=True)
        found = [(self._find(name, (d_out, d_in)), n_heads) for (name, n_heads), d_out in pairs]
        kinds = [tensor.block.name for tensor, _ in found]
        if self.packed and fits(d_in, sum(d_outs), kinds):
            rows = [half_split(tensor.raw_rows, n_heads) for tensor, n_heads in found]
            return pack(rows[0] if len(rows) == 1 else np.concatenate(rows), kinds[0])
        w = torch.empty(d_in, sum(d_outs), **self.options)
        for (tensor, n_heads), columns in zip(found, w.split(d_outs, dim=1), strict=True):
            columns.copy_(torch.from_numpy(half_split(tensor.dequantize(), n_heads)).T)
        return w

    def check_all_used(self) -> None:
        """Refuse a file with more tensors: another model, which would run and be wrong."""
        for name in self.file.tensors:
            if name not in self.used:
                raise ValueError(f"{self.file.path}: tensor {name!r} is none of SmolLM2's")

    def _find(self, name: str, shape: tuple[int, ...]) -> FileTensor:
        if name not in self.file.tensors:
            raise ValueError(f"{self.file.path}: tensor {name!r} is missing")
        tensor = self.file.tensors[name]
        self.used.add(name)
        if tensor.shape != shape:
            raise ValueError(
                f"{self.file.path}: tensor {name!r} has shape {list(tensor.shape)}; it should be "
                f"{list(shape)}"
            )
        return tensor
