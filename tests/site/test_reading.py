"""What a reader does: on a phone, in the dark, with the keyboard; quizzes, search, copying.

What works on one page works on all, since they share template and scripts. What each page must hold
for it is in test_pages.
"""

import re

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


def test_search_finds_a_word(open_page):
    opened = open_page(BOOK[0])
    opened.keyboard.press("Control+k")
    opened.keyboard.type("softmax")
    opened.keyboard.press("Enter")
    opened.wait_for_selector("#search-results li a")
    # The theme lists the pages first and counts them in the summary when it is through.
    summary = opened.locator("#search-results .search-summary", has_text=re.compile(r"\d+ page"))
    summary.wait_for()
    opened.locator("#search-results li a").first.click()
    opened.wait_for_load_state()
    assert "softmax" in opened.locator("article").inner_text().lower()


def test_next_and_previous(open_page, site):
    opened = open_page("index.html")
    opened.wait_for_url(f"{site}/{BOOK[0]}")
    for button, page in (("a.right-next", BOOK[1]), ("a.left-prev", BOOK[0])):
        opened.click(button)
        opened.wait_for_url(f"{site}/{page}")


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
