"""Code that the browser cannot keep: the reader is told, for as long as it is so."""

import pytest
from test_learner import BLOCKED, FULL, KEY
from test_run_here import Cells
from test_typed_code import MINE, PAGE, field_of, kept, type_mine


@pytest.mark.parametrize("init", [BLOCKED, FULL], ids=["blocked", "full"])
def test_where_nothing_can_be_kept_one_can_type_and_is_told(init, open_page):
    page = open_page(PAGE)
    page.add_init_script(init)
    page.reload()
    cell = type_mine(page)
    cell.get_by_text("Not kept: this browser’s storage is full or blocked.").wait_for()
    assert field_of(page).input_value() == MINE


def test_code_that_is_too_long_to_keep_spoils_nothing(open_page):
    page = open_page(PAGE)
    type_mine(page)
    page.reload()
    before = kept(page)
    cell = type_mine(page, "x" * 30_000)
    assert "Not kept: it is too long." in cell.inner_text()
    page.reload()
    assert kept(page) == before


@pytest.mark.parametrize("first", ["", "x = 0"], ids=["alone", "with a save under way"])
def test_not_kept_is_said_for_as_long_as_it_is_so(first, open_page):
    page = open_page(PAGE)
    cell = type_mine(page, first)
    cell.locator("textarea").fill("x" * 20_001)
    page.wait_for_timeout(600)  # longer than storage waits for the next key
    assert "Not kept: it is too long." in cell.inner_text()
    cell.locator("textarea").fill("x = 1")
    page.wait_for_function(f"(localStorage['{KEY}'] ?? '').includes('x = 1')")
    assert "Not kept" not in cell.inner_text()


def test_what_could_not_be_kept_while_a_cell_ran_is_said_after_the_run(open_page):
    page = open_page(PAGE)
    cells, cell = Cells(page), type_mine(page, "print(1)")
    page.wait_for_function(f"(localStorage['{KEY}'] ?? '').includes('print(1)')")
    page.evaluate(f"{FULL}; 0")
    cell.locator(".run-button").first.click()
    cell.locator("textarea").fill("print(2)")
    cells.result(cell)
    cell.get_by_text("Not kept").wait_for()
    assert cells.status(cell) == "Done."
    assert "Not kept: this browser’s storage is full or blocked." in cell.inner_text()
