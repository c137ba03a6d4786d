"""What tests of explorables share: what each is given, pages that hold it, its state, its cells."""

import json
from pathlib import Path

import numpy as np

from attention_src.attention import masks
from attention_src.explorables import content
from attention_src.softmax import reference

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
MASKING = content("masking", {}).given
N = len(MASKING["tokens"])
PRESETS = {
    "everything": np.ones((N, N), bool),
    "causal": masks.causal_mask(N),
    "sliding window": masks.window_mask(N, N, 3),
    "prefix": masks.prefix_mask(N, 3),
    "padding": np.broadcast_to(masks.padding_mask([N - 2], N)[0, 0], (N, N)),
    "documents": masks.document_mask([0, 0, 0, 1, 1, 1]),
}
# What a host page says when it is dark: the site, JupyterLab, Colab, and a page that says nothing.
DARK_PAGES = {
    "site": ('<html lang="en" data-theme="dark">', "<body>", "light"),
    "jupyterlab": ('<html lang="en">', '<body data-jp-theme-light="false">', "light"),
    "colab": ('<html lang="en" theme="dark">', "<body>", "light"),
    "system": ('<html lang="en">', "<body>", "dark"),
}
LIGHT_PAGES = {
    "site": ('<html lang="en" data-theme="light">', "<body>", "dark"),
    "jupyterlab": ('<html lang="en">', '<body data-jp-theme-light="true">', "dark"),
    "colab": ('<html lang="en" theme="light">', "<body>", "dark"),
    "system": ('<html lang="en">', "<body>", "light"),
}


def host(page, name):
    return page.locator(f'[data-explorable="{name}"][data-ready]').first


def state(page, name):
    return json.loads(host(page, name).get_attribute("data-state"))


def background(page, name):
    color = page.locator(f'[data-explorable="{name}"] .ae-body').evaluate(
        "e => getComputedStyle(e).backgroundColor"
    )
    return [int(part) for part in color[4:-1].split(",")]


def assert_masking_is_right(page, expected_mask):
    now = state(page, "masking")
    np.testing.assert_array_equal(now["mask"], expected_mask)
    p = reference.softmax(np.where(expected_mask, MASKING["scores"], -np.inf))
    np.testing.assert_allclose(now["weights"], p, rtol=1e-9, atol=1e-12)
    box = host(page, "masking")
    expected = np.where(expected_mask, np.char.mod("%.2f", p), "0")
    assert box.locator("td button b").all_text_contents() == expected.ravel().tolist()
    pressed = box.locator("td button").evaluate_all("all => all.map(b => b.ariaPressed)")
    assert pressed == np.where(expected_mask, "true", "false").ravel().tolist()
    sums = box.locator("td.ae-sum").all_text_contents()
    assert sums == ["1" if row.any() else "0" for row in expected_mask]


def cell(page, i, j):
    return host(page, "masking").locator("tbody tr").nth(i).locator("td button").nth(j)
