"""What a reader does: on a phone, in the dark, with the keyboard; quizzes, copying, bugs.

What works on one page works on all, since they share template and scripts. What each page must hold
for it is in test_pages.
"""

import pytest
from built_site import FIRST_PAGE, THEMES, book_pages, chapter_pages

BOOK = book_pages()
CHAPTER = next(page for page in chapter_pages() if page != FIRST_PAGE)


@pytest.mark.parametrize("theme", THEMES)
def test_theme_follows_the_system_until_it_is_chosen(theme, open_page):
    opened = open_page(BOOK[0], theme=theme)
    shown = "document.documentElement.dataset.theme"
    assert opened.evaluate(shown) == theme
    other = THEMES[1 - THEMES.index(theme)]
    while opened.evaluate("document.documentElement.dataset.mode") != other:
        opened.click(".theme-switch-button")
    assert opened.evaluate(shown) == other
    assert other in opened.get_attribute(".theme-switch-button", "aria-label")
    opened.reload()
    assert opened.evaluate(shown) == other


def test_quizzes_and_folds_open_by_keyboard(open_page):
    opened = open_page(CHAPTER)
    folds = opened.locator("details:is(.quiz-option, .fold)").all()
    assert folds
    for fold in folds:
        hidden = fold.locator("> *").last
        assert not hidden.is_visible()
        fold.locator("summary").first.focus()
        opened.keyboard.press("Enter")
        assert hidden.is_visible()


def test_copy_button(open_page):
    opened = open_page(CHAPTER, permissions=["clipboard-read", "clipboard-write"])
    cell = opened.locator(".cell_input .highlight:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    opened.wait_for_function("document.querySelector('.copybtn.success') !== null")
    copied = opened.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()


def test_the_first_page_and_the_next(open_page, site):
    opened = open_page(BOOK[1])
    opened.goto(f"{site}/index.html")
    opened.wait_for_url(f"{site}/{BOOK[0]}")
    opened.click("a.right-next")
    opened.wait_for_url(f"{site}/{BOOK[1]}")


def test_bugs_are_listed_with_their_chapters(open_page):
    opened = open_page("book/bugs.html")
    bug = opened.locator(".bugs li", has_text="A mask that came too late")
    assert bug.inner_text() == (
        "A mask that came too late. July 2024, huggingface/pytorch-image-models #2236, "
        "in Lab 7: tested and timed"
    )
    bug.locator("a").first.click()
    opened.wait_for_url("**/labs/equation.html#happened-*")
    box = opened.locator(".happened:target")
    assert "A mask that came too late" in box.inner_text() and box.locator(".cell_input").count()


@pytest.mark.parametrize("side", ["primary", "secondary"])
def test_menus_on_a_phone(side, open_page):
    opened = open_page(CHAPTER, width=390, height=844)
    menu = opened.locator(f"#pst-{side}-sidebar-modal")
    assert not menu.is_visible()
    opened.locator(f".{side}-toggle").focus()
    opened.keyboard.press("Enter")
    menu.locator("a").first.wait_for(timeout=10_000)
    opened.keyboard.press("Escape")
    menu.wait_for(state="hidden", timeout=10_000)
