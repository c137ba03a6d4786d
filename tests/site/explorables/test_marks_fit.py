"""Pictures of marks fit into any width, take the room that is kept for them, and stay in it."""

import pytest
from hosts import host

PICTURES = {  # name -> buttons, after each of which nothing may have moved
    "one_query": ["all three guests", "Reset"],
    "split_merge": ["8", "reshape", "merge", "1"],
}
OUTSIDE = """() => [...document.querySelectorAll('.ae-body *')].filter(e => {
  const box = e.getBoundingClientRect();
  const room = e.closest('.ae-body').getBoundingClientRect();
  const fits = box.left > room.left - 1 && box.right < room.right + 1;
  return box.width && !fits && !e.closest('.ae-spoken');
}).map(e => e.dataset.key ?? e.outerHTML.slice(0, 90))"""
SHIFT = """() => new Promise(done => {
  let total = 0;
  new PerformanceObserver(list => list.getEntries().forEach(e => total += e.value))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 200);
})"""


@pytest.mark.parametrize("width", range(390, 961, 57))
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_fits_and_stays(show, name, width):
    page = show(name, width=width)
    page.emulate_media(reduced_motion="reduce")
    live = host(page, name).locator(".ae-live")
    room = live.bounding_box()["height"]
    assert room == live.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
    for button in PICTURES[name]:
        host(page, name).get_by_role("button", name=button, exact=True).click()
        assert live.bounding_box()["height"] == room
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(SHIFT) == 0


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_anew_when_the_width_changes(show, name):
    page = show(name, width=960)
    scene = host(page, name).locator(".ae-scene")
    for width in (390, 700):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)
        assert page.evaluate(OUTSIDE) == []
        drawn = scene.evaluate("e => [e.viewBox.baseVal.width, e.clientWidth]")
        assert drawn[0] == drawn[1]


@pytest.mark.parametrize("name", PICTURES)
def test_a_folded_picture_is_drawn_when_it_is_opened(show, name):
    page = show(name)
    host(page, name).evaluate("e => { e.style.display = 'none'; }")
    page.set_viewport_size({"width": 500, "height": 900})
    page.wait_for_timeout(150)
    host(page, name).evaluate("e => { e.style.display = ''; }")
    page.wait_for_timeout(150)
    scene = host(page, name).locator(".ae-scene")
    assert scene.evaluate("e => e.viewBox.baseVal.width === e.clientWidth")
