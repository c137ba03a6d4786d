"""The site in a minute: each page opens in silence, and one of each kind of thing on it works.

Of the files with a browser make test runs this one; the others look closer at the same.
"""

import pytest
from built_site import FIRST_PAGE, OPEN_FOLDS, press
from run_here import exercises, stored
from test_accessibility import EQUATIONS_AS_TEXT, FEW_TOKENS, violations
from test_judge_page import PAGE as JUDGE
from test_judge_page import Form
from test_learner import predict
from test_run_here import CHAPTERS, Cells

from attention_src.explorables import NAMES
from tools.ci.compare_outputs import same_text
from tools.page.needs import ON_PAGE

LIFT = "document.querySelectorAll('.veil').forEach(veil => veil.classList.add('lifted'))"
# Cells without one button or one reason that can be seen.
SILENT = """() => [...document.querySelectorAll('div.cell .cell_input')]
  .filter(e => [...e.querySelectorAll('.run-button, .run-why')].length !== 1
    || [...e.querySelectorAll('.run-why')].some(why => !why.checkVisibility()))
  .map(e => e.innerText.slice(0, 200))"""
PAGE = "book/softmax.html"
TASK = next(task for task in exercises(PAGE) if task.label == "ex:softmax-implement")


def test_every_page_opens_and_every_cell_and_explorable_answers(pages, open_page, site):
    """open_page's log finds any error, any message and any request to another host."""
    page, met = open_page(FIRST_PAGE), set()
    for path in pages:
        page.goto(f"{site}/{path}")
        here = page.locator("[data-explorable]").evaluate_all(
            "all => all.map(e => e.dataset.explorable)"
        )
        page.evaluate(OPEN_FOLDS)
        page.evaluate(LIFT)
        if path in CHAPTERS:
            assert_each_cell_has_a_button_or_says_why_not(page)
        for name in dict.fromkeys(here):
            assert answers(page, name), f"{path}: {name} does not answer"
            met.add(name)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert met == {*NAMES}


def assert_each_cell_has_a_button_or_says_why_not(page):
    page.locator(".run-bar").first.wait_for()
    assert page.evaluate(SILENT) == []
    said = page.locator(".run-why").all_inner_texts()
    assert all(text.endswith(": notebook") or text in ON_PAGE for text in said)


def answers(page, name):
    """Mount an explorable, press one thing, and give whether that changed its state."""
    box = page.locator(f'[data-explorable="{name}"]').first
    box.scroll_into_view_if_needed()
    box.and_(page.locator("[data-ready]")).wait_for()
    before = box.get_attribute("data-state")
    press(page, name)
    return box.get_attribute("data-state") != before


def test_a_cell_prints_what_is_stored_an_exercise_passes_and_code_survives(open_page):
    page = open_page(PAGE)
    cells = Cells(page)
    source, text = next(cell for cell in stored(PAGE) if cell[1])
    assert same_text(text, cells.press(cells.at(source)))
    cells.write(cells.at(TASK.stub), TASK.wrong)
    assert "passed" not in cells.press(cells.at(TASK.check))
    cells.write(cells.at(TASK.stub), TASK.solution)
    assert "passed" in cells.press(cells.at(TASK.check))
    page.reload()
    field = Cells(page).at(TASK.stub).locator("textarea")
    assert field.input_value() == TASK.solution


def test_a_wrong_attention_is_named(open_page):
    here = Form(open_page(JUDGE))
    here.menu.select_option("A softmax along the wrong axis")
    assert "softmax over the heads" in here.judge()


def test_a_veil_lifts(open_page):
    page = open_page(PAGE)
    label = page.locator(".veil").first.get_attribute("data-veil").split()[0]
    hidden = page.locator(f'.veil[data-veil="{label}"] > :not(.veil-note)').last
    seen = "e => e.checkVisibility({ visibilityProperty: true })"
    assert not hidden.evaluate(seen)
    predict(page, label, 0, "Sure")
    assert hidden.evaluate(seen)


@pytest.mark.parametrize("path", [FIRST_PAGE, PAGE])
def test_axe_finds_nothing(path, open_page):
    page = open_page(path)
    page.evaluate(FEW_TOKENS)
    page.evaluate(EQUATIONS_AS_TEXT)
    assert not violations(page)
