"""Cells that run MiniLM in the page: a press that says how much, and one download for all."""

import json
import re

import numpy as np
import pytest
from run_here import AS_TEXT
from small_book import REPOSITORY, visiting
from test_accessibility import violations

from attention_src.models.minilm import MiniLM
from tools.book.chapters import Book
from tools.page import needs, pyodide
from tools.page.models import weights

UNTIL_KEPT = """async (count) => {
  const store = await caches.open("minilm");
  while ((await store.keys()).length < count) await new Promise((done) => setTimeout(done, 50));
}"""
SECONDS = 600_000  # milliseconds; a busy machine is not a bug
WATCH = """cell => {
  window.said = [];
  new MutationObserver(() => {
    const now = cell.querySelector(".run-status")?.textContent ?? "";
    if (now !== said.at(-1)) said.push(now);
  }).observe(cell, { childList: true, subtree: true });
}"""
EXPLORABLE = """import numpy as np
from attention_src.explorables import explorable

explorable("sentence72")"""
PLAIN = "import numpy as np\n\nprint(np.arange(3))"
# 0 if NumPy adds one number after the other, 3 if it adds each fourth, as the page's product does.
BY_LANES = """import numpy as np
print(np.float32([1e8, 1, 1, 1, -1e8, 0, 0, 0]) @ np.ones(8, np.float32))"""
NUMBERS = """e = model.embed("The cat sat on the mat")
print(*weights[3, 1].ravel().astype(float), *e.astype(float))"""


def of_maps(begins):
    """A cell of maps, without what only a notebook has."""
    page = next(c for c in Book(REPOSITORY).chapters if c.slug == "maps")
    return next(c.source for c in needs.cells(page) if c.source.startswith(begins))


LOADS = of_maps("from attention_src.models.minilm import MiniLM")
COUNTS = """favourite = weights[:, :, tokens.index("cat")].argmax(axis=-1)  # (6, 12)
for j, token in enumerate(tokens):
    print(f"{token:6} {(favourite == j).sum():2} heads")"""
A_LIST, OTHER, A_NUMBER, LAST = "a = [1]", "c = 2", "b = len(a)", "print(b)"
RUN_IT = LOADS, COUNTS, NUMBERS
CELLS = [PLAIN, LOADS, COUNTS, "print(7)", NUMBERS, A_LIST, OTHER, A_NUMBER, LAST]
CHAPTER = "(ch:heads)=\n# Heads\n\n" + "\n\n".join(
    f"```{{code-cell}} ipython3\n{tags}{code}\n```"
    for tags, code in [
        (":tags: [hide-input, explorable]\n", EXPLORABLE),
        *((":tags: [minilm]\n" if code in RUN_IT else "", code) for code in CELLS),
    ]
)
SMALL_BOOK = {"heads": CHAPTER + "\n"}


@pytest.fixture
def visit(new_page, small_site):
    """A function: visit(**as new_page) -> the page; page.asked: the files that it asked for."""
    with visiting(new_page, small_site) as go:
        yield lambda name="heads", **options: go(name, **options)


def cell(page, code):
    found = page.locator("div.cell", has=page.locator(".run-bar")).all()
    return found[CELLS.index(code)]


def button(page, code):
    return cell(page, code).locator(".run-button").first


def run(page, code):
    """Press, wait, and give what was printed."""
    button(page, code).click()
    one = cell(page, code)
    one.locator(".run-button:first-child:not([aria-disabled])").wait_for(timeout=SECONDS)
    assert one.locator(".run-status").text_content() == "Done."
    return one.locator(".run-yours pre").evaluate(AS_TEXT)


def stored(page, code):
    return cell(page, code).locator(".cell_output").first.inner_text().strip()


def of_minilm(page):
    """The names of the files of weights that the page asked for."""
    names = [url.rsplit("/", 1)[1] for url in page.asked if "/minilm/" in url]
    return [name for name in names if re.search(r"\.(bin|txt)$", name)]


def all_files():
    manifest = json.loads((weights.ready() / "manifest.json").read_text("utf-8"))
    several = [*manifest["chunks"], *manifest["blocks"]]
    once = [manifest[name] for name in ("header", "rest", "vocabulary")]
    return {one["name"] for one in several + once}


def test_a_press_that_says_how_much_and_cells_print_what_the_notebook_stores(visit):
    page = visit()
    model = round(weights.whole(weights.ready()) / 1e6)
    python = int(page.evaluate("document.querySelector('article').dataset.mb"))
    assert 44 < model < 47 and pyodide.weight(pyodide.ready()) / 1e6 > python - 1
    for code in RUN_IT:
        text = button(page, code).text_content()
        assert text == f"Run here: fetch {model + python} MB, once"
    assert button(page, PLAIN).text_content() == button(page, "print(7)").text_content()
    assert not [url for url in page.asked if "/py/" in url or "/minilm/" in url], "before a press"

    # A cell that needs none runs none above that does, and NumPy's own product.
    run(page, PLAIN)
    cell(page, PLAIN).locator("textarea").fill(BY_LANES)
    assert run(page, PLAIN) == "0.0\n"
    assert run(page, "print(7)") == "7\n"
    assert not of_minilm(page)
    assert button(page, COUNTS).text_content() == f"Run here: fetch {model} MB, once"

    # By an earlier cell, that loads it.
    assert run(page, COUNTS).strip() == stored(page, COUNTS)
    assert sorted(of_minilm(page)) == sorted(all_files()), "each once"
    assert {button(page, code).text_content() for code in CELLS} == {"Run here"}
    assert run(page, PLAIN) == "3.0\n", "a fast product came with MiniLM"
    assert run(page, LOADS).strip() == stored(page, LOADS)
    there = MiniLM.load()
    trace = there.trace("The cat sat on the mat")
    wanted = [*trace.weights[3, 1].ravel(), *there.embed("The cat sat on the mat")]
    np.testing.assert_allclose(np.fromstring(run(page, NUMBERS), sep=" "), wanted, atol=1e-5)
    assert violations(page) == []

    # Another page, or this one anew: nothing of it is fetched again, and the buttons know it.
    page.wait_for_function("caches.has('minilm-lists')")
    page.asked.clear()
    page.reload()
    button(page, COUNTS).get_by_text(re.compile("^Run here$")).wait_for()
    assert not [url for url in page.asked if "/minilm/" in url]
    assert run(page, COUNTS).strip() == stored(page, COUNTS)
    assert of_minilm(page) == []


def press(page, code):
    """Press, wait, and give what was printed, and what the status said meanwhile."""
    one = cell(page, code)
    one.evaluate(WATCH)
    return run(page, code), page.evaluate("said.filter(text => text.startsWith('Running'))")


def write(page, code, text):
    """Edit a cell, which was pressed before."""
    cell(page, code).locator("textarea").fill(text)


def test_a_press_runs_what_the_cell_needs_and_counts(visit):
    page = visit()
    both = [f"Running 2 cells above: {i} of 2 …" for i in (1, 2)]
    assert press(page, LAST) == ("1\n", [*both, "Running …"])
    assert press(page, LAST) == ("1\n", ["Running …"]), "they ran"
    assert press(page, OTHER) == ("", ["Running …"])
    assert press(page, A_LIST) == ("", ["Running …"])
    assert press(page, LAST) == ("1\n", ["Running …"]), "what they made is the same"

    # What the reader wrote is judged as it is.
    write(page, A_LIST, "a = [1, 2]")
    assert press(page, LAST) == ("2\n", [*both, "Running …"])
    write(page, OTHER, "a.append(3)")
    assert press(page, LAST) == ("3\n", [*both, "Running …"]), "not the first, which ran"


def test_explorable_and_cells_share_what_was_fetched_and_stop_keeps_what_came(visit):
    page = visit(width=390)
    page.get_by_role("button", name="Your own sentence").click()
    status = page.locator("[data-explorable=sentence72] [role=status]")
    status.filter(has_text=re.compile(r" ms$")).wait_for(timeout=SECONDS)
    first = set(of_minilm(page))
    assert first < all_files()
    held = sorted(all_files() - first)[0]
    page.context.route(f"**/{held}", lambda route: None)  # an answer that never comes
    button(page, COUNTS).click()
    one = cell(page, COUNTS)
    said = re.compile(r"^Fetching MiniLM: (3\d|4\d) of 4\d MB$")
    one.locator(".run-status", has_text=said).wait_for(timeout=SECONDS)
    page.evaluate(UNTIL_KEPT, len(all_files()) - 1)
    one.get_by_role("button", name="Stop").click()
    one.locator(".run-status", has_text="Stopped.").wait_for(timeout=SECONDS)
    later = set(of_minilm(page)) - first
    assert later == all_files() - first and sorted(of_minilm(page)) == sorted(all_files())
    page.context.unroute(f"**/{held}")
    page.asked.clear()
    assert run(page, COUNTS).strip() == stored(page, COUNTS)
    assert of_minilm(page) == [held]
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_without_weights_the_page_says_why(small_book, visit):
    page = small_book / "_build/html/book/heads.html"
    less, many = re.subn(r' data-model="[^"]*" data-mb="[^"]*"', "", page.read_text("utf-8"))
    assert many
    page.with_name("less.html").write_text(less, "utf-8")
    there = visit("less")
    there.locator(".run-bar").first.wait_for()
    said = there.locator(".run-why").all_text_contents()
    assert said == ["moves without Python", *3 * ["needs MiniLM: notebook"]]
