"""Reads the file of weights that the site makes for a page, whose Python has no safetensors."""

import json
from pathlib import Path

import numpy as np


def read_own_file(path: Path) -> dict[str, np.ndarray]:
    """Map the file into memory and cut it into its tensors.

    It believes all that the file says, because tools/page/models/weights.py wrote it, and its parts
    are named by their hashes. For any other file use `formats.safetensors`.

    Args:
        path: a file of safetensors whose tensors are all float16
    Returns: dict from name to a read-only array; nothing is copied
    """
    raw = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    start = 8 + int(raw[:8].view("<u8")[0])
    entries = json.loads(bytes(raw[8:start]))
    return {
        name: raw[start:][slice(*entry["data_offsets"])].view("<f2").reshape(entry["shape"])
        for name, entry in entries.items()
    }
