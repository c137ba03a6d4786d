"""Where things are in the book: its chapters, their front matter, its addresses."""

from __future__ import annotations

import copy
import functools
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
import tomllib
import yaml
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook

# The release that this checkout is or will become. Package, notebooks and site are of one release.
_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
VERSION = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["version"]
# The options of an exercise, and one of them.
_EXERCISE = re.compile(r"^[`:]{3,}\{exercise\}.*\n((?::[\w-]+:.*\n)*)", re.M)
_MINUTES = re.compile(r"^:minutes: *(\d+) *$", re.M)


class SourceError(ValueError):
    """The pipeline rejects something in a source file; the message gives file, line and reason."""

    def __init__(self, path: str, line: int, message: str):
        super().__init__(f"{path}:{line}: {message}")


@functools.cache  # a build asks for each chapter's cells a dozen times
def _cells(text: str, path: Path) -> nbformat.NotebookNode:
    return read_myst_markdown_notebook(text, path=path)


@dataclass(frozen=True)
class Chapter:
    """One page of the book. Only pages with code cells (jupytext front matter) have a notebook.

    A lab is a page in book/labs, named as its lesson; its slug is "labs/softmax".
    """

    root: Path
    docname: str  # as in _toc.yml: "book/softmax"

    @property
    def slug(self) -> str:
        return self.docname.removeprefix("book/")

    @property
    def is_lab(self) -> bool:
        return self.slug.startswith("labs/")

    @property
    def source(self) -> str:
        """The path of the .md, relative to the root, for messages."""
        return f"{self.docname}.md"

    @property
    def path(self) -> Path:
        return self.root / self.source

    @property
    def notebook_name(self) -> str:
        return f"notebooks/{self.slug}.ipynb"

    @property
    def notebook(self) -> Path:
        return self.root / self.notebook_name

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def front(self) -> dict[str, Any]:
        """The front matter, {} where there is none."""
        if not self.text.startswith("---\n"):
            return {}
        return yaml.safe_load(self.text[4:].split("\n---\n", 1)[0]) or {}

    @property
    def title(self) -> str:
        """Its first heading, as written."""
        found = re.search(r"^# (.+)$", self.text, re.M)
        return found[1] if found else self.slug

    @property
    def has_code(self) -> bool:
        return is_myst_markdown_notebook(self.text)

    def read(self) -> nbformat.NotebookNode:
        """The source as cells without outputs."""
        return copy.deepcopy(_cells(self.text, self.path))

    def line_of(self, cell: str) -> int:
        """The number of the line where a cell's text begins."""
        return 1 + self.text.count("\n", 0, self.text.find(cell))

    @cached_property
    def code(self) -> list[str]:
        """The source of each code cell."""
        return [c.source for c in self.read().cells if c.cell_type == "code"]

    @property
    def exercise_minutes(self) -> int:
        """The minutes that the exercises of this page take together, as each says."""
        options = "".join(_EXERCISE.findall(self.text))
        return sum(int(minutes) for minutes in _MINUTES.findall(options))


@dataclass(frozen=True)
class Book:
    """The book whose _config.yml and _toc.yml are in `root`."""

    root: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        return yaml.safe_load((self.root / "_config.yml").read_text(encoding="utf-8"))

    @property
    def repository(self) -> str:
        """The one address that badges, set-up cells and links are made from."""
        return self.config["repository"]["url"].rstrip("/")

    @property
    def release(self) -> str:
        """The tag that badges, set-up cells and links name: a release, never a branch."""
        return f"v{VERSION}"

    @property
    def owner_and_name(self) -> str:
        return "/".join(self.repository.split("/")[-2:])

    @property
    def site(self) -> str:
        """Where GitHub Pages serves this repository."""
        owner, name = self.owner_and_name.split("/")
        return f"https://{owner.lower()}.github.io/{name}"

    def colab(self, chapter: Chapter) -> str:
        """The address that opens a chapter's notebook in Colab."""
        where = f"{self.owner_and_name}/blob/{self.release}/{chapter.notebook_name}"
        return f"https://colab.research.google.com/github/{where}"

    @cached_property
    def toc(self) -> dict[str, Any]:
        return yaml.safe_load((self.root / "_toc.yml").read_text(encoding="utf-8"))

    @cached_property
    def pages(self) -> list[Chapter]:
        """Every page, in the order of _toc.yml."""
        return [Chapter(self.root, name) for name in files(self.toc)]

    @property
    def chapters(self) -> list[Chapter]:
        """The pages that have a notebook."""
        return [page for page in self.pages if page.has_code]


def files(entry: Any) -> list[str]:
    """The files that a part of _toc.yml names, in order."""
    if isinstance(entry, list):
        return [name for item in entry for name in files(item)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("root", "file") if key in entry]
    return own + [name for value in entry.values() for name in files(value)]
