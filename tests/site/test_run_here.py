"""Python in the page: what cells print, exercises, stopping, and that nothing comes before a press.

Each chapter is opened once, because Python takes seconds to start.
"""

import re
from io import BytesIO
from itertools import product

import numpy as np
import pytest
from built_site import HTML, OPEN_FOLDS, QUIET, ROOT, chapter_pages, some
from PIL import Image
from run_here import AS_TEXT, chapter_of, comparable, exercises, stored
from test_accessibility import (
    EQUATIONS_AS_TEXT,
    FEW_TOKENS,
    OF_COLOUR,
    go_dark,
    violations,
)

from tools.book.chapters import Book
from tools.book.minutes import lessons
from tools.ci.compare_outputs import same_text
from tools.page import needs

# A page that has nothing but a picture to move needs no Python.
CHAPTERS = [
    page for page in chapter_pages() if any(cell.runs for cell in needs.cells(chapter_of(page)))
]
LESSONS = {f"{chapter.docname}.html" for chapter in lessons(Book(ROOT))}
# Which are run in the page each time; once a week all are, and outside the page always.
QUICK = ("llm", "multihead", "rope")
FEW = {f"book/{slug}.html" for slug in QUICK}
ALIKE = 0.5  # copies differ by up to 0.35, mostly by less than 0.1; other figures by 1 and more
SECONDS = 600_000  # milliseconds; a busy machine is not a bug


class Cells:
    """The cells of an open page that can be run."""

    def __init__(self, page):
        self.page = page
        page.evaluate(OPEN_FOLDS)  # some cells are folded
        self.all = page.locator("div.cell:has(.run-bar)")
        self.sources = page.evaluate(
            "[...document.querySelectorAll('div.cell:has(.run-bar) .cell_input pre')]"
            ".map(pre => pre.textContent.trimEnd())"
        )

    def at(self, source):
        return self.all.nth(self.sources.index(source.rstrip()))

    def press(self, cell):
        """Run a cell, wait, and give what it printed."""
        button = cell.locator(".run-button").first
        button.click()
        if cell.locator("textarea:focus").count():  # an exercise opens first
            button.click()
        return self.result(cell)

    def result(self, cell):
        cell.locator(".run-button:first-child:not([aria-disabled])").wait_for(timeout=SECONDS)
        shown = cell.locator(".run-yours")
        return comparable(shown.locator("pre").evaluate(AS_TEXT)) if shown.is_visible() else ""

    def status(self, cell):
        return cell.locator(".run-status").text_content()

    def write(self, cell, text):
        if not cell.locator("textarea").count():
            cell.locator(".run-button").first.click()
            self.result(cell)
        cell.locator("textarea").fill(text)


@pytest.fixture
def opened(open_page):
    """A function: opened(page) -> its Cells, after it was seen that nothing came too early."""

    def visit(page):
        there = open_page(page)
        there.evaluate(QUIET)
        asked = there.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
        assert any("run-here.js" in url for url in asked)
        assert not [url for url in asked if re.search("/(py|minilm)/", url)], "before a press"
        return Cells(there)

    return visit


@pytest.mark.parametrize("page", some(CHAPTERS, FEW))
def test_cells_print_what_is_stored(page, opened):
    cells = opened(page)
    expected = stored(page)
    assert cells.sources == [source.rstrip() for source, _ in expected]
    differ = []
    for cell, (source, text) in zip(cells.all.all(), expected, strict=True):
        found = cells.press(cell)
        if not same_text(text, found):
            differ.append(f"--- cell:\n{source}\n--- stored:\n{text}\n--- page:\n{found}")
    assert not differ, "\n\n".join(differ)
    check_figures(cells)
    if page in LESSONS:
        check_exercises(page, cells)


def check_figures(cells):
    """Each plot that was drawn anew looks like the chapter's."""
    lift = "document.querySelectorAll('.veil').forEach(veil => veil.classList.add('lifted'))"
    cells.page.evaluate(lift)
    for cell in cells.page.locator("div.cell:has(.run-yours .drawing > svg)").all():
        stored = cell.locator(".cell_output .drawing > svg:visible").all()
        fresh = cell.locator(".run-yours .drawing > svg:visible").all()
        for a, b in zip(stored, fresh, strict=True):
            assert differ_by(a, b) < ALIKE, b.get_attribute("aria-label")


def differ_by(a, b):
    """How much two pictures differ, seen from afar: 0 for equal ones, about 1 for other ones."""
    seen = [Image.open(BytesIO(x.screenshot())).convert("L") for x in (a, b)]
    size = (64, 64 * seen[0].height // seen[0].width)
    x, y = (np.asarray(picture.resize(size, Image.Resampling.BOX), float) for picture in seen)
    return np.abs(x - y).mean() / np.abs(x - np.median(x)).mean()


def check_exercises(page, cells):
    """Each worked solution passes, and is kept where a cell keeps it; a wrong answer is refused."""
    cells.page.evaluate(
        "window.passed = [];"
        "document.addEventListener('exercise-passed', e => passed.push(e.detail.id))"
    )
    tasks = exercises(page)
    assert tasks, "a chapter has exercises"
    for task in tasks:
        cells.write(cells.at(task.stub), task.wrong)
        said = cells.press(cells.at(task.check))
        assert said and "passed" not in said
        assert task.label not in cells.page.evaluate("passed")
        for stub, check, solution in [(task.stub, task.check, task.solution), *task.more]:
            cells.write(cells.at(stub), solution)
            assert "passed" in cells.press(cells.at(check)), task.label
            check_kept(check, cells)
    # A cell that keeps lets the check pass once more.
    assert list(dict.fromkeys(cells.page.evaluate("passed"))) == [task.label for task in tasks]
    kept = cells.page.evaluate("Object.keys(course.load().kept).length")
    assert kept == sum("\nkeep(check_" in source for source in cells.sources)


def check_kept(check, cells):
    """Where a cell keeps what this one checks, it is kept, and is right where it is found again."""
    names = re.findall(r"^check_(\w+)\(", check, re.MULTILINE)
    for name, source in product(names, cells.sources):
        if f"\nkeep(check_{name}," in source:
            cell = cells.at(source)
            assert cells.press(cell) == f"{name}: kept in this browser"
            cells.write(cell, "from attention_src.exercises.keep import parts\nlist(parts())")
            assert f"'{name}'" in cells.press(cell)


def test_on_paper_no_cell_says_why_it_has_no_button(open_page):
    """On a screen all do; test_smoke looks at every page."""
    there = open_page("book/multihead.html")
    there.evaluate(OPEN_FOLDS)
    assert there.locator(".run-why:visible").count() > 0
    there.emulate_media(media="print")
    assert there.locator(".run-why:visible").count() == 0


def test_what_a_reader_may_write(opened):
    cells = opened(CHAPTERS[0])
    cell = cells.all.nth(1)
    cells.write(cell, "")
    field = cell.locator("textarea")
    field.focus()
    cells.page.keyboard.type("def f(x):\nreturn x + [")  # Enter keeps the indentation
    assert field.input_value() == "def f(x):\n    return x + ["
    cells.page.keyboard.press("Tab")
    assert not field.evaluate("field => field === document.activeElement"), "Tab leaves"
    assert "SyntaxError" in cells.press(cell)
    cells.write(cell, "def f(x):\n    return 1 / x\n\nf(0)")
    text = cells.press(cell)
    assert text.startswith("Traceback") and text.endswith("ZeroDivisionError: division by zero")
    assert "    return 1 / x\n" in text and text.count("File ") == 2, "the reader's lines alone"
    cells.write(cell, "import torch")
    assert "notebook" in cells.press(cell)
    cells.write(cell, "for i in range(10**5):\n    print(i)")
    text = cells.press(cell)
    assert 19_000 < len(text) < 21_000 and text.endswith("more than can be shown")
    cells.write(cell, "def f(n):\n    return f(n + 1)\n\nf(0)")
    assert "recursion" in cells.press(cell)
    check_stop(cells)


def check_stop(cells):
    """An endless loop is stopped, Python is back, and the cells above are run again."""
    loop, later = cells.all.nth(0), cells.all.nth(2)
    before = cells.press(loop)
    cells.write(loop, "kept = 1")
    cells.write(later, "print(kept)")
    assert cells.press(later) == "1"
    cells.write(loop, "kept = 1\nwhile True:\n    pass")
    loop.locator("textarea").press("Control+Enter")
    stop = loop.locator(".run-button", has_text="Stop")
    stop.click(timeout=SECONDS)
    cells.result(loop)
    assert "Stopped" in cells.status(loop) and not stop.is_visible()
    # The loop is not entered again on behalf of a later cell, so its names are missing.
    assert "NameError" in cells.press(later)
    loop.locator(".run-button", has_text="Reset").click()
    assert cells.press(loop) == before


def test_on_a_phone(open_page):
    page = open_page(CHAPTERS[0], width=390, height=844)
    cells = Cells(page)
    page.evaluate(FEW_TOKENS)
    page.evaluate(EQUATIONS_AS_TEXT)
    before = violations(page)
    cells.write(cells.all.nth(2), "print('word ' * 50)\n1 / 0")
    assert "ZeroDivisionError" in cells.press(cells.all.nth(2))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "scrolls sideways"
    box = cells.all.nth(2).locator(".run-button").first.bounding_box()
    assert box["height"] >= 32 and box["width"] >= 44
    size = page.locator("textarea").first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 16, "a phone zooms into smaller fields"
    assert violations(page) == before, "test_accessibility judges the page; here, what a press adds"
    go_dark(page)
    assert not violations(page, OF_COLOUR)


def test_a_page_opened_as_a_file_says_why_it_cannot(new_page, site):
    page = new_page()
    page.goto((HTML / CHAPTERS[0]).as_uri())
    cells = Cells(page)
    cells.press(cells.all.first)
    assert "opened as a file" in cells.status(cells.all.first)
