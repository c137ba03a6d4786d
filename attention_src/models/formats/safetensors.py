"""Reads a .safetensors file: a header in JSON, then the bytes of every tensor."""

import json
from pathlib import Path

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Map a file into memory and cut it into its tensors.

    Args:
        path: a file of 8 bytes (the header's length), the header, the tensors
    Returns: dict from name to a read-only array; nothing is copied
    Raises:
        ValueError: the file is not a whole .safetensors file, or has a dtype that is not in DTYPES
    Cost: none until a tensor is used; its pages are read then.
    Source: the format's description, https://github.com/huggingface/safetensors
    """
    raw = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    length = int(raw[:8].view("<u8")[0]) if len(raw) >= 8 else len(raw)
    if length + 8 > len(raw):
        raise ValueError(f"{path}: its header says {length} bytes, the file has only {len(raw)}")
    try:
        header = json.loads(bytes(raw[8 : 8 + length]))
    except ValueError as error:
        raise ValueError(f"{path}: its header is not JSON, so it is no safetensors file") from error
    header.pop("__metadata__", None)
    body = raw[8 + length :]
    return {name: _tensor(body, name, entry, path) for name, entry in header.items()}


def _tensor(body: np.ndarray, name: str, entry: dict, path: Path) -> np.ndarray:
    start, stop = entry["data_offsets"]
    if entry["dtype"] not in DTYPES:
        raise ValueError(f"{path}: {name} has dtype {entry['dtype']}; known: {sorted(DTYPES)}")
    if stop > len(body):
        raise ValueError(f"{path}: {name} ends at byte {stop} of {len(body)}: the file was cut off")
    return body[start:stop].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
