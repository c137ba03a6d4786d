"""How GGUF stores numbers: plain, or in blocks of 32 that share a scale and perhaps a minimum."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, UInt8


@dataclass(frozen=True)
class Block:
    """One way to store numbers.

    name: GGUF's
    n_numbers: numbers per block
    n_bytes: bytes per block
    dequantize: from uint8 [n_blocks * n_bytes] to float32 [n_blocks * n_numbers]
    """

    name: str
    n_numbers: int
    n_bytes: int
    dequantize: Callable[[np.ndarray], np.ndarray]


def from_f32(raw: UInt8[np.ndarray, "n_bytes"]) -> Float32[np.ndarray, "n"]:
    """float32, unchanged.

    Args:
        raw: uint8 [n_bytes]  the tensor's bytes, whole blocks
    Returns: float32 [n]
    """
    return np.frombuffer(raw, dtype="<f4").astype(np.float32)


def from_f16(raw: UInt8[np.ndarray, "n_bytes"]) -> Float32[np.ndarray, "n"]:
    """float16 without blocks.

    Args:
        raw: uint8 [n_bytes]  the tensor's bytes, whole blocks
    Returns: float32 [n]
    """
    return np.frombuffer(raw, dtype="<f2").astype(np.float32)


def from_q8_0(raw: UInt8[np.ndarray, "n_bytes"]) -> Float32[np.ndarray, "n"]:
    """8.5 bits a number: a float16 scale, then 32 codes of 8 bits.

        x = scale * code,  code = -128 ... 127

    Args:
        raw: uint8 [n_bytes]  the tensor's bytes, whole blocks
    Returns: float32 [n]
    """
    blocks = raw.reshape(-1, 34)
    scale = _halves(blocks[:, :2])  # [n_blocks, 1]
    codes = blocks[:, 2:].view(np.int8)  # [n_blocks, 32]
    return (scale * codes).ravel()


def from_q4_1(raw: UInt8[np.ndarray, "n_bytes"]) -> Float32[np.ndarray, "n"]:
    """5 bits a number: a float16 scale and minimum, then 32 codes of 4 bits.

        x = scale * code + minimum,  code = 0 ... 15

    The low halves of the 16 bytes are the block's first 16 numbers, the high halves its last 16.

    Args:
        raw: uint8 [n_bytes]  the tensor's bytes, whole blocks
    Returns: float32 [n]
    """
    blocks = raw.reshape(-1, 20)
    scale, minimum = (_halves(blocks[:, i : i + 2]) for i in (0, 2))  # [n_blocks, 1]
    packed = blocks[:, 4:]  # [n_blocks, 16]
    x = np.empty((len(blocks), 32), dtype=np.float32)
    x[:, :16], x[:, 16:] = packed & 15, packed >> 4
    x *= scale
    x += minimum
    return x.ravel()


def _halves(raw: np.ndarray) -> np.ndarray:
    """[n_blocks, 2] bytes as float32 [n_blocks, 1]; float16 fits into float32 exactly."""
    return np.ascontiguousarray(raw).view("<f2").astype(np.float32)


# By GGUF's type code.
BLOCKS = {
    0: Block("F32", 1, 4, from_f32),
    1: Block("F16", 1, 2, from_f16),
    3: Block("Q4_1", 32, 20, from_q4_1),
    8: Block("Q8_0", 32, 34, from_q8_0),
}
