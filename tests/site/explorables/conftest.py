"""A fixture: show, a page of its own for explorables, which needs no built site."""

import sys
from itertools import count
from pathlib import Path

import pytest
from built_site import come_near
from hosts import LIGHT_PAGES

from attention_src.explorables import explorable_html

sys.path.insert(0, str(Path(__file__).parents[2] / "explorables"))  # drawn.py, which Node runs


@pytest.fixture
def show(new_page, tmp_path):
    """A function: show("softmax", ("difference", "two"), width=390) -> a page that holds these."""
    errors, files = [], count()

    def visit(*names, width=1000, page=LIGHT_PAGES["system"], **options):
        head, body, scheme = page
        parts = "".join(
            explorable_html(one) if isinstance(one, str) else explorable_html(one[0], state=one[1])
            for one in names
        )
        file = tmp_path / f"page{next(files)}.html"
        file.write_text(
            f"<!doctype html>{head}<head><meta charset='utf-8'><title>Explorables</title>"
            f"<meta name='viewport' content='width=device-width'></head>"
            f"{body}<main><h1>Page</h1>{parts}<p class='after'>After</p></main></body></html>",
            encoding="utf-8",
        )
        opened = new_page(theme=scheme, width=width, **options)
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        opened.on(
            "request",
            lambda r: errors.append(r.url) if not r.url.startswith(("file:", "data:")) else None,
        )
        opened.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            come_near(opened)
        return opened

    yield visit
    assert not errors
