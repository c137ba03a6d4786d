"""The site's smoke in WebKitGTK, the engine of Safari: `make webkit`, weekly.

Playwright cannot drive Debian's WebKit, so this speaks WebDriver to it: a few JSON calls over HTTP.
Each page comes with a script before its own ones that keeps what goes wrong: errors of scripts,
promises that nobody caught, files that did not come, console.error. It does not see what happens in
Python's worker, where an error ends the run that the test waits for, nor what the engine itself
writes on the console. Nor is this Safari: that has other codecs, menus and rules of storage.

    make webkit     needs Debian's webkit2gtk-driver and xvfb
"""

import json
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from built_site import HTML, OPEN_FOLDS, site_pages
from run_here import AS_TEXT, comparable, exercises, stored

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
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name for one
# As if the reader had been everywhere and had answered every question that veils an output.
OPEN_ALL = f"""(({OPEN_FOLDS})(),
  document.querySelectorAll(".veil").forEach((veil) => veil.classList.add("lifted")))"""
# Controls of an explorable, in the order in which they are tried. None of them fetches a model.
CONTROLS = "button:not([disabled]), input[type=range], select"
HANDLES = "[role=slider], input[type=range]"  # what is dragged, or moved by a key
ARROWS = ("\ue012", "\ue014", "\ue015")  # left, right, down


class Listening(Handler):
    """The site, each page with LISTEN before its own scripts."""

    def body(self, path):
        body = super().body(path)
        return body.replace(b"<head>", b"<head>" + LISTEN, 1) if path.suffix == ".html" else body


class WebKit:
    """One session of WebDriver."""

    def __init__(self, driver):
        self.address = f"{driver}/session"
        said = self.call("", capabilities={})
        self.address += "/" + said["sessionId"]
        self.version = said["capabilities"]["browserVersion"]
        self.call("/timeouts", script=PATIENCE * 1000)

    def call(self, path, method="POST", **body):
        data = json.dumps(body).encode() if method == "POST" else None
        kind = {"Content-Type": "application/json"}
        request = Request(self.address + path, data, kind, method=method)
        try:
            with urlopen(request, timeout=2 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except HTTPError as refused:
            pytest.fail(f"{path} {body}: {refused.read().decode()}")

    def ask(self, script, *arguments):
        """What an expression of the arguments `a` is in the page."""
        script = f"const a = arguments; return {script}"
        return self.call("/execute/sync", script=script, args=arguments)

    def wait(self, script, *arguments):
        """Ask until the answer is true; give it."""
        end = time.monotonic() + PATIENCE
        while not (answer := self.ask(script, *arguments)):
            assert time.monotonic() < end, f"{script} did not come true in {PATIENCE} s"
            time.sleep(0.02)
        return answer

    def one(self, selector):
        return self.wait("document.querySelector(a[0])", selector)

    def press(self, element):
        """As a reader does, with a pointer."""
        self.call(f"/element/{element[ELEMENT]}/click")

    def key(self, element, key):
        """Press a key on an element."""
        self.ask("a[0].focus()", element)
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.call("/actions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    def write(self, field, text):
        """Put text in a field at once: typed, each new line would be indented as the one above."""
        script = "(a[0].value = a[1], a[0].dispatchEvent(new Event('input', { bubbles: true })))"
        self.ask(script, field, text)


def listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def webkit():
    for program in ("Xvfb", "WebKitWebDriver"):
        if not shutil.which(program):
            pytest.fail(f"{program} is missing: apt install xvfb webkit2gtk-driver", pytrace=False)
    with ExitStack() as stack:

        def start(*command, **options):
            process = stack.enter_context(subprocess.Popen(command, text=True, **options))
            stack.callback(process.terminate)
            return process

        size = ("-screen", "0", "1280x900x24")
        screen = start("Xvfb", "-displayfd", "1", *size, stdout=subprocess.PIPE)
        display = f":{screen.stdout.readline().strip()}"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        driver = f"http://127.0.0.1:{port}"
        start("env", f"DISPLAY={display}", "WebKitWebDriver", f"--port={port}")
        end = time.monotonic() + PATIENCE
        while not listening(port):
            assert time.monotonic() < end, "WebKitWebDriver does not answer"
            time.sleep(0.1)
        session = WebKit(driver)
        print(f"\nWebKitGTK {session.version}")
        yield session
        session.call("", "DELETE")


@pytest.fixture(scope="module")
def base():
    with serving(HTML, answer=Listening) as address:
        yield address


@pytest.fixture
def visit(webkit, base):
    """A function: visit(page) opens it. When the test ends, nothing may have gone wrong there."""

    def go(page):
        webkit.call("/url", url=f"{base}/{page}")
        return webkit

    yield go
    assert webkit.ask("wrong") == []


def answers(there, host):
    """Whether an explorable changes its state when a reader presses one of its controls."""
    state = "a[0].dataset.state"
    before = there.ask(state, host)
    for control in there.ask("[...a[0].querySelectorAll(a[1])]", host, CONTROLS):
        if there.ask("a[0].checkVisibility()", control):
            there.ask("a[0].scrollIntoView({ block: 'center' })", control)
            there.press(control)
            if there.ask(state, host) != before:
                return True
    for handle in there.ask("[...a[0].querySelectorAll(a[1])]", host, HANDLES):
        for key in ARROWS:
            there.key(handle, key)
            if there.ask(state, host) != before:
                return True
    return False


@pytest.mark.parametrize("page", site_pages())
def test_the_page_opens_and_its_explorables_answer(page, visit):
    there = visit(page)
    assert there.ask("document.querySelector('h1').textContent")
    there.ask(OPEN_ALL)
    for host in there.ask("[...document.querySelectorAll('[data-explorable]')]"):
        there.ask("a[0].scrollIntoView({ block: 'center' })", host)
        there.wait("a[0].dataset.ready", host)
        assert answers(there, host), there.ask("a[0].dataset.explorable", host)


def run(there, cell):
    """Press the button of a code cell, wait, and give what it printed, and the seconds."""
    begin = time.monotonic()
    button = there.ask("a[0].querySelector('.run-button')", cell)
    there.ask("a[0].scrollIntoView({ block: 'center' })", button)
    there.press(button)
    if there.ask("a[0].contains(document.activeElement?.closest('textarea'))", cell):
        there.press(button)  # an exercise opens first
    there.wait("a[0].querySelector('.run-button:first-child:not([aria-disabled])')", cell)
    seconds = time.monotonic() - begin
    shown = there.ask("a[0].querySelector('.run-yours pre')", cell)
    return comparable(there.ask(f"({AS_TEXT})(a[0])", shown)) if shown else "", seconds


def code_cells(there):
    """The cells that can be run, by their code."""
    there.ask(OPEN_ALL)
    there.one(".run-button")
    cells = "[...document.querySelectorAll('div.cell:has(.run-bar)')]"
    code = there.ask(f"{cells}.map(e => e.querySelector('.cell_input pre').textContent.trimEnd())")
    return dict(zip(code, there.ask(cells), strict=True))


def test_cells_print_what_is_stored_and_an_exercise_passes(visit):
    page = "book/retrieval.html"
    there = visit(page)
    cells = code_cells(there)
    seconds = []
    for source, expected in stored(page)[:5]:
        printed, took = run(there, cells[source.rstrip()])
        assert same_text(expected, printed)
        seconds.append(took)
    print(f"first press {seconds[0]:.1f} s, the next {max(seconds[1:]):.1f} s at most")

    task = exercises(page)[0]
    stub = cells[task.stub.rstrip()]
    for answer, right in ((task.wrong, False), (task.solution, True)):
        run(there, stub)
        there.write(there.ask("a[0].querySelector('textarea')", stub), answer)
        assert ("passed" in run(there, cells[task.check.rstrip()])[0]) == right


def status(there, box, words):
    """Wait until the status in this box matches; give its words."""
    script = "a[0].querySelector('[role=status]').textContent.match(a[1])?.input"
    return there.wait(script, box, words)


def test_minilm_reads_a_sentence(visit):
    there = visit("book/your_sentence.html")
    box = there.one("[data-explorable][data-ready]")
    there.press(there.ask("a[0].querySelector('.ae-own button')", box))
    status(there, box, r"^\d+ ms$")
    field = there.ask("a[0].querySelector('.ae-own textarea')", box)
    there.write(field, "My lazy parrot reads tea leaves")
    there.wait("JSON.parse(a[0].dataset.state).tokens.includes('tea')", box)
    print("MiniLM:", status(there, box, r"^\d+ ms$"))


def test_smollm2_writes(visit):
    there = visit("book/llm.html")
    box = there.one(".model-writes:has(button:not([disabled]))")
    there.press(there.ask("a[0].querySelector('button')", box))
    said = status(there, box, r"^(?!.* of )[3-9]\d tokens|^(?!Loading|Running|Starting|\d).+")
    assert " a second" in said, said
    print("SmolLM2:", said)
    there.press(there.ask("a[0].querySelector('button:not([hidden])')", box))
    status(there, box, "^Stopped")
    text = there.ask("a[0].querySelector('.model-text').textContent", box)
    assert len(text.split()) > 20, text
