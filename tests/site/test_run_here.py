"""Python in the page: what cells print, exercises, stopping, and that nothing comes before a press.

Each chapter is opened once, because Python takes seconds to start.
"""

import re
from contextlib import redirect_stdout
from dataclasses import replace
from io import BytesIO, StringIO
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
# Runs all cells but the first and gives what each printed. From inside the page, since a click from
# outside takes longer than most cells do.
RUN_ALL = """async (cells) => {
  const asText = AS_TEXT;
  const printed = [];
  for (const cell of cells.slice(1)) {
    const button = cell.querySelector('.run-button');
    const runs = () => button.hasAttribute('aria-disabled');
    button.click();
    if (!runs()) button.click();  // an exercise opens first
    const end = performance.now() + 600000;
    while (runs()) {
      if (performance.now() > end) throw new Error('runs for minutes: ' + cell.textContent);
      await new Promise(done => setTimeout(done, 5));
    }
    const shown = cell.querySelector('.run-yours');
    printed.push(shown?.checkVisibility() ? asText(shown.querySelector('pre')) : '');
  }
  return printed;
}""".replace("AS_TEXT", AS_TEXT)


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

    def press_all(self):
        """Run every cell, in order, the first by a click, and give what each printed."""
        first = self.press(self.all.first)
        others = self.all.evaluate_all(RUN_ALL)
        return [first, *map(comparable, others)]

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
    for index, ((source, text), found) in enumerate(zip(expected, cells.press_all(), strict=True)):
        if not same_text(text, found):
            differ.append(
                f"--- cell {index + 1}:\n{source}\n--- stored:\n{text}\n--- page:\n{found}"
            )
    assert not differ, "\n\n".join(differ)
    check_figures(cells)
    if page in LESSONS:
        check_exercises(page, cells)


def check_figures(cells):
    """Each figure that was drawn anew looks like the chapter's, in size and in every part."""
    drawn = cells.page.locator("div.cell:has(.run-yours .drawing svg)")
    lift = "document.querySelectorAll('.veil').forEach(veil => veil.classList.add('lifted'))"
    cells.page.evaluate(lift)
    for cell in drawn.all():
        stored = cell.locator(".cell_output .drawing svg:visible")
        fresh = cell.locator(".run-yours .drawing svg:visible")
        pairs = zip(stored.all(), fresh.all(), strict=True)
        for a, b in pairs:
            if view_box(a) != view_box(
                b
            ):  # a drawing, which in a fold has room for its narrow form
                other = f".run-yours .drawing svg[viewBox='{view_box(a)}']"
                assert cell.locator(other).count() == 1
                continue
            assert differ_by(a, b) < ALIKE, b.get_attribute("aria-label")


def view_box(svg):
    return svg.evaluate("e => e.getAttribute('viewBox')")


def differ_by(a, b):
    """How much two pictures differ, seen from afar: 0 for equal ones, about 1 for other ones."""
    seen = [Image.open(BytesIO(x.screenshot())).convert("L") for x in (a, b)]
    size = (64, 64 * seen[0].height // seen[0].width)
    x, y = (np.asarray(picture.resize(size, Image.Resampling.BOX), float) for picture in seen)
    return np.abs(x - y).mean() / np.abs(x - np.median(x)).mean()


def check_exercises(page, cells):
    """Each worked solution passes; a wrong answer is refused with the notebook's words."""
    passed = (
        "window.passed = []; addEventListener('exercise-passed', e => passed.push(e.detail.id))"
    )
    cells.page.evaluate(passed.replace("addEventListener", "document.addEventListener"))
    tasks = exercises(page)
    assert tasks, "a chapter has exercises"
    said = notebook_says(tasks)
    for task, words in zip(tasks, said, strict=True):
        cells.write(cells.at(task.stub), task.wrong)
        assert same_text(words, cells.press(cells.at(task.check)))
        assert task.label not in cells.page.evaluate("passed")
        cells.write(cells.at(task.stub), task.solution)
        assert "passed" in cells.press(cells.at(task.check)), task.label
        check_kept(task, cells)
        for stub, check, solution in task.more:
            cells.write(cells.at(stub), solution)
            assert "passed" in cells.press(cells.at(check)), task.label
            check_kept(replace(task, check=check), cells)
    # A cell that keeps lets the check pass once more.
    assert list(dict.fromkeys(cells.page.evaluate("passed"))) == [task.label for task in tasks]
    kept = cells.page.evaluate("Object.keys(course.load().kept).length")
    assert kept == sum("\nkeep(check_" in source for source in cells.sources)


def names_of(task):
    """What its check cell checks; an exercise may have more such cells below."""
    return re.findall(r"^check_(\w+)\(", task.check, re.MULTILINE)


def check_kept(task, cells):
    """Where a cell keeps the solution, it is kept, and is right where it is found again."""
    for name, source in product(names_of(task), cells.sources):
        if f"\nkeep(check_{name}," in source:
            cell = cells.at(source)
            assert cells.press(cell) == f"{name}: kept in this browser"
            cells.write(cell, "from attention_src.exercises.keep import parts\nlist(parts())")
            assert f"'{name}'" in cells.press(cell)


def notebook_says(tasks):
    """What the checks print about the wrong answers outside the page."""
    code = "import numpy as np\n" + "print('=====')\n".join(
        f"{task.wrong}\n{task.check}\n" for task in tasks
    )
    with redirect_stdout(StringIO()) as out:
        exec(code, {"__name__": "__main__"})
    return [comparable(part) for part in out.getvalue().split("=====\n")]


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
