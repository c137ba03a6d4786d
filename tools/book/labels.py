"""The numbers and labels of the book, computed by Sphinx, so that notebooks and site agree.

This is a Sphinx extension: every build of the book, that of the site too, keeps them in
_build/labels. Where they are missing or older than a source, Sphinx reads the sources, without
running code, under its `dummy` builder, which writes nothing else.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

from tools.book.chapters import Book

# What the numbers depend on.
_SOURCES = ("_config.yml", "_toc.yml", "book/**/*.md", "book/**/*.bib")


class FiguresOfCells(SphinxTransform):
    """Where no code runs, an empty figure for each cell that will show one, to number it."""

    default_priority = 200  # before Sphinx looks for what has a number

    def apply(self, **kwargs: Any) -> None:
        if self.config.nb_execution_mode != "off":
            return
        for cell in list(self.document.findall(nodes.container)):
            options = cell.get("cell_metadata", {}).get("mystnb", {}).get("figure")
            if options and "name" in options and "caption" in options:  # else build.py says so
                name = nodes.fully_normalize_name(options["name"])
                figure = nodes.figure("", nodes.caption("", options["caption"]), names=[name])
                self.document.note_explicit_target(figure, figure)
                cell += figure


def load(book: Book) -> dict[str, Any]:
    """The book's numbers: labels, page titles, terms and citations, each by its name."""
    kept = _kept(book.root)
    if kept.get("digest") != _digest(book.root):
        _ask_sphinx(book.root)
        kept = _kept(book.root)
    return kept


def _store(root: Path) -> Path:
    return root / "_build" / "labels" / "labels.json"


def _kept(root: Path) -> dict[str, Any]:
    store = _store(root)
    return json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}


def _keep(app: Sphinx, env: BuildEnvironment) -> None:
    root = Path(app.srcdir)
    _store(root).parent.mkdir(parents=True, exist_ok=True)
    numbers = {"digest": _digest(root), **_collect(env)}
    _store(root).write_text(json.dumps(numbers, indent=1), encoding="utf-8")


def _digest(root: Path) -> str:
    files = [f for pattern in _SOURCES for f in sorted(root.glob(pattern))]
    files += sorted(Path(__file__).parent.glob("*.py"))
    text = "\0".join(f.read_text(encoding="utf-8") for f in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _ask_sphinx(root: Path) -> None:
    from jupyter_book.config import get_final_config
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    config, _ = get_final_config(
        user_yaml=root / "_config.yml",
        cli_config={"nb_execution_mode": "off", "latex_individualpages": False},
        sourcedir=root,
    )
    folder = _store(root).parent
    folder.mkdir(parents=True, exist_ok=True)
    with patch_docutils(None), docutils_namespace():
        Sphinx(
            srcdir=root,
            confdir=None,
            outdir=folder / "out",
            doctreedir=folder / "doctrees",
            buildername="dummy",
            confoverrides=config,
            status=None,
            warning=None,  # `make book` shows warnings; the pipeline raises its own errors
            freshenv=True,
        ).build()


def _collect(env: Any) -> dict[str, Any]:
    standard = env.get_domain("std")
    return {
        "labels": _labels(env),
        "docs": {doc: title.astext() for doc, title in env.titles.items()},
        "terms": {
            name.lower(): {"doc": doc, "id": id_}
            for (kind, name), (doc, id_) in standard.objects.items()
            if kind == "term"
        },
        "cites": {c.key: _citation(c) for c in env.get_domain("cite").citations},
    }


def _labels(env: Any) -> dict[str, dict[str, str]]:
    """Every label of a thing with a number: its page and anchor, its kind and number."""
    numbers = {
        (doc, id_): {"kind": kind, "number": ".".join(map(str, number))}
        for doc, kinds in env.toc_fignumbers.items()
        for kind, ids in kinds.items()
        for id_, number in ids.items()
    }
    proofs = getattr(env, "proof_list", {})  # there is none before the first theorem
    places = dict(env.get_domain("std").anonlabels)
    places |= {name: (proof["docname"], proof["ids"][0]) for name, proof in proofs.items()}
    for name, (doc, _) in env.get_domain("math").equations.items():
        places[name] = doc, nodes.make_id(f"equation-{name}")
    labels = {
        name: {"doc": doc, "id": id_, **numbers[doc, id_]}
        for name, (doc, id_) in places.items()
        if (doc, id_) in numbers
    }
    for name in labels.keys() & proofs.keys():
        labels[name]["kind"] = proofs[name]["realtype"]
    return labels


def _citation(citation: Any) -> dict[str, str]:
    entry = citation.entry
    authors = entry.persons["author"]
    names = [" ".join(map(str, a.rich_prelast_names + a.rich_last_names)) for a in authors]
    return {
        "who": " and ".join(names) if len(names) < 3 else f"{names[0]} et al.",
        "year": entry.fields.get("year", "n.d."),
        "url": entry.fields.get("url", ""),
        "doc": citation.bibliography_key.docname,
        "id": citation.citation_id,
    }


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(FiguresOfCells)
    app.connect("env-check-consistency", _keep)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
