"""In Firefox alone: dark and calm are what a test asks for, and every page opens.

For Chromium test_accessibility opens every page, and Playwright emulates.
"""

import pytest
from built_site import THEMES

SEEN = "media => matchMedia(`(prefers-${media})`).matches"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_dark_and_calm_are_what_is_asked(theme, motion, new_page):
    page = new_page(theme=theme, reduced_motion=motion)
    assert page.evaluate(SEEN, f"color-scheme: {theme}")
    assert page.evaluate(SEEN, f"reduced-motion: {motion}")


def test_every_page(pages, open_page):
    """Scripts run down to its end, nothing scrolls sideways, and open_page finds no error."""
    for page in pages:
        opened = open_page(page)
        for width in (1280, 390):
            opened.set_viewport_size({"width": width, "height": 900})
            opened.evaluate("scrollTo(0, document.body.scrollHeight)")
            assert opened.evaluate("document.documentElement.scrollWidth") <= width, page
        opened.close()
