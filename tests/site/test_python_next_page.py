"""Python on the pages after a visit's first press: there before the next press, and only then."""

import pytest
from run_here import stored
from test_run_here import CHAPTERS, SECONDS, Cells, check_stop

from tools.as_read import same_text

FIRST, NEXT = (page for page in CHAPTERS if page in ("book/scores.html", "book/softmax.html"))
# What each page hears of its Python, and when a button is pressed, in order.
WATCH = """window.heard = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    heard.push("started");
    const names = ["ready", "failed", "done"];
    this.addEventListener("message", ({ data }) => heard.push(...names.filter((x) => data[x])));
  }
};
addEventListener("click", ({ target }) => target.matches(".run-button") && heard.push("pressed"), true);
"""
# Until a page that shows a button would have started Python: it is told of what is near with the next
# frame, and then waits for an idle moment.
SETTLED = """async () => {
  document.querySelector(".run-button").scrollIntoView();
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  await new Promise((done) => requestIdleCallback(done));
  return heard;
}"""
BLOCKED = """Object.defineProperty(window, "sessionStorage", {
  get() { throw new DOMException("denied", "SecurityError"); } })"""
OLDER = """const key = "attention-course-python", was = sessionStorage.getItem(key);
if (was) sessionStorage.setItem(key, was.replace(/py.[^/]*/, "py/0.28.0-0123abcd"))"""
SAVES_DATA = (
    "Object.defineProperty(Navigator.prototype, 'connection', { value: { saveData: true } })"
)


@pytest.fixture
def first(open_page):
    """A function: first(press=True) -> the first page of a visit, after a press of its first cell."""

    def visit(press=True):
        page = open_page(FIRST)
        page.add_init_script(WATCH)
        page.reload()
        if press:
            assert page.evaluate(SETTLED) == [], "nothing is started before a press"
            Cells(page).press(Cells(page).all.first)
        return page

    return visit


def follow(page, path=NEXT):
    page.goto(page.url.replace(FIRST, path))
    return Cells(page)


def ready(page):
    page.wait_for_function("heard.includes('ready')", timeout=SECONDS)


def test_the_next_page_has_python_before_the_press(first):
    page = first()
    cells = follow(page)
    page.evaluate(SETTLED)
    ready(page)
    text = cells.press(cells.all.first)
    assert page.evaluate("heard").index("ready") < page.evaluate("heard").index("pressed")
    assert page.evaluate("heard").count("started") == 1
    assert same_text(stored(NEXT)[0][1], text)
    check_stop(cells)


def test_a_press_while_python_starts_waits_for_it(first):
    page = first()
    cells = follow(page)
    page.evaluate(SETTLED)
    cells.all.first.locator(".run-button").first.click()
    cells.all.first.get_by_text("Starting Python").wait_for()
    assert same_text(stored(NEXT)[0][1], cells.result(cells.all.first))
    assert page.evaluate("heard") == ["started", "pressed", "ready", "done"]


def test_python_waits_until_a_button_is_near(first):
    page = first()
    page.set_viewport_size({"width": 1280, "height": 200})
    follow(page)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("heard") == []
    page.evaluate(SETTLED)
    ready(page)


def test_a_visit_without_a_press_starts_nothing(first, open_page):
    page = first(press=False)
    follow(page)
    assert page.evaluate(SETTLED) == []
    assert not page.evaluate(
        "performance.getEntriesByType('resource').some(e => /[/]py[/]/.test(e.name))"
    )


@pytest.mark.parametrize(
    "init", [BLOCKED, OLDER, SAVES_DATA], ids=["blocked", "older", "saves data"]
)
def test_where_python_is_not_to_start_it_waits_for_the_press(init, first):
    page = first()
    page.add_init_script(init)
    cells = follow(page)
    assert page.evaluate(SETTLED) == []
    assert same_text(stored(NEXT)[0][1], cells.press(cells.all.first))


def test_if_python_does_not_start_the_press_tries_again(new_page, site):
    page = new_page()
    page.add_init_script(WATCH)
    page.goto(f"{site}/{FIRST}")
    Cells(page).press(Cells(page).all.first)
    page.route("**/py/**", lambda route: route.abort())
    cells = follow(page)
    page.evaluate(SETTLED)
    page.wait_for_timeout(500)
    page.unroute("**/py/**")
    assert same_text(stored(NEXT)[0][1], cells.press(cells.all.first))
