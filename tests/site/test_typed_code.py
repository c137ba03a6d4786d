"""What a reader types into cells and passes: kept in the browser, shown again, and easy to undo."""

import json

import pytest
from bs4 import BeautifulSoup
from built_site import HTML, chapter_pages
from run_here import chapter_of, exercises
from test_accessibility import OF_COLOUR, go_dark, violations
from test_learner import KEY
from test_run_here import Cells

PAGE = "book/softmax.html"
NAME = PAGE.removesuffix(".html")
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
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "{}").get("code", {})


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


def test_reset_gives_back_and_forgets(open_page):
    page = open_page(PAGE)
    reset = type_mine(page).get_by_role("button", name="Reset")
    page.wait_for_function(f"(localStorage['{KEY}'] ?? '').includes('my_softmax')")
    reset.click()
    assert field_of(page).input_value() == TASK.stub and not reset.is_visible()
    page.reload()
    assert not page.locator("textarea").count() and kept(page) == {}


def test_code_for_a_cell_that_changed_stays_away(open_page):
    page = open_page(PAGE)
    type_mine(page)
    page.reload()
    before = kept(page)
    assert list(before) == [NAME]

    def newer(route):
        text = route.fetch().text().replace("NotImplementedError", "Exception")
        route.fulfill(body=text, content_type="text/html")

    page.route(f"**/{PAGE}", newer)
    page.reload()
    assert page.locator("div.cell .run-button").count() and not page.locator("textarea").count()
    assert kept(page) == before
    page.unroute(f"**/{PAGE}")
    page.reload()
    assert field_of(page).input_value() == MINE


def test_export_erase_import_of_code(open_page, tmp_path):
    page = open_page(PAGE)
    type_mine(page)
    page.goto(page.url.replace("softmax", "progress"))
    page.get_by_text("Code that you typed is kept for 1 cell.").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "kept.json")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase").click()
    page.goto(page.url.replace("progress", "softmax"))
    assert page.locator("div.cell .run-button").count() and not page.locator("textarea").count()
    page.goto(page.url.replace("softmax", "progress"))
    page.set_input_files("input[type=file]", tmp_path / "kept.json")
    page.get_by_text("Imported kept.json.").wait_for()
    page.goto(page.url.replace("progress", "softmax"))
    assert field_of(page).input_value() == MINE


def test_an_emptied_cell_comes_back_empty_and_can_be_reset(open_page):
    page = open_page(PAGE)
    type_mine(page, "")
    page.reload()
    assert field_of(page).input_value() == ""
    Cells(page).at(TASK.stub).get_by_role("button", name="Reset").click()
    assert field_of(page).input_value() == TASK.stub
    page.reload()
    assert not page.locator("textarea").count() and kept(page) == {}


def test_wrong_and_passed_look_different_and_a_pass_stays(open_page):
    page, other = open_page(PAGE), open_page(PAGE)
    cells = Cells(page)
    stub, check = cells.at(TASK.stub), cells.at(TASK.check)
    shown, stored = check.locator(".run-yours"), check.locator(".cell_output")
    bar = "e => getComputedStyle(e.querySelector('pre')).borderLeftColor"
    title = f"[id='{TASK.label}'] .admonition-title"
    assert stored.is_visible()

    cells.write(stub, TASK.wrong)
    cells.press(check)
    assert cells.status(check) == "Not yet"
    assert shown.get_attribute("data-verdict") == "open"
    assert shown.locator(".run-label").inner_text() == "Yours: not yet"
    assert not stored.is_visible(), "it says: not started"
    orange = shown.evaluate(bar)
    assert not page.locator(".exercise-passed").count()
    cells.page.evaluate("document.querySelectorAll('.katex, .highlight').forEach(e => e.remove())")
    assert not violations(page, OF_COLOUR)

    page.reload()
    cells = Cells(page)
    stub, check = cells.at(TASK.stub), cells.at(TASK.check)
    shown, stored = check.locator(".run-yours"), check.locator(".cell_output")
    assert stored.is_visible()
    cells.write(stub, TASK.solution)
    cells.press(check)
    assert cells.status(check) == "✓ Passed"
    assert shown.get_attribute("data-verdict") == "passed"
    assert shown.locator(".run-label").inner_text() == "Yours: passed"
    assert not stored.is_visible() and shown.evaluate(bar) != orange
    assert "✓ Passed" in page.locator(title).inner_text()
    assert page.locator(".exercise-passed").count() == 1
    assert "✓ Passed" in other.locator(title).text_content(), "in another tab as well"
    page.reload()
    assert "✓ Passed" in page.locator(title).text_content()
    assert not Cells(page).at(TASK.check).locator(".cell_output").is_visible()
    assert field_of(page).input_value() == TASK.solution
    page.evaluate("document.querySelectorAll('.katex, .highlight').forEach(e => e.remove())")
    assert not violations(page, OF_COLOUR)
    go_dark(page)
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
