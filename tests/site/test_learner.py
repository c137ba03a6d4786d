"""What a learner does, on a small book: predict, pass, read, look at the progress, search."""

import json

import pytest
from built_site import OPEN_FOLDS
from small_book import visiting
from test_accessibility import OF_COLOUR, go_dark, violations

KEY = "attention-course"
BLOCKED = """Object.defineProperty(window, "localStorage", {
  configurable: true, get() { throw new DOMException("denied", "SecurityError"); } })"""
FULL = f"""const set = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, value) {{
  if (key === "{KEY}") throw new DOMException("full", "QuotaExceededError");
  set.call(this, key, value);
}}"""
DAY = "2026-01-31"
RECORD = {
    "version": 1,
    "read": {"book/one": DAY},
    "passed": {"ex:one-try": DAY},
    "predictions": {"pr:shift": {"page": "book/one", "choice": 0, "sure": 2, "right": False}},
    "code": {"book/one": {"0" * 14: "x = 1"}},
    "kept": {"softmax": {"page": "book/one", "day": DAY, "code": "def softmax(x): pass"}},
}
# Everything on the page that has a place: where, and how large.
BOXES = """() => [...document.querySelectorAll('main *')]
  .filter(e => !e.closest('.predict-said, .veil-note'))
  .map(e => [e.tagName, ...Object.values(e.getBoundingClientRect().toJSON())].join(' '))"""


@pytest.fixture
def visit(new_page, small_site):
    """visit("one", **as new_page) -> a page; page=… goes on in that one."""
    with visiting(new_page, small_site) as go:
        yield go


def predict(page, label, option, sure):
    """Choose an option and press a button."""
    box = page.locator(f'[data-label="{label}"]')
    if option is not None:
        box.locator("input").nth(option).check()
    box.get_by_role("button", name=sure, exact=True).click()
    return box


def veils(page):
    """Whether each veiled thing can be seen, in order."""
    seen = "e => e.checkVisibility({ visibilityProperty: true })"
    return [
        veil.locator(":scope > :not(.veil-note)").last.evaluate(seen)
        for veil in page.locator(".veil").all()
    ]


def forget(box):
    box.get_by_role("button", name="Forget this answer").click()


def stored(page):
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "null")


def put(page, record):
    page.evaluate(f"text => localStorage.setItem('{KEY}', text)", json.dumps(record))


def test_outputs_and_reveals_are_veiled_and_no_other_word(visit):
    page = visit("one")
    # Two outputs and the reveal; then, after the heading, an output and the reveal.
    assert veils(page) == [False] * 5
    assert page.get_by_text("Open prose above").is_visible()
    assert page.get_by_text("Some prose between").is_visible()
    for text in ("after the reveal", "after the heading"):
        assert page.get_by_text(text, exact=True).is_visible()
    assert not page.evaluate("find('hidden number 42')")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('article'))")
    assert "hidden number 42" not in page.evaluate("getSelection().toString()")
    tree = page.locator("article").aria_snapshot()
    assert "hidden number 42" not in tree and 'img "Two bars."' not in tree
    predict(page, "pr:shift", 1, "Sure")
    assert veils(page) == [True] * 3 + [False] * 2
    tree = page.locator("article").aria_snapshot()
    assert "hidden number 42" in tree and 'img "Two bars."' in tree
    page.evaluate("getSelection().removeAllRanges()")
    assert page.evaluate("find('hidden number 42')")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_when_the_veil_lifts(width, visit):
    page = visit("one", width=width)
    page.evaluate(OPEN_FOLDS)
    before = page.evaluate(BOXES)
    for label, option in (("pr:shift", 0), ("pr:second", 1)):
        page.evaluate("scrollTo(0, 0)")
        box = predict(page, label, option, "Fairly sure")
        page.evaluate("scrollTo(0, 0)")
        assert page.evaluate(BOXES) == before
        forget(box)
        page.evaluate("scrollTo(0, 0)")
        assert page.evaluate(BOXES) == before


def test_an_answer_is_needed_gets_its_reply_and_stays_until_it_is_forgotten(visit):
    page = visit("one")
    box = predict(page, "pr:shift", None, "Sure")
    assert box.locator(".predict-hint").text_content() == "Choose an answer first."
    assert stored(page) is None and veils(page) == [False] * 5
    predict(page, "pr:shift", 0, "Fairly sure")
    said = "You were fairly sure, and it was not so."
    assert box.get_by_role("status").last.text_content() == said
    assert box.locator(".predict-why:visible").count() == 1
    assert box.locator(".chosen").text_content().startswith("Not quite.")
    box.locator("input").nth(1).check()
    assert box.locator(".chosen").text_content().startswith("Right."), "others can be read"
    given = {"page": "book/one", "choice": 0, "sure": 1, "right": False}
    assert stored(page)["predictions"] == {"pr:shift": given}
    second = predict(page, "pr:second", None, "Show me")
    page.reload()
    assert veils(page) == [True] * 5
    assert said in box.text_content() and box.locator("input").first.is_checked()
    assert "Shown, not counted." in second.text_content()
    forget(box)
    assert veils(page) == [False] * 3 + [True] * 2
    page.reload()
    assert veils(page) == [False] * 3 + [True] * 2
    assert not box.locator("input:checked").count()


def test_another_tab_shows_the_same_answers(visit):
    page, other = visit("one"), visit("one")
    predict(page, "pr:shift", 2, "Guess")
    box = other.locator("[data-label='pr:shift']")
    box.get_by_text("It was a guess, and it was not so.").wait_for()
    assert veils(other) == [True] * 3 + [False] * 2
    box.locator("input").nth(1).check()  # to read another reply
    predict(page, "pr:second", 0, "Sure")
    other.wait_for_function("document.querySelectorAll('.answered').length === 2")
    assert box.locator("input").nth(1).is_checked(), "what one reads here stays"
    forget(page.locator("[data-label='pr:shift']"))
    other.wait_for_function("document.querySelectorAll('.answered').length === 1")
    assert veils(other) == [False] * 3 + [True] * 2
    assert not box.locator("input:checked").count()

    page.get_by_role("button", name="Open all answers").click()
    other.get_by_role("button", name="Close all answers").click()
    page.get_by_role("button", name="Open all answers").wait_for()
    assert veils(page) == [False] * 3 + [True] * 2


def test_an_answer_stays_what_was_chosen_when_its_option_moves(visit):
    """pr:second says `:order: 2 1`: what stands first was the second option once."""
    page = visit("one")
    old = {"page": "book/one", "choice": 1, "sure": 2, "right": True}
    put(page, RECORD | {"predictions": {"pr:second": old}})
    page.reload()
    box = page.locator("[data-label='pr:second']")
    option = box.locator(".predict-option:has(:checked)")
    option.scroll_into_view_if_needed()  # Firefox reads no text that is not laid out
    assert option.inner_text().strip() == "Yes."
    assert box.locator(".chosen").text_content().startswith("Right.")
    forget(box)
    predict(page, "pr:second", 0, "Sure")  # where it stands now
    assert stored(page)["predictions"] == {"pr:second": old}


def test_all_answers_open_and_close_again_and_nothing_is_counted(visit):
    page = visit("one")
    predict(page, "pr:shift", 0, "Sure")
    before = stored(page)
    page.get_by_role("button", name="Open all answers").click()
    assert veils(page) == [True] * 5 and not violations(page)
    first, second = page.locator(".predict").all()
    assert "You were sure, and it was not so." in first.text_content()
    assert second.locator(".chosen").text_content().startswith("Right.")
    assert "Open, like all answers." in second.text_content()
    assert not second.get_by_role("button", name="Forget this answer").is_visible()
    visit("two", page=page)
    assert all(veils(page)), "in every chapter"
    visit("one", page=page)
    forget(first)
    assert "Open, like all answers." in first.text_content(), "what is forgotten stays open"
    put(page, before)
    visit("progress", page=page)
    page.get_by_role("button", name="Close all answers").click()
    visit("one", page=page)
    assert veils(page) == [True] * 3 + [False] * 2
    assert "answered" not in second.get_attribute("class")
    assert stored(page) == before


def test_by_keyboard_alone(visit):
    page = visit("one")
    page.locator("[data-label='pr:shift'] input").first.focus()
    page.keyboard.press("ArrowDown")  # the second option; a group is one stop
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Sure"
    page.keyboard.press("Enter")
    assert veils(page) == [True] * 3 + [False] * 2
    assert page.evaluate("document.activeElement.textContent").startswith("Right.")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Forget this answer"
    page.keyboard.press("Space")
    assert veils(page) == [False] * 5
    assert page.evaluate("document.activeElement.type") == "radio"


def test_without_scripts_nothing_is_veiled_and_replies_are_folds(visit):
    page = visit("one", java_script_enabled=False)
    assert veils(page) == [True] * 5
    assert not page.locator(".predict-form").first.is_visible()
    fold = page.locator(".predict details").first
    assert not fold.get_by_text("would sharpen").is_visible()
    fold.locator("summary").click()
    assert fold.get_by_text("would sharpen").is_visible()
    page = visit("progress", java_script_enabled=False)
    assert page.locator("#progress p").is_visible()


def test_a_script_that_does_not_arrive_veils_nothing(new_page, small_site):
    page = new_page()
    page.route("**/learner/predict.js", lambda route: route.abort())
    page.goto(f"{small_site}/book/one.html")
    page.wait_for_function("!document.documentElement.classList.contains('js')")
    assert veils(page) == [True] * 5


@pytest.mark.parametrize("init", [BLOCKED, FULL], ids=["blocked", "full"])
def test_with_storage_blocked_pages_work_and_forget(init, visit):
    page = visit("one")
    page.add_init_script(init)
    page.reload()
    predict(page, "pr:shift", 1, "Sure")
    assert veils(page)[0] == (init == BLOCKED)
    page.click(".theme-switch-button")
    visit("one", page=page)
    assert veils(page) == [False] * 5
    visit("progress", page=page)
    page.get_by_text("You have made none yet.").wait_for()


def test_a_missed_question_comes_back_in_a_later_chapter_and_retires(visit):
    page = visit("one")
    right = {"page": "book/one", "choice": 0, "sure": 2, "right": True}
    later = {"page": "book/two", "choice": 0, "sure": 2, "right": False}
    given = RECORD["predictions"] | {"pr:second": right, "pr:two": later}
    put(page, RECORD | {"predictions": given})
    visit("one", page=page)
    page.wait_for_timeout(200)
    assert not page.locator(".again").count(), "what was missed here or later does not come back"
    visit("three", page=page)
    boxes = page.locator(".again .predict")
    boxes.nth(1).wait_for()
    assert [box.get_attribute("class") for box in boxes.all()] == ["predict predict-again"] * 2
    assert "What happens to the weights" in boxes.first.text_content()
    after = page.locator(".again").evaluate("e => e.nextElementSibling.id")
    assert after == "what-to-keep"
    links = boxes.first.locator("a").evaluate_all("all => all.map(a => a.pathname + a.hash)")
    assert links == ["/book/one.html#pr-shift", "/book/one.html#equation-eq-one", "/book/two.html"]
    boxes.first.locator("input").nth(2).check()
    boxes.first.get_by_role("button", name="Answer").click()
    assert "It will come back." in boxes.first.inner_text()
    page.reload()
    boxes.nth(1).wait_for()
    boxes.first.locator("input").nth(1).check()
    boxes.first.get_by_role("button", name="Answer").click()
    assert "It will not come back." in boxes.first.inner_text()
    page.reload()
    boxes.first.wait_for()
    assert boxes.locator(".predict-question").all_inner_texts() == ["A question of chapter two?"]
    assert stored(page)["predictions"]["pr:shift"]["right"] is False, "the first answer counts"


def test_progress_is_shown_exported_erased_and_imported(visit, tmp_path):
    page = visit("one")
    predict(page, "pr:shift", 0, "Sure")
    predict(page, "pr:second", 0, "Sure")
    page.evaluate(
        "document.dispatchEvent(new CustomEvent('exercise-passed', {detail: {id: 'ex:one-try'}}))"
    )
    visit("two", page=page)
    assert "book/two" not in stored(page)["read"]
    page.locator("#what-to-keep").scroll_into_view_if_needed()
    page.wait_for_function(f"'book/two' in JSON.parse(localStorage['{KEY}']).read")
    predict(page, "pr:two", 1, "Guess")

    visit("progress", page=page)
    shown = page.locator(".calibration").get_attribute("aria-label")
    assert shown.endswith("guess 1 of 1, fairly sure 0 of 0, sure 1 of 2.")
    widths = [float(bar.get_attribute("width")) for bar in page.locator(".bar").all()]
    assert widths == [290, 145]
    text = page.locator("article").inner_text()
    assert "1 of 3 chapters read, 1 exercise passed here." in text
    assert "Of 1 guess, 1 right. Of 2 sure, 1 right." in text
    rows = [row.split("\t") for row in page.locator("tbody tr").all_inner_texts()]
    assert rows[0] == ["One", "not yet", "1 of 1", "2 of 2"]
    assert rows[1][2:] == ["–", "1 of 1"] and "read on 20" in rows[1][1]
    assert rows[-3][1:] == ["One", "sure", "missed"]
    assert rows[-1] == ["A question of chapter two?", "two", "guess", "right"]

    before = stored(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    kept = tmp_path / "kept.json"
    download.value.save_as(kept)
    assert json.loads(kept.read_text("utf-8")) == before
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Erase").click()
    assert stored(page) == before
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase").click()
    assert stored(page) is None
    assert "0 of 3 chapters read" in page.locator("article").inner_text()
    page.set_input_files("input[type=file]", kept)  # nothing is here: no question
    page.get_by_text("Imported kept.json.").wait_for()
    assert stored(page) == before
    assert "1 of 3 chapters read" in page.locator("article").inner_text()

    old = tmp_path / "old.json"  # as exported before code and functions were kept
    old.write_text(json.dumps({k: v for k, v in RECORD.items() if k not in ("code", "kept")}))
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.set_input_files("input[type=file]", old)
    page.get_by_text("Nothing was changed.").wait_for()
    assert stored(page) == before
    assert "keeps: 1 chapter read, 1 exercise passed, 3 predictions." in asked[0]
    assert "old.json holds: 1 chapter read, 1 exercise passed, 1 prediction." in asked[0]
    page.once("dialog", lambda dialog: dialog.accept())
    page.set_input_files("input[type=file]", old)
    page.get_by_text("Imported old.json. It replaced what was here.").wait_for()
    assert stored(page) == RECORD | {"code": {}, "kept": {}}
    page.click("text=What happens to the weights")
    assert page.url.endswith("/book/one.html#pr-shift")


GIVEN, FUNCTION = RECORD["predictions"]["pr:shift"], RECORD["kept"]["softmax"]
CELLS = RECORD["code"]["book/one"] | {"1" * 14: 5, "2" * 14: "x" * 20_001}
DAMAGED = {
    "read": {"book/two": "yesterday"},
    "passed": {"no label": DAY},
    "predictions": {
        "pr:null": None,
        "pr:four": GIVEN | {"choice": 4},
        "pr:away": GIVEN | {"page": "//evil.example"},
    },
    "code": {"book/one": CELLS, "book/two": {"0" * 14: None}, "book/three": []},
    "kept": {
        "../softmax": FUNCTION,
        "sample": FUNCTION | {"page": "//evil.example"},
        "project": FUNCTION | {"day": None},
    },
}


def test_a_damaged_part_or_entry_takes_no_other_with_it(visit):
    page = visit("one")
    for part, entries in DAMAGED.items():
        put(page, RECORD | {part: RECORD[part] | entries})
        assert page.evaluate("course.load()") == RECORD
        put(page, RECORD | {part: ["damaged"]})
        assert page.evaluate("course.load()") == RECORD | {part: {}}


@pytest.mark.parametrize(
    "record, why",
    [
        ("{", "it is not JSON"),
        ("[]", "not a record of this course"),
        (json.dumps(RECORD | {"version": 9}), "its version is 9, not 1"),
        ('{"version": 1, "read": {}, "passed": {}}', "“predictions” is missing"),
        (json.dumps(RECORD | {"passed": {"ex:a": "<b>"}}), "damaged at “ex:a”"),
        (json.dumps(RECORD | {"code": {"book/one": {"x": "1"}}}), "damaged at “book/one”"),
    ],
)
def test_a_broken_import_says_so_and_changes_nothing(record, why, visit, tmp_path):
    page = visit("progress")
    put(page, RECORD)
    (tmp_path / "broken.json").write_text(record)
    page.set_input_files("input[type=file]", tmp_path / "broken.json")
    said = page.get_by_text("Nothing was changed: broken.json cannot be imported")
    said.wait_for()
    assert why in said.inner_text()
    assert stored(page) == RECORD


def test_search_shows_the_sentence_around_the_word(visit):
    page = visit("progress")
    page.keyboard.press("Control+k")
    page.keyboard.type("searchword")
    page.keyboard.press("Enter")
    context = page.locator("#search-results .context")
    context.wait_for()
    assert context.inner_text() == (
        "Open prose above, about SEARCHWORD in the middle. This sentence is another one."
    )
    page.locator("#search-results li a").click()
    page.wait_for_url("**/book/one.html*")


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_before_and_after(width, visit):
    page = visit("one", width=width)
    assert not violations(page)
    predict(page, "pr:shift", 0, "Sure")
    predict(page, "pr:second", 0, "Sure")
    for name, place in (("one", ".answered"), ("three", ".again"), ("progress", ".calibration")):
        visit(name, page=page)
        page.locator(place).first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not violations(page)
        go_dark(page)
        assert not violations(page, OF_COLOUR)
