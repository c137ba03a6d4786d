"""Pictures of marks fit into any width, take the room that is kept for them, and stay in it."""

import json

import pytest
from built_site import press, some
from hosts import host, state
from marks import OUTSIDE, STEADY, assert_inside, assert_shows, assert_still, marks, until

from attention_src.explorables import NAMES, module, states

ALL_FIT = """() => [...document.querySelectorAll(".ae-live .ae-scene")]
  .every(e => e.viewBox.baseVal.width === e.clientWidth)"""
# Those of .ae-own fetch a model.
BUTTONS = ".ae-controls:not(.ae-own) button"
SLIDERS = ":is(input[type=range], select, [role=slider])"
EVERY = [(name, *made.values()) for name in NAMES for made in states(name)]


@pytest.mark.parametrize("width", some(range(390, 961, 114), (390, 960)))
@pytest.mark.parametrize("one", EVERY, ids="-".join)
def test_a_picture_fits_and_stays_and_shows_what_its_script_computes(show, one, width):
    name = one[0]
    page = show(one if one[1:] else name, width=width, **STEADY)
    live = host(page, name).locator(".ae-live")
    for slider in live.locator(SLIDERS).all():
        states = set()
        for key in ("ArrowRight", "ArrowLeft", "End", "Home"):
            slider.press(key)
            states.add(json.dumps(state(page, name)))
            assert_inside(page, name)
        assert len(states) > 1, "it does nothing"
    assert_shows(page, name)
    for button in live.locator(BUTTONS).all():
        button.click() if button.is_enabled() else None
        assert_inside(page, name)
    assert_still(page, name)
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


def test_all_fit_into_another_width_and_where_they_were_folded_away(show):
    page = show(*NAMES, width=960)
    for width in (320, 700, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert until(page, lambda: page.evaluate(ALL_FIT))
        assert page.evaluate(OUTSIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_style_tag(content=".folded [data-explorable] { display: none }")
    page.evaluate("document.documentElement.classList.add('folded')")
    page.set_viewport_size({"width": 500, "height": 900})
    page.wait_for_timeout(150)
    page.evaluate("document.documentElement.classList.remove('folded')")
    assert until(page, lambda: page.evaluate(ALL_FIT))
