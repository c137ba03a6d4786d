"""Every number of the prose is computed on its page: what must be caught.

That what is right passes, all pages show: see test_minutes.py.
"""

import nbformat
import pytest
from nbformat.v4 import new_output
from tiny import FRONT, ran, store

from tools.book.chapters import Chapter
from tools.check.__main__ import main, wrong
from tools.check.prose_numbers import not_measured, unfounded

# The page's only cell, and what it prints; −0.66, 0.1175, 431.4, 4012, 4.1e-18, 1024, 3 and 5.
CODE = """\
rate, size = 7 * 10_000, -3.5
print(f"{score:.13f}", *more, "typed 77 by hand")
"""
OUTPUT = "0.587 -0.66 0.1175 431.4 4012 4.1e-18 1,024 L3H5 46 typed 77 by hand\n"


def page(tmp_path, text, code=CODE, output=OUTPUT):
    """A chapter with this prose, and its notebook, as stored."""
    chapter = Chapter(tmp_path, "book/page")
    chapter.path.parent.mkdir(exist_ok=True)
    cell = f"```{{code-cell}} ipython3\n{code}```\n"
    chapter.path.write_text(f"{FRONT}# A page\n\n{text}\n\n{cell}", encoding="utf-8")
    store(chapter.notebook, ran(code.rstrip("\n"), output))
    return chapter


def caught(tmp_path, text, **options):
    lines = unfounded(page(tmp_path, text, **options))
    return [line.split(": ", 1)[1].split(" is in no")[0] for line in lines]


CATCH = [
    (
        "other digits",
        "The score is 0.687, 0.5873, 0.58 or 0.5.",
        ["0.687", "0.5873", "0.58", "0.5"],
    ),
    ("sign", "A correlation of −0.587.", ["−0.587"]),
    ("percentage", "That is 13 % or 1.2 %.", ["13 %", "1.2 %"]),
    ("about", "There are 4,000. About 5,000; about 0.58.", ["4,000", "5,000", "0.58"]),
    ("more than", "More than 440 times; more than 4,100; over 4,011.", ["440", "4,100", "4,011"]),
    ("less than", "Less than 420; under 300; less than 4,000.", ["420", "300", "4,000"]),
    ("a literal is not rounded", "There are 4 of them, or 3, or 69,999.", ["4", "69,999"]),
    ("power of ten", "An error of 4 × 10⁻¹⁷, or 10⁻⁹.", ["4 × 10⁻¹⁷", "10⁻⁹"]),
    ("a power", "2³¹ elements.", ["2³¹"]),
    ("range", "From 25 to 36, 27–38.", ["25", "36", "27", "38"]),
    ("a count, not a year", "It reads 2000 tokens and 2048 of them.", ["2000", "2048"]),
    ("typed into a string", "There are 77.", ["77"]),
    ("beside a role", "{term}`key` 99, {cite:p}`x2019` 98.", ["99", "98"]),
    ("title of a link", "[99 things](x.md), {ref}`98 things <ch:x>`.", ["99", "98"]),
    ("unit", "It takes 99ms or 98 GB, has 135M or 9 million.", ["99", "98", "135M", "9 million"]),
    ("table", "| a | b |\n|---|---|\n| 99 | 0.587 |", ["99"]),
    ("heading, list, quotation", "## The 99\n\n- a\n  - 98\n\n> said 97", ["99", "98", "97"]),
    ("worked-out mathematics", r"$\ln 2047 \approx 7.62$", ["7.62"]),
    ("admonition", "```{admonition} All 99\n:class: tip\n\nOf 98.\n```", ["99", "98"]),
    ("reply", "```{quiz}\n97?\n\n- [ ] 96\n\n  No, 99.\n\n- [x] 95\n```", ["97", "99", "95"]),
    ("exercise", "````{exercise} 99\n:minutes: 96\n98\n\n```text\n97\n```\n````", ["99", "98"]),
    ("solution", "`````{solution} ex:99\nIs 98.\n\n```{note}\n97\n```\n`````", ["98", "97"]),
]


@pytest.mark.parametrize("text, numbers", [c[1:] for c in CATCH], ids=[c[0] for c in CATCH])
def test_caught(text, numbers, tmp_path):
    assert caught(tmp_path, text) == numbers


def test_code_of_a_solution_counts(tmp_path):
    text = "````{solution} ex:a\n```python\nassert count == 99\n```\nSo 99.\n````"
    assert caught(tmp_path, text) == []
    assert caught(tmp_path, "````{solution} ex:a\n```text\n99\n```\nSo 99.\n````") == ["99"]


def test_the_alt_text_of_a_figure_is_prose(tmp_path):
    code = 'import x\nshow(fig, alt="From 0.587 to 99, "\n    f"{y:.95f} and 98")\n'
    chapter = page(tmp_path, "Text.", code=code)
    lines = list(unfounded(chapter))
    assert [line.split(": ")[1].split()[0] for line in lines] == ["99", "98"]
    where = chapter.text.split("\n").index('show(fig, alt="From 0.587 to 99, "') + 1
    assert lines[0].startswith(f"book/page.md:{where}: 99 is in no output")


def test_drawings_compute_nothing(tmp_path):
    chapter = page(tmp_path, "It is 99 or 98, and 97.")
    stored = nbformat.read(chapter.notebook, as_version=4)
    svg = {"image/svg+xml": "<svg><path d='M99 0'/></svg>", "text/plain": "98 in its alt text"}
    html = {"text/html": "<script>[99]</script><b data-x='98'>97</b>", "text/plain": "A table"}
    stored.cells[0].outputs = [new_output("display_data", data=data) for data in (svg, html)]
    nbformat.write(stored, chapter.notebook)
    assert [line.split(": ")[1].split()[0] for line in unfounded(chapter)] == ["99", "98"]


def test_a_fault_names_file_and_line(tmp_path):
    chapter = page(tmp_path, "First.\n\nThen **0.777** of them.")
    line = chapter.text.split("\n").index("Then **0.777** of them.") + 1
    (said,) = wrong(chapter)
    assert said.startswith(f"book/page.md:{line}: 0.777 is in no output")
    assert "of them." in said


def test_old_outputs_are_told(tmp_path):
    chapter = page(tmp_path, "Fine.")
    assert not list(wrong(chapter))
    chapter.path.write_text(chapter.text.replace("rate", "pace"), encoding="utf-8")
    old = "book/page.md: its outputs are old: python -m tools.book page"
    assert old in wrong(Chapter(chapter.root, chapter.docname))
    chapter.notebook.unlink()
    assert old in wrong(chapter)


def test_a_page_that_does_not_exist_is_an_error(capsys):
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "there is no nonsense in _toc.yml" in capsys.readouterr().err


def test_what_another_page_measured_is_compared_with_it(tmp_path):
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/page\n", "utf-8")
    said = "It was {given}`0.59 <measured in page>`, not {given}`0.6 <measured in nowhere>`."
    chapter = page(tmp_path, said + " {given}`0.61 <measured in page>` and {given}`7 <a paper>`.")
    lines = list(not_measured(chapter))
    assert [line.split(": ", 1)[1] for line in lines] == [
        *("nowhere does not print 0.6", "page does not print 0.61"),
    ]
