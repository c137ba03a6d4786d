"""What is far from the window is not laid out, and a reader notices nothing of it."""

import pytest
from built_site import FIRST_PAGE, chapter_pages

PAGE = next(page for page in chapter_pages() if page != FIRST_PAGE)
PARTS = ".bd-article > section > section"
LAID_OUT = "e => e.firstElementChild.checkVisibility({ contentVisibilityAuto: true })"
# A browser that keeps nothing of a session. (The theme expects one that does; ours must not fail.)
DENIED = """for (const name of ["getItem", "setItem"]) {
  const real = Storage.prototype[name];
  Storage.prototype[name] = function (key, ...rest) {
    if (key.startsWith("read in")) throw new DOMException("denied");
    return real.call(this, key, ...rest);
  };
}"""
# The first paragraph below the head of the window.
READ = """() => [...document.querySelectorAll('.bd-article p')]
  .find(p => p.checkVisibility({ contentVisibilityAuto: true })
    && p.getBoundingClientRect().top > 80).textContent"""


def settle(page):
    """Wait until parts that came near the window have been laid out."""
    page.wait_for_timeout(600)


def test_far_parts_wait_and_come_when_they_are_found_or_near(open_page):
    page = open_page(PAGE)
    first, last = page.locator(PARTS).first, page.locator(PARTS).last
    assert not last.evaluate(LAID_OUT)
    words = last.locator("h2").evaluate("e => e.firstChild.textContent")
    assert page.evaluate("words => window.find(words, true, true)", words), "as find in page does"
    settle(page)
    assert last.evaluate(LAID_OUT) and not first.evaluate(LAID_OUT)
    first.scroll_into_view_if_needed()
    settle(page)
    assert first.evaluate(LAID_OUT)


def test_after_a_reload_and_on_the_way_back_the_reader_is_where_he_was(open_page):
    page = open_page(PAGE)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    settle(page)
    read = page.evaluate(READ)
    page.reload()
    settle(page)
    assert page.evaluate(READ) == read
    page.goto(page.url.replace(PAGE, FIRST_PAGE))
    page.go_back()
    settle(page)
    assert page.evaluate(READ) == read


def test_where_no_place_can_be_kept_nothing_goes_wrong(open_page):
    page = open_page(PAGE)
    page.add_init_script(DENIED)
    for _ in range(2):  # the first time, the page that goes may keep its place
        page.reload()
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
        settle(page)
    assert page.evaluate("try { sessionStorage.getItem('read in') } catch (e) { e.message }")


def test_a_link_leads_to_its_heading_and_the_way_up_does_not_jump(open_page):
    page = open_page(PAGE)
    part = page.locator(PARTS).nth(-2)
    page.evaluate("name => { location.hash = name; }", part.get_attribute("id"))
    settle(page)
    at = part.bounding_box()["y"]
    assert 0 <= at < 150
    page.mouse.move(640, 450)
    for _ in range(12):  # upwards, into parts that had no height of their own yet
        page.mouse.wheel(0, -150)
        page.wait_for_timeout(100)
    settle(page)
    assert part.bounding_box()["y"] == pytest.approx(at + 12 * 150, abs=20)


@pytest.mark.parametrize("width", [1280, 390])
def test_what_hangs_out_of_its_part_is_seen_whole(width, open_page):
    page = open_page(PAGE, width=width)
    box = page.locator(f"{PARTS} > .predict").first
    box.evaluate("e => e.scrollIntoView({ block: 'center' })")
    settle(page)
    # A click hits what is painted, and nothing else.
    edges = """e => {
      const { left, right, top, height } = e.getBoundingClientRect();
      const hit = x => e.contains(document.elementFromPoint(x, top + height / 2));
      return [left + 1, right - 1].map(hit);
    }"""
    assert box.evaluate(edges) == [True, True]
