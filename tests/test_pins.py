"""Every pinned package can be installed on the oldest Python that the README promises."""

import importlib.metadata
import re
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]


def too_new(pins, metadata):
    """The pins whose package refuses the oldest Python, with what it asks for.

    Those that this environment has in another version, or not at all, are passed over.
    """
    oldest = re.search(r"You need Python (3\.\d+) or newer", (ROOT / "README.md").read_text())[1]
    for name, version in pins:
        try:
            about = metadata(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        asked = about.get("Requires-Python") or ""
        if about["Version"] == version and not SpecifierSet(asked).contains(f"{oldest}.0"):
            yield f"{name}=={version} asks for Python {asked}"


def test_pins_can_be_installed_on_the_oldest_python():
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.M)
    assert len(pins) > 100
    assert list(too_new(pins, importlib.metadata.metadata)) == []


def pins_of(*files):
    """Every pin of these files: the version by the name, as pip compares names."""
    text = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
    found = re.findall(r"^([\w.-]+)==([\w.]+)(.*)$", text, re.M)
    return {re.sub(r"[-_.]+", "-", name).lower(): (version, rest) for name, version, rest in found}


def test_the_wheels_of_jupyter_book_have_a_hash_and_the_pinned_version():
    """Else pip would replace the wheel that it has just compared with its hash."""
    wheels = pins_of("jupyter-book-wheels.txt")
    pins = pins_of("constraints.txt", "requirements-book.txt")
    assert {"jupyter-book", "sphinx", "myst-nb", "sphinx-book-theme"} <= wheels.keys()
    for name, (version, rest) in wheels.items():
        assert re.fullmatch(r" --hash=sha256:[0-9a-f]{64}", rest), name
        assert pins[name][0] == version, name


def test_a_pin_for_newer_patch_releases_is_found():
    about = {"Version": "4.1.1", "Requires-Python": ">=3.11.5"}
    assert list(too_new([("soupsieve", "4.1.1")], lambda name: about)) == [
        "soupsieve==4.1.1 asks for Python >=3.11.5"
    ]
