"""What pages need and git does not hold: made once, kept in .cache, copied into the built site."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

SCRATCH = "making-"  # how the name of a folder begins in which something is being made


class Unavailable(Exception):
    """Something cannot be had here; the message says why."""


def ready(cache: Path, version: str, make: Callable[[Path], None]) -> Path:
    """The folder cache/version; made if it is not there, and then other versions are deleted.

    Args:
        cache: a folder; files in it stay
        version: what decides what is made
        make: fills the empty folder that it is given
    """
    folder = cache / version
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=SCRATCH) as scratch:
            made = Path(scratch, "made")
            made.mkdir()
            make(made)
            try:
                made.rename(folder)
            except OSError:  # two builds may come here at once; the second takes that of the first
                if not folder.is_dir():
                    raise
        for old in cache.iterdir():
            if old.is_dir() and old != folder and not old.name.startswith(SCRATCH):
                shutil.rmtree(old, ignore_errors=True)
    return folder


def copy(made: Path, folder: Path) -> None:
    """Copy what is ready into a folder of the site, in place of old versions; files there stay."""
    for old in folder.glob("*"):
        if old.is_dir() and old.name != made.name:
            shutil.rmtree(old)
    # Also where it is: what is there may be half a copy.
    shutil.copytree(made, folder / made.name, dirs_exist_ok=True)


def checked(name: str, data: bytes, wanted: str) -> bytes:
    """The data, if its SHA-256 is the one that we want.

    Raises:
        Unavailable: it has another
    """
    if sha256(data) != wanted:
        raise Unavailable(f"{name} has sha256 {sha256(data)}, it should be {wanted}")
    return data


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
