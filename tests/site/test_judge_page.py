"""*Is my attention right?*: paste, press, read; it is stopped, linked and kept; nothing is sent."""

import re

import pytest
from built_site import HTML, ROOT
from test_accessibility import OF_COLOUR, go_dark, violations

from tools.book.chapters import Book
from tools.site.server import Handler, serving

PAGE = "book/is_it_right.html"
SECONDS = 300_000  # milliseconds; a busy machine is not a bug
TEXT = (ROOT / "book/is_it_right.md").read_text("utf-8")
EXAMPLES = dict(
    re.findall(r"\{admonition\} ([^\n]+)\n[^\n]*judge-example\n```python\n(.*?)\n```", TEXT, re.S)
)
CAUSES = {  # the right one's is None
    "Plain attention, and right": None,
    "A mask that fills with −1e-12": "mask zeroes scores",
    "Heads that are joined without turning": "heads joined without turning",
    "A scale of √d_model for √d_k": "√ of the model's width",
    "A softmax along the wrong axis": "softmax over the heads",
    "A mask that comes after the softmax": "hidden after the softmax",
}
ENDLESS = "def attention(q, k, v):\n    while True:\n        pass\n"
LOUD = "print('x' * 10**6)\nfor i in range(10_000):\n    print(i)\n\n\n"
SENT = """import js


def attention(q, k, v):
    js.postMessage(js.JSON.parse('{"kind": "keep", "part": "softmax", "text": "stolen"}'))
    return q
"""
LEAKY = """import js


def attention(q, k, v):
    js.fetch("ADDRESS/by-fetch")
    js.eval("import('ADDRESS/by-import')")
    js.eval("new WebSocket('ADDRESS/by-socket'.replace('http', 'ws'))")
    js.eval("new FontFace('x', 'url(ADDRESS/by-font)').load()")
    request = js.XMLHttpRequest.new()
    request.open("GET", "ADDRESS/by-request", False)
    request.send()
    return q
"""


class Form:
    """The form of an open page."""

    def __init__(self, page):
        self.page = page
        self.box = page.locator("#judge")
        self.field = self.box.locator("textarea")
        self.status = self.box.locator(".run-status")
        self.verdict = self.box.locator(".judge-verdict")
        self.menu = self.box.get_by_label("Code, or an example")

    def button(self, name):
        return self.box.get_by_role("button", name=name, exact=True)

    def judge(self, code=None):
        """Type a code, press, wait for the verdict, and give its words."""
        if code is not None:
            self.field.fill(code)
        self.button("Is it right?").click()
        self.verdict.wait_for(timeout=SECONDS)
        return self.verdict.inner_text()


@pytest.fixture
def form(open_page):
    return lambda fragment="", **options: Form(open_page(PAGE + fragment, **options))


def test_every_example_is_judged_in_the_page_and_nothing_is_fetched_before(form):
    asked = []
    here = form()
    here.page.on("request", lambda request: asked.append(request.url))
    here.page.reload()
    assert not [url for url in asked if "/py/" in url], "before a press"
    names = here.menu.locator("option").all_text_contents()
    assert names == ["My own code", *EXAMPLES]
    for title, cause in CAUSES.items():
        here.menu.select_option(title)
        assert here.field.input_value() == EXAMPLES[title]
        said = here.judge()
        assert said.startswith("Wrong" if cause else "Right"), title
        assert (cause or "judged as attention") in said
    lesson = here.verdict.get_by_role("link", name="The equation")
    assert lesson.get_attribute("href") == "equation.html"
    bug = here.verdict.get_by_role("link", name=re.compile("A mask that came too late"))
    found = "a => a.getAttribute('href').includes('#')"
    here.page.wait_for_function(found, arg=bug.element_handle())
    there = bug.get_attribute("href")
    assert there == "labs/equation.html#happened-a-mask-that-came-too-late"
    here.page.locator("html").evaluate("scrollTo(0, 0)")
    assert not violations(here.page)
    go_dark(here.page)
    assert not violations(here.page, OF_COLOUR)


def test_it_fits_and_the_keyboard_suffices(form):
    here = form(width=390)
    here.menu.focus()
    here.page.keyboard.press("ArrowDown")
    assert here.field.input_value() == EXAMPLES["Plain attention, and right"]
    here.page.keyboard.press("Tab")
    here.page.keyboard.press("Tab")
    assert here.field.evaluate("e => e === document.activeElement")
    here.menu.select_option("Heads that are joined without turning")
    here.field.press("Control+Enter")
    here.verdict.wait_for(timeout=SECONDS)
    here.verdict.locator("summary").click()
    for width in (390, 320, 1366):
        here.page.set_viewport_size({"width": width, "height": 900})
        assert here.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_link_shows_its_code_and_runs_nothing(form, site):
    code = "def attention(q, k, v):\n    return q  # — ü\n"
    here = form()
    here.page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    here.field.fill(code)
    here.box.get_by_label("It should be").select_option("attention")
    here.button("Copy link to this code").click()
    here.page.get_by_text("Copied.").wait_for()
    link = here.page.evaluate("window.copied")
    assert link.startswith(f"{site}/{PAGE}#z=") and link.endswith("&kind=attention")
    denied = "navigator.clipboard.writeText = async () => { throw new Error('denied') }"
    here.page.evaluate(f"{denied}; 0")
    here.button("Copy link to this code").click()
    here.page.get_by_text("The address of this page holds your code now").wait_for()
    assert here.page.url == link
    there = form("#" + link.partition("#")[2])
    there.page.get_by_text("This code came with the link").wait_for()
    came = there.page.get_by_text("This code came with the link")
    assert came.bounding_box()["y"] < there.field.bounding_box()["y"], "a phone shows it"
    assert there.field.input_value() == code
    assert there.box.get_by_label("It should be").input_value() == "attention"
    there.page.wait_for_timeout(500)
    assert not there.page.workers, "nothing runs"
    assert not there.verdict.is_visible()
    # The reader's own code is where it was, and what is changed in the link's is kept apart.
    there.field.fill(code + "# mine")
    there.page.wait_for_timeout(600)
    there.page.reload()
    there.page.get_by_text("This code came with the link").wait_for()
    assert there.field.input_value() == code + "# mine"
    there.menu.select_option("")
    assert there.field.input_value() == code


def test_a_damaged_link_says_so(form):
    for fragment in ("#z=nonsense", "#z=%%%", "#z=AAAA&kind=x"):
        here = form(fragment)
        here.page.get_by_text("The code in this link is damaged").wait_for()
        assert here.field.input_value() == ""


def test_what_was_typed_survives_also_in_an_example(form):
    here = form()
    here.field.fill("own = 1")
    here.menu.select_option("A softmax along the wrong axis")
    here.field.fill("changed = 2")
    here.page.wait_for_timeout(600)
    here.page.reload()
    assert here.field.input_value() == "changed = 2"
    here.button("Reset").click()
    assert here.field.input_value() == EXAMPLES["A softmax along the wrong axis"]
    here.menu.select_option("")
    assert here.field.input_value() == "own = 1"


def test_what_cannot_be_judged_is_said(form):
    here = form()
    here.button("Is it right?").click()
    here.page.get_by_text("Paste a function first").wait_for()
    said = here.judge("import torch\n\nclass Mine(torch.nn.Module):\n    pass\n")
    assert "NumPy alone" in said and "python -m attention_src.judge my_file.py:Mine" in said
    assert not here.page.workers, "no Python for that"
    said = here.judge("def attention(q, k, v:\n    pass")
    assert "Not judged" in said and "SyntaxError in line 1" in said
    said = here.judge(LOUD + EXAMPLES["Plain attention, and right"])
    assert said.startswith("Right") and "9999" not in here.box.inner_text()
    said = here.judge("def attention(q, k, v):\n    return 'yes'")
    assert said.startswith("Not judged")
    # Markup in a message stays text.
    said = here.judge("def attention(q, k, v):\n    raise KeyError('<img src=x>')")
    assert said.startswith("Not judged") and "<img" in said
    assert not here.verdict.locator("img").count()
    # A function of somebody's cannot put another in place of one that the reader kept.
    here.judge(SENT)
    here.page.wait_for_function("localStorage['attention-course'].includes('stolen')")  # as typed
    assert here.page.evaluate("course.load().kept") == {}
    here.field.fill("x")
    stale = "e => getComputedStyle(e, '::before').content"
    assert "changed" in here.verdict.evaluate(stale)


def test_stop_and_patience_end_a_loop_and_the_next_press_works(form):
    here = form()
    here.field.fill(ENDLESS)
    here.button("Is it right?").click()
    here.page.get_by_text("Judging …").wait_for(timeout=SECONDS)
    here.page.wait_for_timeout(1000)
    here.button("Stop").click()
    here.page.get_by_text("Stopped.").wait_for()
    assert here.field.input_value() == ENDLESS
    here.box.evaluate("e => { e.dataset.patience = 5 }")
    said = here.judge(ENDLESS)
    assert "It had not ended after 5 seconds" in said and "loop" in said
    said = here.judge(EXAMPLES["A scale of √d_model for √d_k"])
    assert said.startswith("Wrong")


@pytest.mark.parametrize("sealed", [True, False])
def test_what_a_strangers_code_sends_arrives_nowhere(sealed, new_page, site):
    """Without the page's policy it would."""
    page = new_page()
    if not sealed:
        meta = "<meta http-equiv=.Content-Security-Policy.[^>]*>"
        html = re.sub(meta, "", (HTML / PAGE).read_text("utf-8"))
        page.route(f"**/{PAGE}", lambda route: route.fulfill(body=html, content_type="text/html"))
    asked = []

    class Another(Handler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

    with serving(HTML, answer=Another) as address:
        page.goto(f"{site}/{PAGE}")
        Form(page).judge(LEAKY.replace("ADDRESS", address))
        page.wait_for_timeout(1000)
        assert not asked if sealed else {"/by-fetch", "/by-import", "/by-request"} <= {*asked}


def test_without_scripts_the_command_is_there(open_page):
    page = open_page(PAGE, java_script_enabled=False)
    assert page.get_by_text("python -m attention_src.judge my_file.py:my_function").is_visible()
    assert not page.locator("#judge form").is_visible()


def test_llms_txt_names_every_page():
    book = Book(ROOT)
    found = re.findall(r"\]\((\S+)\): \S", (HTML / "llms.txt").read_text("utf-8"))
    assert sorted(found) == sorted(f"{book.site}/{page.docname}.html" for page in book.pages[1:])
