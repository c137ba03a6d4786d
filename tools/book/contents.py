"""_static/learner/contents.js: the chapters in the order of the book, and what each offers.

Made from the built pages, so that a question comes back in another chapter exactly as its own
chapter shows it. Only the scripts that need it load it.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, SoupStrainer, Tag
from sphinx.application import Sphinx

from tools.book.chapters import Book

FILE = "_static/learner/contents.js"
_BOXES = re.compile(r"(^|\s)(exercise|predict)(\s|$)")


def chapter(page: str, html: str) -> dict[str, Any]:
    """What a built page offers: `page` is its name, "book/softmax"."""
    title = _parsed(html.partition("</h1>")[0], SoupStrainer("h1")).find("h1")
    boxes = _parsed(html, SoupStrainer("div", class_=_BOXES))
    return {
        "page": page,
        "title": _words(title) if title else page,
        "exercises": [
            {"id": str(box["id"]), "title": _words(box.select_one(".admonition-title") or box)}
            for box in boxes.select("div.exercise[id]")
        ],
        "predictions": [_prediction(page, box) for box in boxes.select("div.predict[data-label]")],
    }


def _parsed(html: str, part: SoupStrainer) -> BeautifulSoup:
    """A part of a page, without the links beside headings; the whole would take seconds."""
    soup = BeautifulSoup(html, "html.parser", parse_only=part)
    for link in soup.select(".headerlink"):
        link.decompose()
    return soup


def _prediction(page: str, box: Tag) -> dict[str, str]:
    question = box.select_one(".predict-question")
    assert question is not None
    copy = BeautifulSoup(str(question), "html.parser")
    for shape in copy.select(".katex-html[aria-hidden]"):
        shape.decompose()
    for script in box.find_all("noscript"):
        script.decompose()
    for part in box.find_all(id=True):
        del part["id"]
    for link in box.find_all("a", href=True):
        link["href"] = from_root(str(link["href"]), page)
    text = _words(copy)
    return {"label": str(box["data-label"]), "text": text, "html": box.decode_contents().strip()}


def from_root(href: str, page: str) -> str:
    """An address on a page, relative to the root of the site."""
    if re.match(r"[a-z]+:|/", href):
        return href
    if href.startswith("#"):
        return f"{page}.html{href}"
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), href))


def _words(part: Tag) -> str:
    return " ".join(part.get_text().split())


def write(app: Sphinx, error: Exception | None) -> None:
    if error:
        return
    found = []
    for page in Book(Path(app.srcdir)).chapters:
        html = Path(app.outdir, f"{page.docname}.html").read_text("utf-8")
        if 'id="what-to-keep"' in html:  # the introduction has no end that a reader could reach
            found.append(chapter(page.docname, html))
    place = Path(app.outdir, FILE)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"course.contents = {json.dumps(found, ensure_ascii=False)};\n", "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write, priority=950)  # after the assets were copied
    return {"parallel_read_safe": True, "parallel_write_safe": True}
