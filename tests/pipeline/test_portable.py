"""Every kind of thing that a chapter may hold, and what a notebook shows in its place.

The expected forms are the files in cases/: MyST above the line, portable Markdown below.
"""

import re

import pytest
from tiny import CASES, source_and_portable

from tools.book import forms, macros
from tools.book.inline import Inline
from tools.book.portable import Portable
from tools.book.times import minutes_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_portable_form(case, cases_book):
    book, found = cases_book
    source, expected = source_and_portable(case)
    page = Portable(book, "book/cases", found)
    time = minutes_of(book.chapters[0])
    got = page.cell(source, 1)
    page.finish()
    for what, name in (
        (book.site, "SITE"),
        (book.raw, "RAW"),
        (f"{time} to read", "MINUTES to read"),
    ):
        got = got.replace(what, name)
    assert got == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_nothing_of_myst_is_left(case):
    """A reader must never see a raw directive, role, target or option line."""
    text = re.sub(r"^(`{3,}).*?^\1", "", source_and_portable(case)[1], flags=re.S | re.M)
    assert not re.search(r"(?<!`)\{[a-z:]+\}`|^[`:]{3,}\{|^\(\S+\)=|^:\w+:", text, re.M)


def test_every_directive_and_role_has_a_case():
    sources = "\n".join(source_and_portable(case)[0] for case in CASES)
    used = set(re.findall(r"[`:]{3}\{([\w:-]+)\}", sources))
    alike = {
        *forms._ADMONITIONS,  # one form for all of them
        *(f"prf:{kind}" for kind in forms._THEOREMS),
        *("code", "exercise-start", "exercise-end", "bibliography", "tableofcontents"),
    }
    assert set(forms.FORMS) - alike <= used
    roles = set(Inline(None, "", {})._roles) - {"sup"}
    assert roles <= set(re.findall(r"\{([\w:]+)\}`", sources))


def test_a_solution_with_code_cells_is_folded_in_each_cell(cases_book):
    book, found = cases_book
    page = Portable(book, "book/cases", found)
    before = page.cell("````{solution-start} ex:case\n````\n\nFirst.", 1)
    assert page.solution  # the code cell that follows belongs to it
    between = page.cell("Then {term}`key`.", 9)
    after = page.cell("````{solution-end}\n````\n\nOutside.", 20)
    page.finish()
    box = "<details>\n<summary>Solution to Exercise 1{}</summary>\n\n{}\n\n</details>"
    assert before == box.format("", "First.")
    assert between == box.format(
        ", continued", f"Then [key]({book.site}/book/notation.html#term-key)."
    )
    assert after == "Outside."


def test_a_reveal_is_folded_and_no_other_word(cases_book):
    book, found = cases_book
    text = Portable(book, "book/cases", found).cell("Open.\n\n```{reveal}\nSo.\n```\n\nOpen.", 1)
    fold = "<details>\n<summary>After you have predicted</summary>\n\nSo.\n\n</details>"
    assert text == f"Open.\n\n{fold}\n\nOpen."


HAPPENED = "```{happened-start} T\n:date: 2026-03\n:source: s\n:link: https://a.b\n```"
BAD = [
    ("unknown role", "a\n{nope}`x`", 2, "role {nope} has no portable form"),
    ("unknown directive", "a\n\n```{nope}\n```", 3, "directive {nope} has no portable form"),
    ("unknown chapter", "a\n{minutes}`none`", 2, "book/none.md is no chapter"),
    (
        "unknown hours",
        "{hours}`sleep`",
        1,
        "the hours of reading or exercises or labs, not of 'sleep'",
    ),
    ("unknown label", "a\nb {ref}`ch:none`", 2, "unknown label 'ch:none'"),
    ("unknown equation", "{eq}`eq:none`", 1, "unknown label 'eq:none'"),
    ("unknown figure", "{numref}`fig:none`", 1, "unknown label 'fig:none'"),
    ("unknown theorem", "{prf:ref}`thm:none`", 1, "unknown label 'thm:none'"),
    ("unknown anchor", "[x](#none)", 1, "unknown label 'none'"),
    ("unknown page", "{doc}`none`", 1, "unknown page 'none'"),
    ("unknown linked page", "[x](none.md)", 1, "unknown page 'none.md'"),
    ("page with anchor", "[x](notation.md#ch:notation)", 1, "link to the label, (#ch:notation)"),
    ("theorem by numref", "{numref}`thm:case`", 1, "use {prf:ref}"),
    ("equation by numref", "{numref}`eq:case-single`", 1, "use {eq}"),
    ("figure by eq", "{eq}`fig:case`", 1, "use {numref}"),
    ("figure by ref", "{ref}`fig:case`", 1, "refer to it with {numref}"),
    ("chapter by numref", "{numref}`ch:notation`", 1, "has no number"),
    ("missing file", "![x](none.png)", 1, "no file 'none.png'"),
    ("missing figure", "\n```{figure} none.svg\n:alt: x\n```", 2, "no file 'none.svg'"),
    ("figure without alt text", "```{figure} picture.svg\n```", 1, "needs :alt:"),
    (
        "caption without label",
        "```{figure} picture.svg\n:alt: x\n\nWords\n```",
        1,
        "give it a label",
    ),
    (
        "exercise without label",
        "```{exercise} T\n:difficulty: 1\n:minutes: 5\nDo.\n```",
        1,
        "give it a label",
    ),
    (
        "exercise without difficulty",
        "```{exercise} T\n:label: ex:case\n:minutes: 5\n```",
        1,
        "':difficulty:', 1, 2 or 3; it is ''",
    ),
    (
        "exercise of no length",
        "```{exercise} T\n:label: ex:case\n:difficulty: 3\n:minutes: ten\n```",
        1,
        "':minutes:', a whole number; it is 'ten'",
    ),
    ("unknown citation", "a\nb\nc {cite:p}`none2020`", 3, "unknown citation 'none2020'"),
    ("one unknown citation", "{cite:t}`martins2016sparsemax, x`", 1, "unknown citation 'x'"),
    ("unknown term", "{term}`nonsense`", 1, "unknown term 'nonsense'"),
    ("broken fence", "a\n\n```{note} `x`\nText\n```", 3, "a directive that Markdown does not see"),
    ("undefined footnote", "a\nx[^none]", 2, "[^none] is used but not defined"),
    ("long footnote", "x[^a]\n\n[^a]: One.\n\n    Two.", 3, "must be one paragraph"),
    ("in a list", "- a\n- b\n\n  ```{note}\n  {term}`none`\n  ```", 5, "unknown term"),
    ("after options", "```{admonition} A\n:class: tip\n\n- a\n- {eq}`x`\n```", 5, "unknown label"),
    ("in a table", "| a |\n|---|\n| {term}`none` |", 3, "unknown term"),
    ("in a list-table", "```{list-table} T\n* - a\n* - {eq}`x`\n```", 3, "unknown label"),
    (
        "in a quiz",
        "```{quiz}\nQ\n\n- [x] a\n\n  {eq}`x`\n\n- [ ] b\n\n  c\n```",
        6,
        "unknown label",
    ),
    ("quiz without reasons", "\n```{quiz}\nQ\n\n- [x] a\n- [ ] b\n```", 2, "say why"),
    (
        "prediction without label",
        "```{predict} softmax\nQ\n\n- [x] a\n\n  b\n\n- [ ] c\n\n  d\n```",
        1,
        "a label that begins with 'pr:'; it is 'softmax'",
    ),
    (
        "prediction with one option",
        "```{predict} pr:a\nQ\n\n- [x] a\n\n  b\n```",
        1,
        "a prediction needs two options or more",
    ),
    (
        "prediction with five options",
        "```{predict} pr:a\nQ\n\n" + "- [x] a\n\n  b\n\n" * 5 + "```",
        1,
        "4 options at most",
    ),
    ("prediction without reasons", "```{predict} pr:a\nQ\n\n- [x] a\n- [ ] b\n```", 1, "say why"),
    (
        "prediction in no order",
        "```{predict} pr:a\n:order: 2 2\nQ\n\n- [x] a\n\n  b\n\n- [ ] c\n\n  d\n```",
        1,
        "':order:' has each of 1 to 2 once; it is '2 2'",
    ),
    ("open box", f"a\n\n{HAPPENED}", 3, "happened-start without happened-end"),
    ("box in a box", f"{HAPPENED}\n\n{HAPPENED}", 7, "before the last one has ended"),
    ("box closed twice", "```{happened-end}\n```", 1, "without happened-start"),
    ("box without date", HAPPENED.replace(":date: 2026-03\n", ""), 1, "needs its date"),
    ("box of no month", HAPPENED.replace("-03", "-13"), 1, "it is '2026-13'"),
    ("box with another link", HAPPENED.replace("https:", "http:"), 1, "it is 'http://a.b'"),
    ("two hints", "a\n\n```{hints}\n1. b\n2. c\n```", 3, "hints are three steps"),
    ("words before hints", "```{hints}\na\n1. b\n2. c\n3. d\n```", 1, "hints are three steps"),
    ("definition list", "term\n: meaning", 1, "definition list"),
    ("numbered align", "a\n\n\\begin{align}\na &= b\n\\end{align}", 3, "use {math} with :label:"),
    ("open solution", "a\n\n```{solution-start} ex:case\n```", 3, "without solution-end"),
    ("closed twice", "```{solution-end}\n```", 1, "without solution-start"),
    ("code cell inside", "- ```{code-cell}\n  1\n  ```", 1, "{code-cell} has no portable form"),
]


@pytest.mark.parametrize("text, line, message", [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_what_has_no_portable_form_stops_with_file_and_line(text, line, message, cases_book):
    book, found = cases_book
    page = Portable(book, "book/cases", found)
    with pytest.raises(ValueError) as stopped:
        page.cell(text, 101)
        page.finish()
    assert str(stopped.value).startswith(f"book/cases.md:{100 + line}: ")
    assert message in str(stopped.value)


def test_macros_have_the_colours_of_the_figures():
    from attention_src.figures import PALETTE

    names = {"Q": "q", "K": "k", "V": "v", "O": "output", "P": "weights"}
    assert {macro: PALETTE[name] for macro, name in names.items()} == macros.COLOURS
    assert macros.expand(r"\Q_i \Quad \P") == r"{\color{#0072B2}Q}_i \Quad {\color{#7A5FC7}P}"
