"""Reads a GGUF file: a header, metadata, a list of tensors, and then their bytes.

file = read_gguf(path)
file.metadata["llama.block_count"]  # 30
file.tensors["blk.0.attn_q.weight"].dequantize()  # float32 [576, 576]
"""

import math
import mmap
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, UInt8

from attention_src.models.formats.gguf_blocks import BLOCKS, Block

# By hand, since a page's Python has no package gguf. That also takes 3.6 s for SmolLM2's metadata,
# which take 0.15 s here, unpacks blocks five times slower, and believes a file: it gives the
# header's bytes as a tensor whose offset is 2^64 - 32, and does not come back from an array that
# claims 2^60 items. The tests compare with it.
MAGIC, VERSIONS = b"GGUF", (2, 3)
ALIGNMENT, STEP = 32, 8  # of tensors, in bytes, unless the metadata say another multiple of 8
MAX_AXES = 4

# A metadata value's type code -> struct's letter; strings and arrays have codes of their own.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
SCALARS[12] = "d"
STRING, ARRAY = 8, 9
LENGTH = struct.Struct("<Q")  # of a string, in bytes


@dataclass(frozen=True)
class Tensor:
    """One tensor in the file.

    name: "blk.0.attn_q.weight"
    shape: in NumPy's order, the last axis is contiguous (GGUF lists the axes in reverse)
    block: how its numbers are stored, one of `gguf_blocks.BLOCKS`
    raw: uint8 [n_bytes]  memory-mapped, read when used
    """

    name: str
    shape: tuple[int, ...]
    block: Block
    raw: UInt8[np.ndarray, "n_bytes"]

    def dequantize(self) -> Float32[np.ndarray, "..."]:
        """Convert the numbers to float32.

        Returns: a new array of the tensor's shape
        """
        return self.block.dequantize(self.raw).reshape(self.shape)

    @property
    def raw_rows(self) -> UInt8[np.ndarray, "n_rows bytes_per_row"]:
        """The bytes of each row, without a copy; a row holds whole blocks."""
        return self.raw.reshape(math.prod(self.shape[:-1]), -1)

    def rows(self, indices: Int[np.ndarray, "*axes"]) -> Float32[np.ndarray, "*axes d"]:
        """Convert some rows of a matrix to float32.

        Args:
            indices: [...]  which rows
        Returns: a new array [..., length of a row]
        """
        return self.block.dequantize(self.raw_rows[indices].ravel()).reshape(*indices.shape, -1)


@dataclass(frozen=True)
class GGUF:
    """A file's metadata (names to numbers, strings and lists) and its tensors by name.

    mapped: the file; None = the tensors lie elsewhere
    """

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, Tensor]
    mapped: mmap.mmap | None = None

    def release(self) -> None:
        """Let the system reclaim the memory of what was read; tensors are read again when used."""
        if self.mapped is not None and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            self.mapped.madvise(mmap.MADV_DONTNEED)


def read_gguf(path: str | Path) -> GGUF:
    """Map a file into memory, read its metadata and find its tensors.

    Args:
        path: a GGUF file, version 2 or 3, little-endian
    Returns: a GGUF; tensors are mapped, not read
    Raises:
        ValueError: the file is not GGUF, was cut off or is inconsistent; names the field and its
            place in the file
        FileNotFoundError: there is no such file
    Cost: reads the metadata; a tensor is read when it is dequantised.
    Source: the format's description, github.com/ggml-org/ggml/blob/master/docs/gguf.md
    """
    path = Path(path)
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty")
    with path.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    return replace(parse_gguf(np.frombuffer(mapped, np.uint8), path), mapped=mapped)


def parse_gguf(raw: UInt8[np.ndarray, "n_bytes"], path: Path) -> GGUF:
    """As `read_gguf`, for a file that is in memory.

    Args:
        raw: uint8 [n_bytes]  the file
        path: what errors call it
    Returns: a GGUF; tensors are parts of raw
    Raises:
        ValueError: as `read_gguf`
    """
    reader = _Reader(path, raw)
    n_tensors, n_entries = _header(reader)
    metadata = {}
    for i in range(n_entries):
        key = reader.string(f"metadata key {i}")
        if key in metadata:
            raise reader.error(f"metadata key {i}", f"is {key!r}, which came before")
        metadata[key] = _value(reader, f"metadata {key!r}")
    infos = [_tensor_info(reader, i) for i in range(n_tensors)]
    return GGUF(path, metadata, _tensors(reader, infos, metadata))


class _Reader:
    """Reads values one after another; its errors name the place in the file."""

    def __init__(self, path: Path, raw: np.ndarray) -> None:
        self.path, self.raw, self.at = path, raw, 0
        self.view = raw.data

    def error(self, field: str, what: str) -> ValueError:
        return ValueError(f"{self.path}: {field}, before byte {self.at}, {what}")

    def take(self, n_bytes: int, field: str, of: str = "") -> memoryview:
        """The next n_bytes; ValueError if the file ends before."""
        if n_bytes > len(self.view) - self.at:
            raise ValueError(
                f"{self.path}: {of}{field} needs {n_bytes} bytes from byte {self.at} on, but the "
                f"file ends at byte {len(self.view)}: it was cut off or altered"
            )
        self.at += n_bytes
        return self.view[self.at - n_bytes : self.at]

    def scalars(self, letter: str, n: int, field: str) -> tuple:
        """n numbers of one type, given as struct's letter."""
        return struct.unpack(f"<{n}{letter}", self.take(n * struct.calcsize(f"<{letter}"), field))

    def number(self, letter: str, field: str) -> Any:
        return self.scalars(letter, 1, field)[0]

    def string(self, field: str) -> str:
        """A text after its length. A tokenizer holds a hundred thousand, so this must be fast."""
        [n_bytes] = LENGTH.unpack(self.take(LENGTH.size, field, "the length of "))
        text = self.take(n_bytes, field)
        try:
            return str(text, "utf-8")
        except UnicodeDecodeError:
            raise self.error(field, "is not UTF-8: the file was altered") from None


def _header(reader: _Reader) -> tuple[int, int]:
    """Check magic number and version; return the numbers of tensors and metadata entries."""
    magic = bytes(reader.take(4, "the magic number"))
    if magic != MAGIC:
        raise reader.error("the magic number", f"is {magic!r}, not {MAGIC!r}: this is no GGUF file")
    version = reader.number("I", "version")
    if version not in VERSIONS:
        raise reader.error("version", f"is {version}; it should be one of {VERSIONS}")
    return reader.number("Q", "n_tensors"), reader.number("Q", "n_metadata")


def _value(reader: _Reader, field: str) -> Any:
    kind = reader.number("I", f"the type of {field}")
    if kind != ARRAY:
        return _items(reader, kind, 1, field)[0]
    kind = reader.number("I", f"the item type of {field}")
    if kind == ARRAY:
        raise reader.error(
            f"the item type of {field}", f"is {ARRAY}: arrays of arrays are not read"
        )
    return _items(reader, kind, reader.number("Q", f"the length of {field}"), field)


def _items(reader: _Reader, kind: int, n: int, field: str) -> list:
    """n values of one type: strings or numbers."""
    if kind == STRING:
        return [reader.string(field) for _ in range(n)]
    if kind not in SCALARS:
        known = sorted([*SCALARS, STRING, ARRAY])
        raise reader.error(f"the type of {field}", f"is {kind}; it should be one of {known}")
    return list(reader.scalars(SCALARS[kind], n, field))


def _tensor_info(reader: _Reader, i: int) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape, block code and offset of tensor i."""
    name = reader.string(f"the name of tensor {i}")
    n_axes = reader.number("I", f"the number of axes of tensor {name!r}")
    if not 1 <= n_axes <= MAX_AXES:
        raise reader.error(
            f"the number of axes of tensor {name!r}", f"is {n_axes}; it should be 1 to {MAX_AXES}"
        )
    axes = reader.scalars("Q", n_axes, f"the shape of tensor {name!r}")
    code = reader.number("I", f"the block type of tensor {name!r}")
    return name, axes[::-1], code, reader.number("Q", f"the offset of tensor {name!r}")


def _tensors(reader: _Reader, infos: list, metadata: dict[str, Any]) -> dict[str, Tensor]:
    """Cut the rest of the file into tensors."""
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment % STEP:
        raise reader.error(
            "metadata 'general.alignment'", f"is {alignment!r}, not a positive multiple of {STEP}"
        )
    start = -(-reader.at // alignment) * alignment
    tensors: dict[str, Tensor] = {}
    expected = 0  # one after the other, as llama.cpp demands: no bytes are read twice, none skipped
    for name, shape, code, offset in infos:
        if name in tensors:
            raise reader.error(f"the name of tensor {name!r}", "came before")
        if code not in BLOCKS:
            known = ", ".join(f"{c} ({block.name})" for c, block in BLOCKS.items())
            raise reader.error(f"the block type of tensor {name!r}", f"is {code}; known: {known}")
        if offset != expected:
            raise reader.error(
                f"the offset of tensor {name!r}",
                f"is {offset}; it should be {expected}, where the tensors before it end",
            )
        raw = _bytes_of(reader, name, shape, BLOCKS[code], start + offset)
        expected = -(-(offset + len(raw)) // alignment) * alignment
        tensors[name] = Tensor(name, shape, BLOCKS[code], raw)
    return tensors


def _bytes_of(
    reader: _Reader, name: str, shape: tuple[int, ...], block: Block, start: int
) -> np.ndarray:
    if 0 in shape or shape[-1] % block.n_numbers:
        raise reader.error(
            f"the shape of tensor {name!r}",
            f"is {list(shape)}; {block.name} needs a last axis in blocks of {block.n_numbers}",
        )
    stop = start + math.prod(shape) // block.n_numbers * block.n_bytes
    if stop > len(reader.raw):
        raise ValueError(
            f"{reader.path}: tensor {name!r} of shape {list(shape)} ends at byte {stop}, but the "
            f"file ends at byte {len(reader.raw)}: it was cut off or altered"
        )
    return reader.raw[start:stop]
