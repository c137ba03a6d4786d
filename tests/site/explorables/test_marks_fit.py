"""Pictures of marks fit into any width, take the room that is kept for them, and stay in it."""

import pytest
from built_site import press, some
from hosts import host, state
from marks import OUTSIDE, SHIFT, STEADY, assert_shows, marks, until

from attention_src.explorables import HERE, NAMES, module

ALL_FIT = """() => [...document.querySelectorAll(".ae-live .ae-scene")]
  .every(e => e.viewBox.baseVal.width === e.clientWidth)"""
BUTTONS = ".ae-controls:not(.ae-own) button"  # those of .ae-own fetch a model


@pytest.mark.parametrize("width", some(range(390, 961, 114), (390, 960)))
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


def test_a_page_shows_what_its_script_computes(show):
    page = show(*COMPUTED, **STEADY)
    for name in COMPUTED:
        press(page, name)
        assert_shows(page, name)


def test_a_change_glides_and_ends_where_it_should(show):
    page, still = show(*NAMES), show(*NAMES, **STEADY)
    for name in NAMES:
        for each in (page, still):
            press(each, name)
        assert until(page, lambda name=name: marks(page, name) == marks(still, name)), name


def test_a_finger_presses(show):
    names = [name for name in NAMES if module(name).PRESS[0] == "button"]
    page = show(*names, width=390, has_touch=True, is_mobile=True, **STEADY)
    for name in names:
        before = state(page, name)
        host(page, name).get_by_role("button", name=module(name).PRESS[1], exact=True).tap()
        assert state(page, name) != before, name


def test_a_picture_is_drawn_anew_when_the_width_changes(show):
    page = show(*NAMES, width=960)
    for width in (390, 700):
        page.set_viewport_size({"width": width, "height": 900})
        assert until(page, lambda: page.evaluate(ALL_FIT))
        assert page.evaluate(OUTSIDE) == []


def test_a_folded_picture_is_drawn_when_it_is_opened(show):
    page = show(*NAMES)
    page.add_style_tag(content=".folded [data-explorable] { display: none }")
    page.evaluate("document.documentElement.classList.add('folded')")
    page.set_viewport_size({"width": 500, "height": 900})
    page.wait_for_timeout(150)
    page.evaluate("document.documentElement.classList.remove('folded')")
    assert until(page, lambda: page.evaluate(ALL_FIT))
