"""Pictures of marks fit into any width, take the room that is kept for them, and stay in it."""

import pytest
from built_site import press
from hosts import host, state
from marks import OUTSIDE, SHIFT, STEADY, assert_shows, marks, until

from attention_src.explorables import HERE, NAMES, module

FITS = "e => e.viewBox.baseVal.width === e.clientWidth"
BUTTONS = ".ae-controls:not(.ae-own) button"  # those of .ae-own fetch a model


@pytest.mark.parametrize("width", range(390, 961, 114))
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_fits_and_stays(show, name, width):
    page = show(name, width=width, **STEADY)
    live = host(page, name).locator(".ae-live")
    room = live.bounding_box()["height"]
    reserved = live.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
    assert room == pytest.approx(reserved, abs=0.1)
    press(page, name)
    for button in host(page, name).locator(BUTTONS).all():
        button.click() if button.is_enabled() else None
        assert live.bounding_box()["height"] == room
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(SHIFT) == 0


COMPUTED = [name for name in NAMES if " compute" in (HERE / f"{name}.js").read_text("utf-8")]


@pytest.mark.parametrize("name", COMPUTED)
def test_a_page_shows_what_its_script_computes(show, name):
    page = show(name, **STEADY)
    press(page, name)
    assert_shows(page, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_change_glides_and_ends_where_it_should(show, name):
    page, still = show(name), show(name, **STEADY)
    for each in (page, still):
        press(each, name)
    assert until(page, lambda: marks(page, name) == marks(still, name))


@pytest.mark.parametrize("name", [name for name in NAMES if module(name).PRESS[0] == "button"])
def test_a_finger_presses(show, name):
    page = show(name, width=390, has_touch=True, is_mobile=True, **STEADY)
    before = state(page, name)
    host(page, name).get_by_role("button", name=module(name).PRESS[1], exact=True).tap()
    assert state(page, name) != before


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_drawn_anew_when_the_width_changes(show, name):
    page = show(name, width=960)
    scene = host(page, name).locator(".ae-scene")
    for width in (390, 700):
        page.set_viewport_size({"width": width, "height": 900})
        assert until(page, lambda: scene.evaluate(FITS))
        assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_folded_picture_is_drawn_when_it_is_opened(show, name):
    page = show(name)
    host(page, name).evaluate("e => { e.style.display = 'none'; }")
    page.set_viewport_size({"width": 500, "height": 900})
    page.wait_for_timeout(150)
    host(page, name).evaluate("e => { e.style.display = ''; }")
    scene = host(page, name).locator(".ae-scene")
    assert until(page, lambda: scene.evaluate(FITS))
