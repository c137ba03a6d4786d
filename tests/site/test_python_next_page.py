"""Python on the pages after a visit's first press: there before the next press, and only then."""

from built_site import QUIET
from run_here import stored
from test_run_here import SECONDS, Cells, check_stop

from tools.ci.compare_outputs import same_text

PAGE = "book/softmax.html"
KEY = "attention-course-python"
# What each page hears of its Python, and when a button is pressed, in order.
WATCH = """window.heard = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    heard.push("started");
    this.addEventListener("error", () => heard.push("failed"));
    this.addEventListener("message", ({ data }) => {
      if (data.ready) heard.push("ready");
      // Which cells must run is asked in between; those above are done before the one pressed.
      else if (data.done && !("needed" in data) && heard.at(-1) !== "done") heard.push("done");
    });
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
BROWSERS = f"""const how = location.search, real = Storage.prototype.getItem;
if (how === "?saves")
  Object.defineProperty(Navigator.prototype, "connection", {{ value: {{ saveData: true }} }});
Storage.prototype.getItem = function (key) {{
  if (how === "?blocked" && key === "{KEY}") throw new DOMException("denied");
  return real.call(this, key);
}};"""
# A browser that cannot load Python, until it can.
LOST = """window.lost = true;
window.Worker = class extends Worker {
  constructor(address, ...more) { super(lost ? "/gone.js" : address, ...more); }
};"""


def follow(page, how=""):
    """Go on to the next page of the visit; all have the same address."""
    page.goto(page.url.partition("?")[0] + how)
    return Cells(page)


def runs(cells):
    """Press the first cell; it prints what it should."""
    return same_text(stored(PAGE)[0][1], cells.press(cells.all.first))


def test_after_a_press_the_next_pages_have_python_before_theirs(open_page):
    """Python takes seconds to start, so this is one visit of several pages."""
    page = open_page(PAGE)
    page.add_init_script(WATCH)
    for _ in range(2):
        cells = follow(page)
        assert page.evaluate(SETTLED) == [], "nothing is started before a press"
    assert runs(cells)
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
    assert same_text(stored(PAGE)[0][1], cells.result(cells.all.first))
    assert page.evaluate("heard") == ["started", "pressed", "ready", "done"]

    # Where it is not to start, it waits for the press.
    page.add_init_script(BROWSERS)
    page.evaluate(f"sessionStorage.setItem('{KEY}', '{had.replace('0.29.0', '0.28.0')}')")
    follow(page)
    assert page.evaluate(SETTLED) == []
    page.evaluate(f"sessionStorage.setItem('{KEY}', '{had}')")
    for browser in ("?saves", "?blocked"):
        cells = follow(page, browser)
        assert page.evaluate(SETTLED) == [], browser
    assert runs(cells)
    follow(page)
    assert page.evaluate(SETTLED)[:1] == ["started"], "the same visit, in a browser that may"


def test_if_python_does_not_start_the_press_tries_again(new_page, site):
    page = new_page()
    page.goto(f"{site}/{PAGE}")
    assert runs(Cells(page))
    page.add_init_script(WATCH)
    page.add_init_script(LOST)
    cells = follow(page)
    page.evaluate(SETTLED)
    page.wait_for_function("heard.includes('failed')", timeout=SECONDS)
    page.evaluate("lost = false")
    assert runs(cells)
    assert page.evaluate("heard") == ["started", "failed", "pressed", "started", "ready", "done"]
