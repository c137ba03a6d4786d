"""What has no portable form stops with file and line, and every form is one that a chapter uses.

How each form looks is seen in the notebooks, which `python -m tools.book --check` compares.
"""

import re

import pytest
from tiny import SMALL, make_book

from tools.book import forms, labels, macros
from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.book.inline import Inline
from tools.book.portable import Portable


def test_every_form_is_used():
    text = "\n".join(chapter.text for chapter in Book(REPOSITORY).chapters)
    assert set(forms.FORMS) <= set(re.findall(r"[`:]{3}\{([\w:-]+)\}", text))
    assert set(Inline(None, "", {})._roles) <= set(re.findall(r"\{([\w:]+)\}`", text)) | {"doc"}


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """A book of one chapter, and the numbers that Sphinx gives it."""
    book = Book(make_book(tmp_path_factory.mktemp("small"), small=SMALL))
    return book, labels.load(book)


BAD = [
    ("unknown role", "a\n{nope}`x`", 2, "role {nope} has no portable form"),
    ("unknown directive", "a\n\n```{nope}\n```", 3, "directive {nope} has no portable form"),
    ("unknown chapter", "a\n{minutes}`none`", 2, "there are no minutes of 'none'"),
    ("unknown equation", "{eq}`eq:none`", 1, "nothing with a number has the label 'eq:none'"),
    ("unknown page", "{doc}`none`", 1, "unknown page 'none'"),
    ("page with anchor", "[x](notation.md#a)", 1, "'notation.md#a' has no portable form"),
    ("picture", "![x](none.png)", 1, "'none.png' has no portable form"),
    ("exercise without label", "```{exercise} T\n:difficulty: 1\n:minutes: 5\n```", 1, "a label"),
    ("unknown citation", "a\nb\nc {cite:p}`none2020`", 3, "unknown citation 'none2020'"),
    ("unknown term", "{term}`nonsense`", 1, "unknown term 'nonsense'"),
    ("broken fence", "a\n\n```{math} `x`\nText\n```", 3, "a directive that Markdown does not see"),
    ("footnote", "a\nx[^none]", 2, "a footnote has no portable form"),
    ("in a list", "- a\n\n  ```{admonition} A\n  :class: b\n\n  {term}`none`\n  ```", 6, "unknown"),
    ("in a quiz", "```{quiz}\nQ\n\n- [x] a\n\n  {eq}`x`\n\n- [ ] b\n\n  c\n```", 6, "nothing with"),
    ("quiz without reasons", "\n```{quiz}\nQ\n\n- [x] a\n- [ ] b\n```", 2, "say why"),
    ("two hints", "a\n\n```{hints}\n1. b\n2. c\n```", 3, "hints are three steps"),
    ("unknown claim", "a\n\n```{claim} 000-08\n```", 3, "has no claim 000-08"),
    ("definition list", "term\n: meaning", 1, "definition list"),
    ("numbered align", "a\n\n\\begin{align}\na &= b\n\\end{align}", 3, "use {math} with :label:"),
    ("open solution", "```{solution-start} ex:small\n```", 1, "must begin and end in it"),
    ("code cell inside", "- ```{code-cell}\n  1\n  ```", 1, "{code-cell} has no portable form"),
]


@pytest.mark.parametrize("text, line, message", [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_what_has_no_portable_form_stops_with_file_and_line(text, line, message, small_book):
    book, found = small_book
    with pytest.raises(ValueError) as stopped:
        Portable(book, "book/small", found).cell(text, 101)
    assert str(stopped.value).startswith(f"book/small.md:{100 + line}: ")
    assert message in str(stopped.value)


def test_macros_have_the_colours_of_the_figures():
    from attention_src.figures import PALETTE

    names = {"Q": "q", "K": "k", "V": "v", "O": "output", "P": "weights"}
    assert {macro: PALETTE[name] for macro, name in names.items()} == macros.COLOURS
    assert macros.expand(r"\Q_i \Quad \P") == r"{\color{#0072B2}Q}_i \Quad {\color{#7A5FC7}P}"
