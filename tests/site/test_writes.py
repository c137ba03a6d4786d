"""A model that writes in the page: on the cells' functions, token by token, stopped at any."""

import re
import time

import numpy as np
import pytest
from built_site import HTML
from test_accessibility import EQUATIONS_AS_TEXT, FEW_TOKENS, violations
from test_run_here import Cells

from attention_src.models.install import folder
from attention_src.models.smollm2 import FILE
from attention_src.models.smollm2.in_numpy.weights import load
from attention_src.models.smollm2.in_numpy.write import write

PAGE = "book/llm.html"
SECONDS = 180_000  # milliseconds; a busy machine is not a bug


class Form:
    """A form in which a model writes on the functions of this name."""

    def __init__(self, page, own):
        self.page, self.box = page, page.locator(f".model-writes[data-own={own}]")
        self.button = self.box.get_by_role("button", name="Write")
        self.prompt = self.box.get_by_label("The text begins")
        self.status = self.box.locator("[role=status]")

    def hears(self, words):
        """Wait for such a status, and give it; another end of the work is an error."""
        ends = f"{words}|^(?!Loading|Starting|Running|[0-9])."
        self.status.filter(has_text=re.compile(ends)).wait_for(timeout=SECONDS)
        text = self.status.text_content()
        assert re.search(words, text), text
        return text

    def stop(self):
        self.page.get_by_role("button", name="Stop", exact=True).click()

    def write(self):
        """Press, stop it after twelve tokens or a few more, and give what is written."""
        self.button.click()
        self.hears(r"^(1[2-9]|[2-9]\d) tokens, [\d.]+ a second$")
        self.stop()
        n_tokens = int(re.match(r"Stopped: (\d+) tokens", self.hears("^Stopped:"))[1])
        assert 12 <= n_tokens < 100, "it did not go on"
        return self.box.locator(".model-text").text_content()


def asked_from_now_on(page):
    """A list to which each address comes that the page asks for, its worker's included."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def test_it_writes_on_the_cells_functions_until_it_is_stopped(open_page):
    page = open_page(PAGE)
    form, cells = Form(page, "three"), Cells(page)
    came = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert not [url for url in came if "/py/" in url or "smollm2" in url], "before a press"
    said = re.fullmatch(r"Write: fetch (\d+) MB, once", form.button.text_content())
    assert 104 < int(said[1]) < 112
    # What NumPy writes, here and without the course's product for the browser.
    prompt = form.prompt.input_value()
    model = load(np.fromfile(folder("smollm2") / FILE, np.uint8))
    expected = prompt + "".join(write(model, prompt, 12))
    assert form.write().startswith(expected)
    assert form.box.locator(".model-warning").text_content() == "", "on the product"

    # A function of the reader's that is wrong is named; it is in a cell, which then runs again.
    [code] = [source for source in cells.sources if source.startswith("def grouped")]
    cell = cells.at(code)
    cells.write(cell, code.replace("keepdims=True) @ v", "keepdims=True) @ v[..., :7]"))
    form.button.click()
    form.hears(r"^parts\['grouped_attention'\] \(grouped\) returned")
    # With one that does not run nothing is written, again and again, until the cell is changed.
    cells.write(cell, code.replace("mask):", "mask)"))
    assert form.status.text_content() == "", "that was about other code"
    for _ in range(2):
        form.button.click()
        form.hears("^Cell 2, further up, raised an error. SyntaxError: expected ':'$")
        assert form.box.locator(".model-text").text_content() == prompt
    cells.write(cell, code)
    assert form.status.text_content() == ""

    # In an endless loop nothing is heard: the stop starts another Python, and what was typed stays.
    endless = code.replace("    s = q", "    while True: pass\n    s = q")
    cells.write(cell, endless)
    form.button.click()
    page.wait_for_timeout(3000)
    since = time.monotonic()
    form.stop()
    form.hears("^Stopped.$")
    assert time.monotonic() - since < 20, "two seconds, and a busy machine"
    assert cell.locator("textarea").input_value() == endless
    assert form.prompt.input_value() == prompt
    cells.write(cell, code)

    # Where nothing is kept, it says so.
    other = Form(page, "mine")
    other.button.click()
    other.box.get_by_text("mine is empty, so the model writes on the course’s").wait_for()
    other.stop()
    other.hears("^Stopped:")

    # On the course's functions it goes on as if nothing had been; nothing is fetched again.
    asked = asked_from_now_on(page)
    form.box.get_by_role("checkbox").uncheck()
    assert form.write().startswith(expected[: len(prompt) + 20])
    assert asked == []
    page.evaluate(FEW_TOKENS)
    page.evaluate(EQUATIONS_AS_TEXT)
    assert not violations(page)


def test_stop_while_it_is_fetched_and_what_came_is_kept(open_page):
    page = open_page(PAGE, width=390)
    form = Form(page, "three")
    held = max((HTML / "_static/smollm2").glob("*/*.bin")).name
    page.context.route(f"**/{held}", lambda route: None)  # an answer that never comes
    form.button.click()
    form.hears("^91 of 98 MB$")
    form.stop()
    form.hears("^Stopped: 0 tokens")
    page.context.unroute(f"**/{held}")
    asked = asked_from_now_on(page)
    form.prompt.fill("Once upon a time")
    assert form.write().startswith("Once upon a time")
    names = [url.rsplit("/", 1)[1] for url in asked]
    assert [name for name in names if name.endswith(".bin")] == [held], "the others were kept"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("name, instead", [("data-model", ""), ("data-python", 'data-python=""')])
def test_without_weights_or_python_there_is_no_form(name, instead, open_page):
    page = open_page(PAGE)
    assert page.locator(".model-writes:visible").count() == 2
    less = re.sub(f'{name}="[^"]*"', instead, (HTML / PAGE).read_text("utf-8"))
    page.route(f"**/{PAGE}", lambda route: route.fulfill(body=less, content_type="text/html"))
    page.reload()
    assert page.locator(".model-writes").count() == 2
    assert not page.locator(".model-writes:visible").count()
