"""The numbers and labels of the book, computed by Sphinx, so that notebooks and site agree."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tools.book.chapters import Book


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
    """The book's numbers: labels, page titles, terms and citations, each by its name.

    Sphinx runs no code and reads what has changed. After a change of an extension: rm -r _build.
    """
    from jupyter_book.config import get_final_config
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    config, _ = get_final_config(
        user_yaml=book.root / "_config.yml",
        cli_config={"nb_execution_mode": "off", "latex_individualpages": False},
        sourcedir=book.root,
    )
    folder = book.root / "_build" / "labels"
    folder.mkdir(parents=True, exist_ok=True)
    with patch_docutils(None), docutils_namespace():
        sphinx = Sphinx(
            srcdir=book.root,
            confdir=None,
            outdir=folder / "out",
            doctreedir=folder / "doctrees",
            buildername="dummy",
            confoverrides=config,
            status=None,
            warning=None,  # `make book` shows warnings; the pipeline raises its own errors
        )
        sphinx.builder.build([], method="specific")
    return _collect(sphinx.env)


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
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
