"""Reads a .safetensors file with the package safetensors."""

from pathlib import Path
from typing import Any

import numpy as np

from attention_src.models.packages import require


def read_safetensors(path: str | Path) -> dict[str, np.ndarray]:
    """Read the tensors of a file.

    The package compares the header with the file: no tensor may lie outside, over another one, or
    behind a hole.

    Args:
        path: a file of 8 bytes (the header's length), the header in JSON, the tensors
    Returns: dict from name to a new array
    Raises:
        ValueError: it is no whole .safetensors file, or a tensor has a dtype that NumPy lacks
        OSError: there is no such file, or it cannot be read
        ImportError: safetensors is not installed; gives the command to install it
    Cost: memory for all tensors.
    Source: the format's description, https://github.com/huggingface/safetensors
    """
    require("safetensors")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            return {name: _tensor(file, name, path) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path}: this is no whole .safetensors file: {error}") from None


def _tensor(file: Any, name: str, path: str | Path) -> np.ndarray:
    try:
        return file.get_tensor(name)
    except (AttributeError, TypeError):  # of bfloat16, and of floats in 8 bits
        dtype = file.get_slice(name).get_dtype()
        raise ValueError(f"{path}: tensor {name!r} has dtype {dtype}, NumPy has none") from None
