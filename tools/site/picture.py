"""Take the README's picture from the built site: .github/course.png.

    make book && .venv/bin/python -m tools.site.picture

Side by side: a page with a live figure on a desktop, and the same page, dark, on a phone.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tools.site.server import serving

ROOT = Path(__file__).parents[2]
PAGE = "book/masking.html"
HEIGHT, GAP = 860, 24  # pixels


def screen(browser: Browser, url: str, width: int, theme: str) -> Image.Image:
    """The page, scrolled to its live figure."""
    page = browser.new_page(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if theme == "dark" else "light",
    )
    page.goto(url)
    page.locator("[data-ready] .ae-body").first.scroll_into_view_if_needed()
    page.evaluate(
        "scrollTo({top: document.querySelector('.attention-explorable').getBoundingClientRect().top"
        " + scrollY - 150, behavior: 'instant'})"
    )
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot()))
    page.close()
    return picture


def main() -> None:
    with serving(ROOT / "_build" / "html") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        screens = [
            screen(browser, f"{address}/{PAGE}", 1100, "light"),
            screen(browser, f"{address}/{PAGE}", 390, "dark"),
        ]
        browser.close()
    width = sum(s.width for s in screens) + GAP
    picture = Image.new("RGB", (width, HEIGHT), "white")
    picture.paste(screens[0], (0, 0))
    picture.paste(screens[1], (screens[0].width + GAP, 0))
    picture.quantize(128).save(ROOT / ".github" / "course.png", optimize=True)


if __name__ == "__main__":
    main()
