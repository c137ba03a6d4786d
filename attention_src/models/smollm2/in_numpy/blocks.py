"""Matrices from the blocks of their file."""

import numpy as np
from jaxtyping import UInt8

from attention_src.models.formats.gguf_blocks import Block


def matrix(block: Block, rows: UInt8[np.ndarray, "d_out n_bytes"]) -> np.ndarray:
    """A matrix [d_in, d_out], for x @ it.

    Args:
        block: how its numbers are stored
        rows: uint8 [d_out, bytes of d_in weights]  as the file has them
    Returns: float32 [d_in, d_out]
    """
    # Rows stay contiguous: without a library for it, NumPy is ten times slower the other way.
    return block.dequantize(rows.ravel()).reshape(len(rows), -1).T
