"""The table of the ledger: what is chosen is shown, and a link to a row shows it all the same."""

from built_site import OPEN_FOLDS

PAGE = "book/claims.html"
ROWS = ".ledger tbody tr:visible"
IN_SIGHT = """e => {
  const { top, bottom } = e.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""


def visible(page):
    """The rows that are shown: verdict, number of the document, and chapter."""
    cells = [row.locator("td").all_inner_texts() for row in page.locator(ROWS).all()]
    return [
        (verdict.strip(), number[:3], where.split("\n")[0]) for number, _, verdict, where in cells
    ]


def test_choices_narrow_the_table_and_a_link_to_a_row_shows_it(open_page):
    page = open_page(PAGE)
    page.evaluate(OPEN_FOLDS)  # Firefox reads no text that is not laid out
    menu = page.locator(".ledger-filter").get_by_label
    every = visible(page)
    assert len(every) == page.locator(".ledger tr[id]").count()
    menu("Verdict").select_option("special case")
    found = [row for row in every if row[0] == "special case"]
    assert 0 < len(found) < len(every) and visible(page) == found
    menu("Document").select_option("A page that derives the formula line by line")
    found = [row for row in found if row[1] == "004"]
    assert found and visible(page) == found
    menu("Chapter").select_option(found[0][2])
    found = [row for row in found if row[2] == found[0][2]]
    assert visible(page) == found
    said = page.locator(".ledger-count").inner_text()
    assert said == f"{len(found)} of {len(every)} claims"

    row = page.locator(".ledger tr[id]:not(:visible)").last
    name = row.get_attribute("id")
    page.evaluate("name => { location.hash = name; }", name)
    page.wait_for_function(f"({IN_SIGHT})(document.getElementById('{name}'))")
    assert visible(page) == every


def test_without_scripts_all_rows_are_there(open_page):
    page = open_page(PAGE, java_script_enabled=False)
    assert page.locator(".ledger-filter").is_hidden()
    assert page.locator(ROWS).count() > 100
