"""A function that passed is kept in the browser: found on other pages, listed, forgotten."""

import json

import pytest
from small_book import visiting
from test_accessibility import violations
from test_learner import FULL, KEY
from test_run_here import Cells

CHECK = "from attention_src.exercises.multihead import check_split_heads\n\ncheck_split_heads(mine)"
KEEP = "from attention_src.exercises.keep import keep\n\nkeep(check_split_heads, mine)"
LIST = """\
from attention_src.exercises.keep import parts

found = parts()
print("yours:", ", ".join(found) or "nothing")"""
BLANKS = "a = ...  # letters\nb = ...  # bits\nc = ...\nd = ...  # strings\ne = ...  # numbers"
LADDER = "from attention_src.exercises.history import check_budget\n\ncheck_budget(a, b, c, d, e)"
CHAPTER = f"""\
(ch:{{0}})=
# {{0}}

```{{{{code-cell}}}} ipython3
HEADS = -3
d = 358400
```

```{{{{code-cell}}}} ipython3
{LIST}
```

````{{{{exercise}}}} Heads
:label: ex:{{0}}-heads
:difficulty: 1
:minutes: 5

Split.
````

```{{{{code-cell}}}} ipython3
def mine(x, n_heads):
    raise NotImplementedError
```

```{{{{code-cell}}}} ipython3
{CHECK}
```

```{{{{code-cell}}}} ipython3
{KEEP}
```

````{{{{exercise}}}} Bits
:label: ex:{{0}}-bits
:difficulty: 1
:minutes: 5

Count.
````

```{{{{code-cell}}}} ipython3
{BLANKS}
```

```{{{{code-cell}}}} ipython3
{LADDER}
```

## What to keep

Keep.
"""
SMALL_BOOK = {name: CHAPTER.format(name) for name in ("keeping", "llm")}
STUB = "def mine(x, n_heads):\n    raise NotImplementedError"
MINE = """\
def cut(x, n):
    return x.reshape(*x.shape[:-1], n, -1)

def mine(x, n_heads):
    return cut(x, n_heads).swapaxes(HEADS, -2)"""


@pytest.fixture
def visit(new_page, small_site):
    """visit("keeping") -> its Cells; page=… goes on in that one."""
    with visiting(new_page, small_site) as go:
        yield lambda name, **options: Cells(go(name, **options))


def kept(page):
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "{}").get("kept", {})


def test_what_passed_is_kept_found_elsewhere_exported_and_forgotten(visit, tmp_path):
    cells = visit("keeping")
    page = cells.page
    assert page.locator(".keep-note").inner_text().startswith("Once your function has passed,")
    keep, stored = cells.at(KEEP), cells.at(KEEP).locator(".cell_output")
    said = "split_heads: nothing to keep yet. When check_split_heads has passed, run this again."
    assert cells.press(keep) == said and kept(page) == {}
    cells.write(cells.at(STUB), MINE)
    # The check is run by that which keeps.
    assert cells.press(keep) == "split_heads: kept in this browser"
    assert not stored.is_visible() and "✓ Passed" in page.locator(".exercise").first.inner_text()
    assert cells.press(cells.at(LIST)) == "yours: split_heads", "on the same page"

    cells = visit("llm", page=page)
    assert cells.press(cells.at(LIST)) == "yours: split_heads"
    change_course(page)
    assert cells.press(cells.at(LIST)).splitlines() == [
        "softmax: left out. What you kept does not pass check_softmax any more. "
        "Mend it in its chapter and keep it again.",
        "yours: split_heads",
    ]
    page.goto(page.url.replace("llm", "progress"))
    check_progress_page(page, tmp_path)
    cells = visit("keeping", page=page)
    assert not cells.at(KEEP).locator(".cell_output").is_visible(), "as imported"


TYPO = MINE.replace("def mine(x, n_heads):", "def mine(x, n_heads)")


def test_an_answer_that_does_not_run_is_neither_judged_nor_kept(visit):
    cells = visit("keeping")
    stub, check, keep = (cells.at(code) for code in (STUB, CHECK, KEEP))
    for before in ([], ["split_heads"]):  # fresh, and after an answer that was right
        record = kept(cells.page)
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
            assert kept(cells.page) == record
        # It says no more than it is true for.
        assert cells.press(stub).endswith(words)
        stub.locator("textarea").press("End")
        cells.page.keyboard.type(" ")
        for cell in (stub, check, keep):
            assert not cell.locator(".run-yours").is_visible() and cells.status(cell) == ""
        cells.write(stub, MINE)
        assert "passed" in cells.press(check)
        assert cells.press(keep) == "split_heads: kept in this browser"
    # What a cell no longer makes is not there any more.
    cells.write(stub, MINE.replace("def mine", "def other"))
    assert "NameError: name 'mine' is not defined" in cells.press(check)


def test_a_ladder_is_judged_by_what_stands_in_it(visit):
    cells = visit("keeping")
    blanks, check = cells.at(BLANKS), cells.at(LADDER)
    blanks.locator(".run-button").first.click()
    assert cells.status(blanks) == "Fill in, then press again."
    assert cells.press(blanks) == "" and cells.status(blanks) == "Fill in, then press again."
    assert "not started" in cells.press(check), "the chapter's own d is no answer"
    cells.write(blanks, BLANKS.replace("d = ...", "d = 358400.."))
    assert "SyntaxError" in cells.press(check) and "rungs hold" not in cells.result(check)
    cells.write(blanks, BLANKS.replace("d = ...", "d = 358400"))
    assert "1 of 5 rungs hold" in cells.press(check)
    assert cells.press(blanks) == "" and cells.status(blanks) == "Fill in, then press again."
    cells.write(blanks, "a, b, c, d, e = 11, 23.73, 22400, 358400, 384")
    assert cells.press(blanks) == "" and cells.status(blanks) == "Done."


def change_course(page):
    """As if the course had asked for less when this was kept."""
    page.evaluate("course.keep('softmax', 'def softmax(x):\\n    return x\\n')")


def check_progress_page(page, tmp_path):
    everything = kept(page)
    assert list(everything) == ["split_heads", "softmax"]
    box = page.locator(".kept-function").first
    assert "split_heads, kept on 20" in box.inner_text() and "in keeping" in box.inner_text()
    box.locator("summary").click()
    assert box.locator("pre").text_content() == everything["split_heads"]["code"]
    assert not violations(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "mine.json")
    page.get_by_role("button", name="Forget softmax").click()
    assert page.locator(".progress-said").inner_text() == "softmax is forgotten."
    assert list(kept(page)) == ["split_heads"]
    page.get_by_role("button", name="Forget split_heads").click()
    assert kept(page) == {} and not page.locator(".kept-function").count()
    page.once("dialog", lambda dialog: dialog.accept())  # there is code that was typed
    page.set_input_files("input[type=file]", tmp_path / "mine.json")
    page.locator(".kept-function").nth(1).wait_for()
    assert kept(page) == everything


def test_what_cannot_be_kept_says_why(visit):
    cells = visit("keeping")
    page, keep, stub = cells.page, cells.at(KEEP), cells.at(STUB)
    cells.write(stub, f"TABLE = [-3, -2]\n\n{MINE.replace('HEADS, -2', '*TABLE')}")
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
    assert cells.press(cells.at(LIST)) == "yours: nothing" and kept(page) == {}
