"""Python on the pages after a visit's first press: there before the next press, and only then."""

import pytest
from built_site import QUIET
from run_here import stored
from test_run_here import CHAPTERS, SECONDS, Cells, check_stop

from tools.ci.compare_outputs import same_text

FIRST, NEXT = (page for page in CHAPTERS if page in ("book/scores.html", "book/softmax.html"))
KEY = "attention-course-python"
# What each page hears of its Python, and when a button is pressed, in order.
WATCH = """window.heard = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    heard.push("started");
    const names = ["ready", "done"];
    // Cells above are done as well, before the one that was pressed.
    const news = (data) => names.filter((x) => data[x] && heard.at(-1) !== x);
    const heed = ({ data }) => "needed" in data || heard.push(...news(data));
    this.addEventListener("message", heed); // which cells must run is asked in between
    this.addEventListener("error", () => heard.push("failed"));
  }
};
const listen = ({ target }) => target.matches(".run-button") && heard.push("pressed");
addEventListener("click", listen, true);
"""
# Until a page that shows a button would have started Python: it is told of what is near with the
# next frame, and then waits for an idle moment.
SETTLED = """async () => {
  document.querySelector(".run-button").scrollIntoView();
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  await new Promise((done) => requestIdleCallback(done));
  return heard;
}"""
# Presses as soon as Python has been started, and gives what the page then says.
PRESS_AT_ONCE = f"""async () => {{
  await ({SETTLED})();
  document.querySelector(".run-button").click();
  await new Promise((done) => setTimeout(done));
  return document.querySelector(".run-status").textContent;
}}"""
# A browser that saves data, or that keeps nothing of a session, where the address says so.
BROWSERS = f"""const how = location.search;
if (how === "?saves")
  Object.defineProperty(Navigator.prototype, "connection", {{ value: {{ saveData: true }} }});
for (const name of how === "?blocked" ? ["getItem", "setItem"] : []) {{
  const real = Storage.prototype[name];
  Storage.prototype[name] = function (key, ...value) {{
    if (key === "{KEY}") throw new DOMException("denied", "SecurityError");
    return real.call(this, key, ...value);
  }};
}}"""

# A browser that cannot load Python, until it can.
LOST = """window.lost = true;
window.Worker = class extends Worker {
  constructor(address, ...more) { super(lost ? "/gone.js" : address, ...more); }
};"""


@pytest.fixture
def first(open_page):
    """A function: first(press=True) -> a visit's first page, after a press of its first cell."""

    def visit(press=True):
        page = open_page(FIRST)
        page.add_init_script(WATCH)
        page.reload()
        assert page.evaluate(SETTLED) == [], "nothing is started before a press"
        if press:
            Cells(page).press(Cells(page).all.first)
        return page

    return visit


def follow(page, address=NEXT):
    """Go on to the next page of the visit."""
    page.goto(page.url[: page.url.index("/book/") + 1] + address)
    return Cells(page)


def runs(cells):
    """Press the first cell; it prints what it should."""
    return same_text(stored(NEXT)[0][1], cells.press(cells.all.first))


def test_a_visit_without_a_press_starts_nothing(first):
    page = first(press=False)
    follow(page)
    assert page.evaluate(SETTLED) == []


def test_after_a_press_the_next_pages_have_python_before_theirs(first):
    """Python takes seconds to start, so this is one visit of several pages."""
    page = first()
    had = page.evaluate(f"sessionStorage.getItem('{KEY}')")
    assert "0.29.0" in had, "of which version the browser has the files"

    page.set_viewport_size({"width": 1280, "height": 200})
    cells = follow(page)
    page.evaluate(QUIET)
    assert page.evaluate("heard") == [], "it waits until a button is near"
    page.evaluate(SETTLED)
    page.wait_for_function("heard.includes('ready')", timeout=SECONDS)
    assert runs(cells)
    assert page.evaluate("heard") == ["started", "ready", "pressed", "done"]
    check_stop(cells)

    # A press while it starts waits for it.
    page.set_viewport_size({"width": 1280, "height": 900})
    cells = follow(page)
    assert page.evaluate(PRESS_AT_ONCE) == "Starting Python …"
    assert same_text(stored(NEXT)[0][1], cells.result(cells.all.first))
    assert page.evaluate("heard") == ["started", "pressed", "ready", "done"]

    # Where it is not to start, it waits for the press.
    page.add_init_script(BROWSERS)
    page.evaluate(f"sessionStorage.setItem('{KEY}', '{had.replace('0.29.0', '0.28.0')}')")
    follow(page)
    assert page.evaluate(SETTLED) == []
    page.evaluate(f"sessionStorage.setItem('{KEY}', '{had}')")
    for browser in ("saves", "blocked"):
        cells = follow(page, f"{NEXT}?{browser}")
        assert page.evaluate(SETTLED) == [], browser
    assert runs(cells)
    follow(page)
    assert page.evaluate(SETTLED)[:1] == ["started"], "the same visit, in a browser that may"


def test_if_python_does_not_start_the_press_tries_again(new_page, site):
    page = new_page()
    page.goto(f"{site}/{FIRST}")
    Cells(page).press(Cells(page).all.first)
    page.add_init_script(WATCH)
    page.add_init_script(LOST)
    cells = follow(page)
    page.evaluate(SETTLED)
    page.wait_for_function("heard.includes('failed')", timeout=SECONDS)
    page.evaluate("lost = false")
    assert runs(cells)
    assert page.evaluate("heard") == ["started", "failed", "pressed", "started", "ready", "done"]
