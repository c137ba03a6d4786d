"""Every page opens, runs its scripts down to its end and stays within a phone and a desk.

In Firefox alone: for Chromium test_accessibility opens every page.
"""


def test_every_page(pages, open_page):
    for page in pages:
        opened = open_page(page)
        for width in (1280, 390):
            opened.set_viewport_size({"width": width, "height": 900})
            opened.evaluate("scrollTo(0, document.body.scrollHeight)")
            assert opened.evaluate("document.documentElement.scrollWidth") <= width, page
        opened.close()
