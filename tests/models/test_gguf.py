"""The GGUF reader gives back what a file says, or a ValueError that says what is wrong with it.

The files are written here, byte by byte, by code that shares nothing with the reader.
"""

import math
import os
import re
import struct
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from smollm2_support import gguf as real

from attention_src.models.formats.gguf import read_gguf
from attention_src.models.formats.gguf_blocks import BLOCKS

F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
# The format's codes and struct's letters for the values in the metadata; 8 is a string, 9 an array.
KINDS = {
    "uint8": (0, "<B", 255),
    "int8": (1, "<b", -128),
    "uint16": (2, "<H", 65535),
    "int16": (3, "<h", -32768),
    "uint32": (4, "<I", 2**32 - 1),
    "int32": (5, "<i", -(2**31)),
    "float32": (6, "<f", 0.5),
    "bool": (7, "<?", True),
    "string": (8, None, "é\n"),
    "uint64": (10, "<Q", 2**64 - 1),
    "int64": (11, "<q", -(2**63)),
    "float64": (12, "<d", 0.1),
}


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return u64(len(raw)) + raw


def entry(key, kind, value):
    """One entry of the metadata; a list becomes an array."""
    code, letter, _ = KINDS[kind]
    items = [value] if not isinstance(value, list) else value
    raw = b"".join(string(x) if letter is None else struct.pack(letter, x) for x in items)
    head = u32(code) if items is not value else u32(9) + u32(code) + u64(len(items))
    return string(key) + head + raw


def info(name, shape, block, offset):
    """What a file says of a tensor; it lists the axes the other way round than NumPy."""
    axes = b"".join(u64(n) for n in reversed(shape))
    return string(name) + u32(len(shape)) + axes + u32(block) + u64(offset)


def file_of(entries=(), infos=(), body=b"", *, version=3, alignment=32):
    head = b"GGUF" + u32(version) + u64(len(infos)) + u64(len(entries))
    head += b"".join([*entries, *infos])
    return head + (bytes(-len(head) % alignment) + body if infos else b"")


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Reads bytes as a file."""
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"

    def from_bytes(raw):
        path.write_bytes(raw)
        return read_gguf(path)

    return from_bytes


def test_metadata_of_every_kind(read):
    entries = [entry(kind, kind, value) for kind, (_, _, value) in KINDS.items()]
    entries += [entry(f"{kind}s", kind, [value] * 3) for kind, (_, _, value) in KINDS.items()]
    metadata = read(file_of([*entries, entry("none", "string", [])])).metadata
    for kind, (_, _, value) in KINDS.items():
        assert metadata[kind] == value and type(metadata[kind]) is type(value)
        assert metadata[f"{kind}s"] == [value] * 3
    assert metadata["none"] == [] and len(metadata) == 2 * len(KINDS) + 1


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("alignment", [8, 32, 4096])
def test_plain_tensors_lie_at_aligned_offsets(read, version, alignment):
    """Keys of several lengths: the tensors begin at the next multiple, wherever the list ends."""
    x = np.arange(1, 25, dtype="<f4").reshape(2, 3, 1, 4)
    y = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 6e-8], dtype="<f2")
    second = math.ceil(x.nbytes / alignment) * alignment
    infos = [info("x", x.shape, F32, 0), info("y", y.shape, F16, second)]
    body = x.tobytes().ljust(second, b"\0") + y.tobytes()
    for length in (1, 5, 37):
        entries = [entry("k" * length, "bool", True)]
        entries += [entry("general.alignment", "uint32", alignment)] if alignment != 32 else []
        raw = file_of(entries, infos, body, version=version, alignment=alignment)
        tensors = read(raw).tensors
        assert tensors["x"].shape == x.shape and tensors["x"].name == "x"
        np.testing.assert_array_equal(tensors["x"].dequantize(), x)
        got = tensors["y"].dequantize()
        np.testing.assert_array_equal(got.view(np.uint32), y.astype(np.float32).view(np.uint32))
    got[:] = 7  # a copy: the file is mapped read-only, and stays what it was
    assert tensors["y"].dequantize()[0] == 0


# Float64 holds each product and sum exactly; float32 then rounds it once, as the blocks do.


def by_definition(block, raw):
    numbers = []
    for at in range(0, len(raw), BLOCKS[block].n_bytes):
        if block == Q8_0:
            scale, *codes = struct.unpack_from("<e32b", raw, at)
            numbers += [scale * c for c in codes]
        else:
            scale, minimum, *packed = struct.unpack_from("<ee16B", raw, at)
            codes = [packed[i % 16] // 16 ** (i // 16) % 16 for i in range(32)]
            numbers += [scale * c + minimum for c in codes]
    return np.array(numbers).astype(np.float32)


@pytest.mark.parametrize("block", [Q8_0, Q4_1])
@given(seed=st.integers(0, 2**32), rows=st.integers(1, 3), blocks=st.integers(1, 3))
def test_blocks_equal_their_definition(read, block, seed, rows, blocks):
    rng = np.random.default_rng(seed)
    n_halves, n_codes = {Q8_0: (1, 32), Q4_1: (2, 16)}[block]
    raw = b""
    for _ in range(rows * blocks):
        raw += rng.normal(size=n_halves).astype("<f2").tobytes() + rng.bytes(n_codes)
    shape = (rows, 32 * blocks)
    got = read(file_of((), [info("x", shape, block, 0)], raw)).tensors["x"].dequantize()
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, by_definition(block, raw).reshape(shape))


@pytest.mark.parametrize("block", [0, 3, 8])
def test_some_rows_are_those_of_the_whole(read, block):
    raw = np.random.default_rng(block).integers(0, 60, 7 * 2 * BLOCKS[block].n_bytes, np.uint8)
    shape = 7, 2 * BLOCKS[block].n_numbers
    tensor = read(file_of((), [info("x", shape, block, 0)], raw.tobytes())).tensors["x"]
    at = np.array([[6, 0, 3], [3, 3, 1]])
    np.testing.assert_array_equal(tensor.rows(at), tensor.dequantize()[at])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["token_embd", "output_norm", "blk.0.attn_q", "blk.29.ffn_down"])
def test_the_real_file_equals_the_gguf_package(name):
    quants = pytest.importorskip("gguf.quants")
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    tensor = real().tensors[f"{name}.weight"]
    rows = np.asarray(tensor.raw).reshape(math.prod(tensor.shape[:-1]), -1)
    rows = np.ascontiguousarray(rows[::64])  # all of them would take long
    expected = quants.dequantize(rows, GGMLQuantizationType[tensor.block.name])
    got = tensor.block.dequantize(rows.ravel())
    np.testing.assert_array_equal(got, expected.ravel())
    for code, block in BLOCKS.items():
        kind = GGMLQuantizationType(code)
        assert (kind.name, GGML_QUANT_SIZES[kind]) == (block.name, (block.n_numbers, block.n_bytes))


def test_what_is_released_is_read_again(read):
    x = np.arange(32, dtype="<f4")
    file = read(file_of((), [info("x", (32,), F32, 0)], x.tobytes()))
    for _ in range(2):
        np.testing.assert_array_equal(file.tensors["x"].dequantize(), x)
        file.release()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much is in memory")
def test_released_memory_is_given_back():
    def resident_kb():
        return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])

    file = read_gguf(real().path)
    before = resident_kb()
    for tensor in file.tensors.values():
        tensor.raw.max()
    read, whole = resident_kb() - before, file.path.stat().st_size / 1024
    file.release()
    assert read > 0.8 * whole and resident_kb() - before < 0.2 * whole


@pytest.mark.slow
def test_the_real_files_tensors_fill_it_to_its_end():
    """One after the other, with less than the alignment between them: no offset is off."""
    raws = [tensor.raw for tensor in real().tensors.values()]
    raws.sort(key=lambda raw: raw.__array_interface__["data"][0])
    for raw, following in pairwise(raws):
        start, next_start = (x.__array_interface__["data"][0] for x in (raw, following))
        assert 0 <= next_start - (start + len(raw)) < 32
    with open(real().path, "rb") as file:
        file.seek(-100, os.SEEK_END)
        assert raws[-1][-100:].tobytes() == file.read()


# Files that are broken

X = [info("x", (2, 3), F32, 0), info("y", (1, 32), Q8_0, 32)]
SMALL = file_of([entry("name", "string", "é"), entry("n", "int16", [1, 2])], X, bytes(66))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.gguf"):
        read_gguf(tmp_path / "nothing.gguf")


def test_cut_off_anywhere(read):
    """Wherever a file ends too early, the error says that it does."""
    assert list(read(SMALL).tensors) == ["x", "y"]
    for n in range(len(SMALL)):
        message = f"ends at byte {n}: it was cut off or altered" if n else "the file is empty"
        with pytest.raises(ValueError, match=rf"model\.gguf: .*{message}"):
            read(SMALL[:n])


def test_any_one_byte_altered(read):
    """Any error but a ValueError would fail this."""
    for at in range(len(SMALL)):
        for bits in (1, 128, 255):
            try:
                read(SMALL[:at] + bytes([SMALL[at] ^ bits]) + SMALL[at + 1 :])
            except ValueError as error:
                assert "model.gguf: " in str(error)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"GGML" + SMALL[4:], r"the magic number, before byte 4, is b'GGML', not b'GGUF'"),
        (file_of(version=1), r"version, before byte 8, is 1; it should be one of \(2, 3\)"),
        (file_of(version=3 << 24), "version, before byte 8, is 50331648"),  # big-endian
        (file_of([string("k") + u32(13)]), "the type of metadata 'k', before byte 37, is 13"),
        (file_of([string("k") + u32(9) * 2 + u64(1)]), "arrays of arrays are not read"),
        (file_of([entry(b"\xff", "bool", True)]), "metadata key 0, .* is not UTF-8"),
        (file_of([entry("k", "bool", True)] * 2), "metadata key 1, .* is 'k', which came before"),
        (file_of([u64(2**63)]), r"metadata key 0 needs \d{19} bytes"),
        (file_of([string("k") + u32(9) + u32(12) + u64(2**60)]), r"'k' needs \d{19} bytes"),
        (file_of((), [X[0], X[0]], bytes(66)), "the name of tensor 'x', .* came before"),
        (file_of((), [info("x", (1,), 2, 0)]), "the block type of tensor 'x', .*is 2; known: 0"),
        (file_of((), [info("x", (1,) * 5, F32, 0)]), "number of axes of tensor 'x', .*is 5; .*4"),
        (file_of((), [info("x", (), F32, 0)]), "the number of axes of tensor 'x', .*is 0"),
        (file_of((), [info("x", (32, 33), Q4_1, 0)]), r"the shape of tensor 'x', .*\[32, 33\]"),
        (file_of((), [info("x", (0,), F32, 0)]), r"the shape of tensor 'x', .*is \[0\]; F32"),
        (
            file_of((), [info("x", (1,), F32, 16)], bytes(99)),
            "offset .*is 16; it should be 0",
        ),
        (file_of((), [info("x", (1,), F32, 2**64 - 32)], bytes(99)), "is 18446744073709551584; it"),
        (file_of((), [X[0], info("y", (3,), F32, 0)], bytes(99)), "'y', .*is 0; it should be 32"),
        (file_of((), [X[0], info("y", (3,), F32, 64)], bytes(99)), "'y', .*is 64; it should be 32"),
        (file_of((), X[::-1], bytes(99)), "offset of tensor 'y', .*is 32; it should be 0"),
        (file_of((), [info("x", (12,), F32, 0)], bytes(44)), r"tensor 'x' of shape \[12\] ends"),
        (file_of((), [info("x", (2**63,) * 4, F16, 0)]), r"'x' of shape .* ends at byte \d{70,}"),
        (file_of([entry("general.alignment", "uint32", 0)], X), "'general.alignment', .*is 0"),
        (file_of([entry("general.alignment", "string", "32")], X), "'general.alignment', .*'32'"),
        (
            file_of([entry("general.alignment", "uint32", 3)], X),
            "is 3, not a positive multiple",
        ),
    ],
)
def test_what_is_wrong_is_named(read, raw, message):
    with pytest.raises(ValueError, match=message) as error:
        read(raw)
    assert re.search(r"model\.gguf: ", str(error.value))
