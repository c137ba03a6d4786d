"""What a reader types into cells and passes: kept in the browser, shown again, and easy to undo.

Where it cannot be kept, the reader is told, for as long as it is so.
"""

import pytest
from bs4 import BeautifulSoup
from built_site import HTML, chapter_pages
from run_here import chapter_of, exercises
from test_accessibility import OF_COLOUR, go_dark, violations
from test_learner import BLOCKED, KEY
from test_run_here import Cells

PAGE = "book/softmax.html"
TASK = next(task for task in exercises(PAGE) if task.label == "ex:softmax-implement")
MINE = "def my_softmax(x):\n    return x  # mine: <b> & 'ü'\n"
# Where the lines of a cell's code stand, and how tall its whole box is.
SIZES = """cell => {
  const either = [...cell.querySelectorAll('.cell_input :is(pre, textarea)')];
  const code = either.find(e => e.offsetHeight);
  const { lineHeight, fontSize, fontFamily } = getComputedStyle(code);
  const [box, field] = [cell, code].map(e => e.getBoundingClientRect());
  return { lineHeight, fontSize, fontFamily, top: field.top - box.top, height: box.height };
}"""


def field_of(page, source=TASK.stub):
    """The editor of the cell with this code, as a locator; it need not be open."""
    return Cells(page).at(source).locator("textarea")


def type_mine(page, text=MINE):
    """Open the cell of the exercise and write into it; nothing is run."""
    cell = Cells(page).at(TASK.stub)
    if not cell.locator("textarea").count():
        cell.locator(".run-button").first.click()
    cell.locator("textarea").fill(text)
    return cell


def kept(page):
    """The code that is kept now, of all pages."""
    return page.evaluate("course.load().code")


def test_typed_code_survives(open_page):
    page = open_page(PAGE)
    type_mine(page)
    page.reload()  # at once: what was typed a moment ago is not lost
    assert field_of(page).input_value() == MINE
    assert page.locator("textarea").count() == 1, "only what was changed opens"
    assert "kept in this browser" in Cells(page).status(Cells(page).at(TASK.stub))
    page.locator("a.right-next").click()
    page.wait_for_url(lambda url: PAGE not in url)
    assert not page.locator("textarea").count(), "another chapter has cells of its own"
    page.go_back()
    assert field_of(page).input_value() == MINE
    page.goto("about:blank")  # the tab is closed
    assert field_of(open_page(PAGE)).input_value() == MINE


@pytest.mark.parametrize("text", [MINE, ""], ids=["typed", "emptied"])
def test_reset_gives_back_and_forgets(text, open_page):
    page = open_page(PAGE)
    type_mine(page, text)
    page.reload()
    assert field_of(page).input_value() == text
    reset = page.get_by_role("button", name="Reset")
    reset.click()
    assert field_of(page).input_value() == TASK.stub and not reset.is_visible()
    page.reload()
    assert not page.locator("textarea").count() and kept(page) == {}


def test_code_for_a_cell_that_changed_stays_away(open_page):
    page = open_page(PAGE)
    type_mine(page)
    page.reload()
    before = kept(page)
    assert list(before) == [PAGE.removesuffix(".html")]
    newer = (HTML / PAGE).read_text("utf-8").replace("NotImplementedError", "Exception")
    page.route(f"**/{PAGE}", lambda route: route.fulfill(body=newer, content_type="text/html"))
    page.reload()
    assert page.locator("div.cell .run-button").count() and not page.locator("textarea").count()
    assert kept(page) == before
    page.unroute(f"**/{PAGE}")
    page.reload()
    assert field_of(page).input_value() == MINE


def test_where_nothing_can_be_kept_one_can_type_and_run_and_is_told(open_page):
    page = open_page(PAGE)
    page.add_init_script(BLOCKED)
    page.reload()
    cell = type_mine(page, "print(1)")
    told = cell.get_by_text("Not kept: this browser’s storage is full or blocked.")
    told.wait_for()
    cells = Cells(page)
    assert cells.press(cell) == "1" and cells.status(cell) == "Done."
    assert told.is_visible(), "after the run too"


def test_code_that_is_too_long_to_keep_is_named_and_spoils_nothing(open_page):
    page = open_page(PAGE)
    cell = type_mine(page, "x = 0")
    cell.locator("textarea").fill("x" * 20_001)  # before what stood there has been kept
    page.wait_for_timeout(600)  # longer than storage waits for the next key
    assert "Not kept: it is too long." in cell.inner_text()
    page.reload()
    assert field_of(page).input_value() == "x = 0"
    cell = type_mine(page, "x" * 20_001)
    assert "Not kept: it is too long." in cell.inner_text()
    cell.locator("textarea").fill("x = 1")
    page.wait_for_function(f"localStorage['{KEY}'].includes('x = 1')")
    assert "Not kept" not in cell.inner_text()


def test_wrong_and_passed_look_different_and_a_pass_stays(open_page):
    page, other = open_page(PAGE), open_page(PAGE)
    title = f"[id='{TASK.label}'] .admonition-title"
    colours = []
    for answer, verdict, said, label in (
        (TASK.wrong, "open", "Not yet", "Yours: not yet"),
        (TASK.solution, "passed", "✓ Passed", "Yours: passed"),
    ):
        cells = Cells(page)
        stub, check = cells.at(TASK.stub), cells.at(TASK.check)
        shown, stored = check.locator(".run-yours"), check.locator(".cell_output")
        assert stored.is_visible()
        cells.write(stub, answer)
        cells.press(check)
        assert cells.status(check) == said
        assert shown.get_attribute("data-verdict") == verdict
        assert shown.locator(".run-label").inner_text() == label
        assert not stored.is_visible(), "it says: not started"
        assert page.locator(".exercise-passed").count() == (verdict == "passed")
        colours.append(shown.locator("pre").evaluate("e => getComputedStyle(e).borderLeftColor"))
        assert_colours_are_right(page)
        page.reload()
    assert len({*colours}) == 2
    for tab in (page, other):
        assert "✓ Passed" in tab.locator(title).text_content()
    assert not Cells(page).at(TASK.check).locator(".cell_output").is_visible()
    assert field_of(page).input_value() == TASK.solution
    assert_colours_are_right(page)
    go_dark(page)
    assert not violations(page, OF_COLOUR)


def assert_colours_are_right(page):
    page.evaluate("document.querySelectorAll('.katex, .highlight').forEach(e => e.remove())")
    assert not violations(page, OF_COLOUR)


def test_a_cell_keeps_its_size_when_its_editor_opens(open_page):
    page = open_page(PAGE)
    cell = Cells(page).at(TASK.stub)
    before = cell.evaluate(SIZES)
    cell.locator(".run-button").first.click()
    assert cell.locator(".run-status").inner_text() == "Fill in, then press again."
    after = cell.evaluate(SIZES)
    assert after.pop("height") == pytest.approx(before.pop("height"), abs=1)
    assert after == before
    field = cell.locator("textarea")
    assert field.get_attribute("autocorrect") == "off"
    assert cell.get_by_text("Ctrl+Enter").is_visible()
    field.fill("a\n" * 20)
    grown = field.evaluate("e => [e.scrollHeight, e.clientHeight]")
    assert grown[0] <= grown[1] + 1, "no line is out of view"  # Firefox rounds them apart


def test_keys_indent_and_dedent(open_page):
    page = open_page(PAGE)
    field = type_mine(page, "a\nb\n\nc").locator("textarea")
    press, value = page.keyboard.press, field.input_value
    field.evaluate("e => e.setSelectionRange(2, 5)")  # from the second line to before the last
    press("Control+]")
    assert value() == "a\n    b\n\nc"
    press("Control+]")
    press("Control+[")
    assert value() == "a\n    b\n\nc"
    press("Control+z")
    assert value() == "a\n        b\n\nc", "undone like any other change"
    field.fill("  one")
    press("Control+]")
    page.keyboard.type("!")
    assert value() == "      one!", "the caret stays where it was"
    press("Control+[")
    press("Control+[")
    assert value() == "one!"
    field.fill("if x:\n        ")
    press("Backspace")
    assert value() == "if x:\n    "
    press("Shift+Home")
    press("Backspace")
    assert value() == "if x:\n", "a selection goes as a whole"
    # AltGr, as browsers report it where brackets need it: Control and Alt at once.
    field.evaluate("""e => { e.unhindered = e.dispatchEvent(new KeyboardEvent('keydown',
      { key: ']', ctrlKey: true, altKey: true, cancelable: true })) }""")
    assert field.evaluate("e => e.unhindered") and value() == "if x:\n"


@pytest.mark.parametrize("page", [p for p in chapter_pages() if "\nkeep(" in chapter_of(p).text])
def test_above_the_first_cell_that_keeps_a_function_stands_where(page, site):
    before, _, after = (HTML / page).read_text("utf-8").partition('<p class="keep-note">')
    cell = "import keep\n"
    assert cell not in BeautifulSoup(before, "html.parser").get_text()
    sentence, _, after = after.partition("</p>")
    assert 'href="progress.html"' in sentence and "in this browser alone" in sentence
    assert 'class="keep-note"' not in after
    assert cell in BeautifulSoup(after, "html.parser").get_text()
