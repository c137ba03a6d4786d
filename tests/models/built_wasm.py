"""WebAssembly that was built and is kept: its files, and that the same compiler gives the same."""

import shutil
import subprocess

import pytest

from tools.site.cached import sha256


def assert_files_are_those_that_were_built(folder, *names):
    lines = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    named = {name: digest for digest, name in map(str.split, lines)}
    assert set(named) == set(names)
    for name, digest in named.items():
        assert sha256((folder / name).read_bytes()) == digest, name


def compiler():
    """What says its version; the README names the one that built the file."""
    if not (shutil.which("clang") and shutil.which("wasm-ld")):
        return ""
    return subprocess.run(["clang", "--version"], capture_output=True, text=True).stdout


def assert_the_same_compiler_gives_the_same_bytes(folder, name, made):
    if "clang version 14.0.6" not in compiler():
        pytest.skip("apt install clang lld (14.0.6)")
    subprocess.run(["sh", str(folder / "build.sh"), str(made)], check=True)
    assert made.read_bytes() == (folder / name).read_bytes()
