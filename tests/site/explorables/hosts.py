"""What tests of explorables share: pages that hold one, its state, its cells, mouse and finger."""

import json
from itertools import pairwise

import numpy as np

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


def cell(page, i, j):
    """The place of row i and column j in "masking"."""
    rows = host(page, "masking").locator(".ae-cells [aria-pressed]")
    return rows.nth(9 * i + j)


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def mouse(page, points):
    """Press the button on the first point, move through the others, and lift it."""
    page.mouse.move(*points[0])
    page.mouse.down()
    ends = page.viewport_size["width"] - 1, page.viewport_size["height"] - 1
    for point in points[1:]:
        page.mouse.move(*np.clip(point, 0, ends), steps=4)  # Firefox refuses what is outside
    page.mouse.up()


def finger(page, points):
    """Put a finger down on the first point, move it through the others, and lift it."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *at):
        touches = [{"x": x, "y": y} for x, y in at]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", points[0])
    for (x0, y0), (x1, y1) in pairwise(points):
        for share in np.linspace(0.1, 1, 10):
            touch("touchMove", (x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
            page.wait_for_timeout(20)
    touch("touchEnd")
    page.wait_for_timeout(300)
