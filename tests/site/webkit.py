"""The site's smoke in WebKitGTK, the engine of Safari: `make webkit`, weekly.

Playwright cannot drive Debian's WebKit, so Selenium does. Each page comes with a script before its
own ones that keeps what goes wrong: errors of scripts, promises that nobody caught, files that did
not come, console.error. It does not see what happens in Python's worker, where an error ends the
run that the test waits for, nor what the engine itself writes on the console. Nor is this Safari:
that has other codecs, menus and rules of storage.

    make webkit     needs Debian's webkit2gtk-driver and xvfb
"""

import re

import pytest
from built_site import HTML, OPEN_FOLDS, site_pages
from run_here import AS_TEXT, comparable, exercises, stored
from selenium.webdriver import Keys, WebKitGTK
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from attention_src.explorables import module
from tools.ci.compare_outputs import same_text
from tools.site.server import Handler, serving

LISTEN = b"""<script>
  window.wrong = [];
  const file = (e) => `not loaded: ${e.target.src ?? e.target.href}`;
  addEventListener("error", (e) => wrong.push(e.message ?? file(e)), true);
  addEventListener("unhandledrejection", (e) => wrong.push(String(e.reason)));
  const report = console.error;
  console.error = (...words) => { wrong.push(words.join(" ")); report(...words); };
</script>"""
PATIENCE = 600  # seconds; a busy machine is not a bug
# As if the reader had been everywhere and had answered every question that veils an output.
OPEN_ALL = f"""({OPEN_FOLDS})();
  document.querySelectorAll(".veil").forEach((veil) => veil.classList.add("lifted"))"""

SEE = "arguments[0].scrollIntoView({ block: 'center' })"
CONTROLS = "button:not([hidden]), select, input, [role=slider], [role=button]"
# The keys of PRESS, by WebDriver's names.
KEYS = {
    "Enter": Keys.ENTER,
    "PageUp": Keys.PAGE_UP,
    "ArrowLeft": Keys.ARROW_LEFT,
    "ArrowRight": Keys.ARROW_RIGHT,
    "ArrowDown": Keys.ARROW_DOWN,
}


class Listening(Handler):
    """The site, each page with LISTEN before its own scripts."""

    def body(self, path):
        body = super().body(path)
        return body.replace(b"<head>", b"<head>" + LISTEN, 1) if path.suffix == ".html" else body


@pytest.fixture(scope="module")
def webkit():
    driver = WebKitGTK()
    print("\nWebKitGTK", driver.capabilities["browserVersion"])
    yield driver
    driver.quit()


@pytest.fixture
def visit(webkit):
    """A function: visit(page) opens it. When the test ends, nothing may have gone wrong there."""

    def go(page):
        webkit.get(f"{base}/{page}")
        webkit.execute_script(OPEN_ALL)
        return webkit

    with serving(HTML, answer=Listening) as base:
        yield go
        assert webkit.execute_script("return wrong") == []


def until(place, happens):
    """Wait until happens(place) is true, of a page or of an element in it; give it."""
    return WebDriverWait(place, PATIENCE, poll_frequency=0.02).until(happens)


def all_of(place, selector):
    return place.find_elements(By.CSS_SELECTOR, selector)


def one(place, selector):
    """The first element that this selects, once there is one."""
    return until(place, lambda place: all_of(place, selector))[0]


def answers(host):
    """Whether an explorable changes its state when a reader presses what its module says."""
    _, label, key = module(host.get_attribute("data-explorable")).PRESS
    before = host.get_attribute("data-state")
    # WebKit adds what is chosen to the name of a menu.
    named = (c for c in all_of(host, CONTROLS) if c.accessible_name.startswith(label))
    next(named).send_keys(KEYS[key])
    return host.get_attribute("data-state") != before


@pytest.mark.parametrize("page", site_pages())
def test_the_page_opens_and_its_explorables_answer(page, visit):
    there = visit(page)
    assert one(there, "h1").text
    met = set()
    for host in all_of(there, "[data-explorable]"):
        host.parent.execute_script(SEE, host)
        until(host, lambda host: host.get_attribute("data-ready"))
        name = host.get_attribute("data-explorable")
        # Another on the page may be in a state that has other controls.
        assert name in met or answers(host), name
        met.add(name)


def run(cell):
    """Press the button of a code cell, wait, and give what it printed."""
    button = one(cell, ".run-button")
    cell.parent.execute_script(SEE, button)
    button.click()
    if all_of(cell, "textarea:focus"):
        button.click()  # an exercise opens first
    one(cell, ".run-button:first-child:not([aria-disabled])")
    if not (shown := all_of(cell, ".run-yours pre")):
        return ""
    return comparable(cell.parent.execute_script(f"return ({AS_TEXT})(arguments[0])", shown[0]))


def write(field, text):
    """Put text in a field at once: typed, each new line would be indented as the one above."""
    script = """const [field, text] = arguments;
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));"""
    field.parent.execute_script(script, field, text)


def test_cells_print_what_is_stored_and_an_exercise_passes(visit):
    page = "book/retrieval.html"
    there = visit(page)
    one(there, ".run-button")
    cells = {
        one(cell, ".cell_input pre").get_property("textContent").rstrip(): cell
        for cell in all_of(there, "div.cell:has(.run-bar)")
    }
    for source, expected in stored(page)[:5]:
        assert same_text(expected, run(cells[source.rstrip()]))
    task = exercises(page)[0]
    stub = cells[task.stub.rstrip()]
    for answer, right in ((task.wrong, False), (task.solution, True)):
        run(stub)
        write(one(stub, "textarea"), answer)
        assert ("passed" in run(cells[task.check.rstrip()])) == right


def status(box, pattern):
    """Wait until the status in this box matches; give its words."""
    line = one(box, "[role=status]")
    return until(line, lambda line: re.search(pattern, line.text))[0]


def test_minilm_reads_a_sentence(visit):
    box = one(visit("book/your_sentence.html"), "[data-explorable][data-ready]")
    one(box, ".ae-own button").click()
    status(box, r"^\d+ ms$")
    write(one(box, ".ae-own textarea"), "My lazy parrot reads tea leaves")
    until(box, lambda box: '"tea"' in box.get_attribute("data-state"))
    print("MiniLM:", status(box, r"^\d+ ms$"))


def test_smollm2_writes(visit):
    box = one(visit("book/llm.html"), ".model-writes:has(button:not([disabled]))")
    one(box, "button").click()
    said = status(box, r"^(?!.* of )[3-9]\d tokens.*|^(?!Loading|Running|Starting|\d).+")
    assert " a second" in said, said
    print("SmolLM2:", said)
    one(box, "button:not([hidden])").click()
    status(box, "^Stopped")
    text = one(box, ".model-text").text
    assert len(text.split()) > 20, text
