"""The table of the ledger: what is chosen is shown, and a link to a row shows it all the same."""

import pytest
from built_site import OPEN_FOLDS

PAGE = "book/claims.html"


@pytest.fixture
def ledger(open_page):
    page = open_page(PAGE)
    page.evaluate(OPEN_FOLDS)  # Firefox reads no text that is not laid out
    return page


def visible(page):
    """The rows that are shown: verdict, number of the document, and chapter."""
    rows = page.locator(".ledger tbody tr:visible").all()
    cells = [row.locator("td").all_inner_texts() for row in rows]
    return [
        (verdict.strip(), number[:3], where.split("\n")[0]) for number, _, verdict, where in cells
    ]


def test_choices_narrow_the_table(ledger):
    every = visible(ledger)
    assert len(every) == ledger.locator(".ledger tr[id]").count()
    ledger.get_by_label("Verdict").select_option("special case")
    found = [row for row in every if row[0] == "special case"]
    assert 0 < len(found) < len(every) and visible(ledger) == found
    ledger.get_by_label("Document").select_option("A page that derives the formula line by line")
    found = [row for row in found if row[1] == "004"]
    assert found and visible(ledger) == found
    chapter = found[0][2]
    ledger.locator(".ledger-filter").get_by_label("Chapter").select_option(chapter)
    found = [row for row in found if row[2] == chapter]
    assert visible(ledger) == found
    said = ledger.locator(".ledger-count").inner_text()
    assert said == f"{len(found)} of {len(every)} claims"


def test_a_link_to_a_row_shows_it(ledger):
    ledger.get_by_label("Verdict").select_option("wrong")
    row = ledger.locator("#claim-000-08")
    assert row.is_hidden()
    ledger.evaluate("location.hash = 'claim-000-08'")
    row.wait_for(state="visible")
    ledger.wait_for_function(
        "() => { const { top, bottom } = document.querySelector('#claim-000-08')"
        ".getBoundingClientRect(); return 0 <= top && bottom <= innerHeight; }"
    )
    assert ledger.get_by_label("Verdict").input_value() == ""


def test_without_scripts_all_rows_are_there(open_page):
    page = open_page(PAGE, java_script_enabled=False)
    assert page.locator(".ledger-filter").is_hidden()
    assert page.locator(".ledger tbody tr:visible").count() > 100
