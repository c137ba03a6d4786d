"""Files of others that the repository carries are the ones that their READMEs speak of."""

import hashlib
from pathlib import Path

import pytest
from sphinxcontrib import katex

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("book/_static/vendor", "tests/site/vendor", "tools/page/vendor")


@pytest.mark.parametrize("folder", FOLDERS)
def test_hashes(folder):
    sums = dict(
        reversed(line.split("  "))
        for line in (ROOT / folder / "SHA256SUMS").read_text().splitlines()
    )
    files = (p for p in (ROOT / folder).rglob("*") if p.is_file())
    found = {p.relative_to(ROOT / folder).as_posix(): p for p in files}
    del found["README.md"], found["SHA256SUMS"]
    assert set(sums) == set(found)
    for name, path in found.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[name], name


def test_katex_fonts_are_of_the_version_that_renders():
    text = (ROOT / "book/_static/vendor/README.md").read_text("utf-8")
    css = (ROOT / "book/_static/vendor/katex/katex.min.css").read_text("utf-8")
    assert katex.katex_version in text and f'"{katex.katex_version}"' in css
