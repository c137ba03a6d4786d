"""Pages with an explorable that reads a model, and visits that must say nothing."""

import re
from contextlib import contextmanager

from hosts import host
from marks import STEADY

from attention_src.explorables import explorable_html
from tools.page.models import weights


def write_pages(root, **pages):
    """Write pages, and the model beside them: index=("sentence72", "minilm") makes index.html.

    A page is the name of an explorable and the folder in which it is told its model lies.
    """
    for file, (name, folder) in pages.items():
        if not (root / folder).exists():
            (root / folder).symlink_to(weights.ready())
        told = f'data-explorable="{name}" data-model="{folder}/" data-mb="28"'
        page = explorable_html(name).replace(f'data-explorable="{name}"', told, 1)
        (root / f"{file}.html").write_text(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Heads</title><meta '
            'name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>'
            f"<body><main><h1>Heads</h1>{page}</main></body></html>",
            "utf-8",
        )


@contextmanager
def visiting(new_page, base):
    """A function: visit(width=390, ...) -> index.html, which must say nothing."""
    wrong = []

    def go(**options):
        page = new_page(**{**STEADY, **options})
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.asked = []
        page.on("request", lambda r: page.asked.append(r.url))
        page.goto(f"{base}/index.html")
        page.wait_for_selector("[data-ready]")
        return page

    yield go
    assert not wrong


def wait(page, condition):
    """Wait until something holds of the state s."""
    page.wait_for_function(
        f"() => {{ const s = JSON.parse(document.querySelector('[data-ready]').dataset.state);"
        f" return {condition}; }}"
    )


def fetch(page, name):
    """Fetch the model for an explorable, and let it read the first sentence.

    The model is there before that, but what it then still asks for would be counted as the next
    page's.
    """
    shown = host(page, name)
    words = re.compile("^Your own sentence: (fetch 28 MB|the model is here)$")
    shown.get_by_role("button", name=words).click()
    shown.get_by_role("status").get_by_text(re.compile(r"^\d+ ms$")).wait_for()
