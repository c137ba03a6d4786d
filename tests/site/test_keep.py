"""A function that passed is kept in the browser: found on other pages, listed, forgotten."""

from test_accessibility import violations
from test_learner import FULL
from test_run_here import Cells

PAGE = "book/multihead.html"
STUB = "def split_heads(x, n_heads):\n    raise NotImplementedError"
IMPORT = "from attention_src.exercises."
CHECK = f"{IMPORT}multihead import check_split_heads\n\ncheck_split_heads(split_heads)"
KEEP = f"{IMPORT}keep import keep\n\nkeep(check_split_heads, split_heads)"
LIST = f"""\
{IMPORT}keep import parts

mine = parts()
print("yours:", ", ".join(mine) or "nothing so far")"""
MINE = """\
HEADS = -3

def cut(x, n):
    return x.reshape(*x.shape[:-1], n, -1)

def split_heads(x, n_heads):
    return cut(x, n_heads).swapaxes(HEADS, -2)"""


def stored(page):
    return page.evaluate("course.load()")


def test_what_passed_is_kept_found_elsewhere_exported_and_forgotten(open_page, tmp_path):
    page = open_page(PAGE)
    cells = Cells(page)
    keep = cells.at(KEEP)
    said = "split_heads: nothing to keep yet. When check_split_heads has passed, run this again."
    assert cells.press(keep) == said and stored(page)["kept"] == {}
    cells.write(cells.at(STUB), MINE)
    # The check is run by that which keeps.
    assert cells.press(keep) == "split_heads: kept in this browser"
    assert not keep.locator(".cell_output").is_visible()
    assert "✓ Passed" in page.locator("[id='ex:multihead-split']").inner_text()

    page.goto(page.url.replace("multihead", "llm"))
    cells = Cells(page)
    assert cells.press(cells.at(LIST)) == "yours: split_heads"
    # As if the course had asked for less when this was kept.
    page.evaluate("course.keep('softmax', 'def softmax(x):\\n    return x\\n')")
    assert cells.press(cells.at(LIST)).splitlines() == [
        "softmax: left out. What you kept does not pass check_softmax any more. "
        "Mend it in its chapter and keep it again.",
        "yours: split_heads",
    ]

    page.goto(page.url.replace("llm", "progress"))
    before = stored(page)
    box = page.locator(".kept-function").first
    assert "split_heads, kept on 20" in box.inner_text() and "Many heads" in box.inner_text()
    box.locator("summary").click()
    assert box.locator("pre").text_content() == before["kept"]["split_heads"]["code"]
    assert "Code that you typed is kept for 1 cell." in page.locator("#progress").inner_text()
    assert not violations(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "mine.json")
    page.get_by_role("button", name="Forget softmax").click()
    assert page.locator(".progress-said").inner_text() == "softmax is forgotten."
    assert list(stored(page)["kept"]) == ["split_heads"]
    page.get_by_role("button", name="Forget split_heads").click()
    assert stored(page)["kept"] == {} and not page.locator(".kept-function").count()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase").click()
    page.set_input_files("input[type=file]", tmp_path / "mine.json")
    page.locator(".kept-function").nth(1).wait_for()
    assert stored(page) == before

    page.goto(page.url.replace("progress", "multihead"))
    cells = Cells(page)
    assert cells.at(STUB).locator("textarea").input_value() == MINE
    assert not cells.at(KEEP).locator(".cell_output").is_visible()


TYPO = MINE.replace("def split_heads(x, n_heads):", "def split_heads(x, n_heads)")


def test_an_answer_that_does_not_run_is_neither_judged_nor_kept(open_page):
    page = open_page(PAGE)
    cells = Cells(page)
    stub, check, keep = (cells.at(code) for code in (STUB, CHECK, KEEP))
    for before in ([], ["split_heads"]):  # fresh, and after an answer that was right
        record = stored(page)["kept"]
        assert list(record) == before
        for wrong, words in (
            (TYPO, "SyntaxError: expected ':'"),
            (f"raise ValueError('mine')\n{MINE}", "ValueError: mine"),
        ):
            cells.write(stub, wrong)
            for cell, done in ((check, "judged"), (keep, "kept"), (check, "judged")):
                said = cells.press(cell)
                assert f"raised an error: nothing is {done}." in said and words in said
                assert cells.status(cell) == "An error."
                assert "assed" not in said + cell.locator(".run-label").inner_text()
            assert stored(page)["kept"] == record
        # It says no more than it is true for.
        assert cells.press(stub).endswith(words)
        stub.locator("textarea").press("End")
        page.keyboard.type(" ")
        for cell in (stub, check, keep):
            assert not cell.locator(".run-yours").is_visible() and cells.status(cell) == ""
        cells.write(stub, MINE)
        assert "passed" in cells.press(check)
        assert cells.press(keep) == "split_heads: kept in this browser"
    # What a cell no longer makes is not there any more.
    cells.write(stub, MINE.replace("def split_heads", "def other"))
    assert "NameError: name 'split_heads' is not defined" in cells.press(check)


BLANKS = """\
a = ...  # whole letters
b = ...  # bits
c = ...  # strings
d = ...  # strings
e = ...  # numbers"""


def test_a_ladder_is_judged_by_what_stands_in_it(open_page):
    cells = Cells(open_page("book/history.html"))
    blanks = cells.at(BLANKS)
    check = cells.at(f"{IMPORT}history import check_budget\n\ncheck_budget(a, b, c, d, e)")
    cells.write(cells.all.first, "d = 358400")
    blanks.locator(".run-button").first.click()
    assert cells.status(blanks) == "Fill in, then press again."
    assert cells.press(blanks) == "" and cells.status(blanks) == "Fill in, then press again."
    assert "not started" in cells.press(check), "another d is no answer"
    cells.write(blanks, BLANKS.replace("d = ...", "d = 358400.."))
    assert "SyntaxError" in cells.press(check) and "rungs hold" not in cells.result(check)
    cells.write(blanks, BLANKS.replace("d = ...", "d = 358400"))
    assert "1 of 5 rungs hold" in cells.press(check)
    assert cells.press(blanks) == "" and cells.status(blanks) == "Fill in, then press again."
    cells.write(blanks, "a, b, c, d, e = 11, 23.73, 22400, 358400, 384")
    assert cells.press(blanks) == "" and cells.status(blanks) == "Done."


def test_what_cannot_be_kept_says_why(open_page):
    page = open_page(PAGE)
    cells = Cells(page)
    keep, stub = cells.at(KEEP), cells.at(STUB)
    cells.write(stub, MINE.replace("HEADS = -3", "TABLE = [-3, -2]").replace("HEADS, -2", "*TABLE"))
    assert cells.press(keep) == (
        "split_heads: not kept. It uses TABLE, which is set outside of it. Put TABLE inside."
    )
    cells.write(stub, MINE.replace("    return", f"    # {'x' * 20_000}\n    return"))
    assert cells.press(keep) == "split_heads: not kept, for it is too long."
    cells.write(stub, MINE)
    page.evaluate(f"{FULL}; 0")
    assert cells.press(keep) == (
        "split_heads: not kept, for this browser’s storage is full or blocked."
    )
    assert stored(page)["kept"] == {}
