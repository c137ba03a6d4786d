"""A model that writes in the page: on the cells' functions, token by token, stopped at any."""

import re
import time
from functools import partial

import numpy as np
import pytest
from small_book import visiting
from test_accessibility import violations

from attention_src.models.install import folder
from attention_src.models.smollm2 import FILE
from attention_src.models.smollm2.in_numpy.weights import load
from attention_src.models.smollm2.in_numpy.write import write

PROMPT = "The capital of France is"
SMALL_BOOK = {
    "writing": f"""(ch:writing)=
# Writing

```{{code-cell}} ipython3
import numpy as np


def grouped(q, k, v, mask):
    r = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x, r, axis=-3) for x in (k, v))
    s = np.where(mask, q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


three = dict(grouped_attention=grouped)
```

```{{code-cell}} ipython3
mine = {{}}
```

```{{writes}} three
:prompt: {PROMPT}
```

```{{writes}} mine
:prompt: {PROMPT}
```

Text below.
"""
}
SECONDS = 180_000  # milliseconds; a busy machine is not a bug


@pytest.fixture
def visit(new_page, small_site):
    """A function: visit(**as new_page) -> a page with a model; page.asked: what it asked for."""
    with visiting(new_page, small_site) as go:
        yield partial(go, "writing")


def expected():
    """What NumPy writes after PROMPT, here and without blocks."""
    model = load(np.fromfile(folder("smollm2") / FILE, np.uint8))
    return "".join(write(model, PROMPT, 12))


def press(page):
    form(page).get_by_role("button", name="Write").click()


def form(page):
    return page.locator(".model-writes").first


def status(page, words):
    """Wait for such a status, and give it; another end of the work is an error."""
    said = form(page).locator("[role=status]")
    ends = re.compile(f"{words}|^(?!Loading|Starting|Running|[0-9]).")
    page.wait_for_function(
        """([box, words]) => new RegExp(words).test(box.textContent)""",
        arg=[said.element_handle(), ends.pattern],
        timeout=SECONDS,
    )
    text = said.text_content()
    assert re.search(words, text), text
    return text


def written(page):
    return form(page).locator(".model-text").text_content()


def test_it_writes_on_the_cells_functions_until_it_is_stopped(visit):
    page = visit()
    assert not [url for url in page.asked if "/py/" in url or "smollm2" in url], "before a press"
    button = form(page).get_by_role("button", name="Write")
    said = re.fullmatch(r"Write: fetch (\d+) MB, once", button.text_content())
    assert 104 < int(said[1]) < 112
    press(page)
    status(page, r"^(1[2-9]|[2-9]\d) tokens, [\d.]+ a second$")
    page.get_by_role("button", name="Stop", exact=True).click()
    n_tokens = int(re.match(r"Stopped: (\d+) tokens", status(page, "^Stopped:"))[1])
    assert 12 <= n_tokens < 100, "it did not go on"
    assert written(page).startswith(PROMPT + expected())
    assert form(page).locator(".model-warning").text_content() == "", "on the product"
    assert violations(page) == []

    # A function of the reader's that is wrong is named; it is in a cell, which then runs again.
    cell = page.locator("div.cell").first
    cell.get_by_role("button", name="Run here").click()
    code = cell.locator("textarea").input_value()
    cell.locator("textarea").fill(code.replace("keepdims=True) @ v", "keepdims=True) @ v[..., :7]"))
    press(page)
    assert "parts['grouped_attention'] (grouped) returned" in status(page, "^parts")
    # With one that does not run nothing is written, again and again, until the cell is changed.
    cell.locator("textarea").fill(code.replace("mask):", "mask)"))
    assert form(page).locator("[role=status]").text_content() == "", "that was about other code"
    for _ in range(2):
        press(page)
        said = "^Cell 1, further up, raised an error. SyntaxError: expected ':'$"
        status(page, said)
        assert written(page) == PROMPT
    cell.locator("textarea").fill(code)
    assert form(page).locator("[role=status]").text_content() == ""

    # In an endless loop nothing is heard: the stop starts another Python, and what was typed stays.
    endless = code.replace("    s = np", "    while True: pass\n    s = np")
    cell.locator("textarea").fill(endless)
    press(page)
    page.wait_for_timeout(3000)
    since = time.monotonic()
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "^Stopped.$")
    assert time.monotonic() - since < 20, "two seconds, and a busy machine"
    assert cell.locator("textarea").input_value() == endless
    assert form(page).get_by_label("The text begins").input_value() == PROMPT
    cell.locator("textarea").fill(code)

    # Where nothing is kept, it says so.
    other = page.locator(".model-writes").nth(1)
    other.get_by_role("button", name="Write").click()
    other.get_by_text("mine is empty, so the model writes on the course’s").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    other.get_by_text("Stopped:").wait_for()

    # On the course's functions it goes on as if nothing had been; nothing is fetched again.
    page.asked.clear()
    form(page).get_by_role("checkbox").uncheck()
    press(page)
    status(page, r"^\d\d tokens")
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "^Stopped:")
    assert written(page).startswith(PROMPT + expected()[:20])
    assert page.asked == []


def test_stop_while_it_is_fetched_and_what_came_is_kept(visit, small_book):
    page = visit(width=390)
    chunks = sorted((small_book / "_build/html/_static/smollm2").glob("*/*.bin"))
    held = chunks[-1].name
    page.context.route(f"**/{held}", lambda route: None)  # an answer that never comes
    press(page)
    status(page, "^91 of 98 MB$")
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "^Stopped: 0 tokens")
    page.context.unroute(f"**/{held}")
    page.asked.clear()
    form(page).get_by_label("The text begins").fill("Once upon a time")
    press(page)
    status(page, r"^\d+ tokens")
    page.get_by_role("button", name="Stop", exact=True).click()
    status(page, "^Stopped:")
    assert written(page).startswith("Once upon a time")
    names = [url.rsplit("/", 1)[1] for url in page.asked]
    assert [name for name in names if name.endswith(".bin")] == [held], "the others were kept"
    shift = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(shift) <= 0


def test_without_weights_or_python_there_is_no_form(small_book, small_site, new_page):
    page_of = small_book / "_build/html/book/writing.html"
    html = page_of.read_text("utf-8")
    for name, change in (
        ("weights", lambda text: re.sub(r' data-model="[^"]*" data-mb="[^"]*"', "", text)),
        ("python", lambda text: re.sub(r'data-python="[^"]*"', 'data-python=""', text)),
    ):
        assert change(html) != html
        copy = page_of.with_name(f"{name}.html")
        copy.write_text(change(html), "utf-8")
    for name in ("weights", "python"):
        page = new_page()
        page.goto(f"{small_site}/book/{name}.html", wait_until="load")
        assert page.locator(".model-writes").count() == 2
        assert not page.locator(".model-writes:visible").count()
