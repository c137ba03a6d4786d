"""Predictions, exercises and bugs that happened: what the site's build refuses, and the sums."""

import re

import pytest
from tiny import REPOSITORY, build, make_book, store

from tools.book import contents
from tools.book.chapters import Book
from tools.book.given import UNNAMED, parts

QUESTION = "````{{predict}} {}\nQ?\n\n- [x] a\n\n  b\n\n- [ ] c\n\n  d\n````\n\n"
REVEAL = "```{reveal}\nSo.\n```\n\n"
HAPPENED = "```{happened-start} T\n:date: 2026-03\n:source: s #1\n:link: https://a.b\n```\n\n"
END = "```{happened-end}\n```\n\n"

# A page each, and the warning that it gives.
MISTAKES = {
    "label": (QUESTION.format("a") + REVEAL, "a label that begins with 'pr:'; it is 'a'"),
    "nothing": (QUESTION.format("pr:n") + "## H\n\n" + REVEAL, "no {reveal} follows"),
    "alone": (REVEAL, "no {predict} stands before this {reveal}"),
    "inside": ("> " + QUESTION.format("pr:i").replace("\n", "\n> "), "inside a box or a list"),
    "open": (HAPPENED + "Text.\n\n## H\n\n" + END, "happened-start without happened-end"),
    "closed": (END, "happened-end without happened-start"),
    "date": (HAPPENED.replace("2026-03", "March"), "a year and a month"),
}


@pytest.mark.slow
def test_a_mistake_is_a_warning_with_its_file(tmp_path):
    pages = {name: f"# {name}\n\n{text}" for name, (text, _) in MISTAKES.items()}
    root = make_book(tmp_path, **pages)
    for chapter in Book(root).chapters:
        store(chapter.notebook)
    lines = build(root, "-q").splitlines()
    for name, (_, said) in MISTAKES.items():
        assert any(f"book/{name}.md" in line and said in line for line in lines), name


def test_a_prediction_has_a_label_of_its_own():
    """Readers' answers are stored under it."""
    pages = Book(REPOSITORY).pages
    labels = [name for page in pages for name in re.findall(r"\{predict\} (\S+)", page.text)]
    assert len(labels) > 60 and sorted(set(labels)) == sorted(labels)


def test_what_a_page_offers():
    html = """<h1>One<a class="headerlink" href="#">#</a></h1>
    <div class="exercise" id="ex:a"><p class="admonition-title">Exercise 1 (Try)</p></div>
    <div class="predict" data-label="pr:a" id="pr-a"><div class="predict-question"><p>Why
    <span class="katex"><math>p</math><span class="katex-html" aria-hidden="true">p</span></span>
    <span class="katex"><span class="katex-html">q</span></span>?</p></div>
    <a id="x" href="#eq">b</a><a href="two.html#a">c</a><a href="../search.html">d</a>
    <a href="https://a.b/c">e</a><noscript>f</noscript></div>"""
    found = contents.chapter("book/one", html)
    assert found["title"] == "One"
    assert found["exercises"] == [{"id": "ex:a", "title": "Exercise 1 (Try)"}]
    (question,) = found["predictions"]
    assert question["label"] == "pr:a" and question["text"] == "Why p q?"
    assert "noscript" not in question["html"] and "id=" not in question["html"]
    assert "katex-html" in question["html"], "it comes back as it was shown"
    links = ["book/one.html#eq", "book/two.html#a", "search.html", "https://a.b/c"]
    assert re.findall('href="(.+?)"', question["html"]) == links, "from any other page"


def test_a_given_number_and_its_source():
    assert parts("2,048") == ("2,048", UNNAMED)
    assert parts("8 <Shazeer (2019), section 2>") == ("8", "Shazeer (2019), section 2")
    assert parts("< 1") == ("< 1", UNNAMED)
