"""What tests of explorables that are pictures of marks share: the marks, as the page shows them."""

import json
from datetime import datetime, timedelta

from drawn import figures
from hosts import host, state

READ = """e => Object.fromEntries([...e.querySelectorAll("[data-key]")].map(mark => [
  mark.dataset.key, { words: mark.textContent, ...Object.fromEntries(
    [...mark.attributes].map(a => [a.name, a.value])) }]))"""
# In Firefox always 0, for it does not measure this.
SHIFT = """() => new Promise(done => {
  let total = 0;
  new PerformanceObserver(list => list.getEntries().forEach(e => total += e.value))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(total), 100);
})"""
OUTSIDE = """() => [...document.querySelectorAll('.ae-body *')].filter(e => {
  const box = e.getBoundingClientRect();
  const room = e.closest('.ae-body').getBoundingClientRect();
  const fits = box.left > room.left - 1 && box.right < room.right + 1;
  return box.width && !fits && !e.closest('.ae-spoken');
}).map(e => e.dataset.key ?? e.outerHTML.slice(0, 90))"""
STEADY = {"reduced_motion": "reduce"}
ALONE = {"service_workers": "block"}  # any such option gives a page a context of its own


def marks(page, name):
    """A picture of marks as it is drawn: key -> words and attributes."""
    return host(page, name).evaluate(READ)


def until(page, true):
    """Wait until true() holds, for a minute at most: a busy machine is not a bug."""
    for _ in range(600):
        if true():
            return True
        page.wait_for_timeout(100)
    return False


def stop_time(page):
    """Time goes on in page.clock.run_for(ms) alone, however busy the machine is, for all pages of
    the context: the page needs one of its own."""
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(hours=1))


def said(page, name):
    return host(page, name).locator(".ae-sentence").text_content()


def rounded(now):
    """Browsers differ in the last digit of Math.exp."""
    return json.loads(json.dumps(now), parse_float=lambda digits: round(float(digits), 9))


def assert_shows(page, name):
    """The page shows what the script's pure functions make of what it was given, its state and its
    width.

    That these are right is what tests/explorables/test_drawn_*.py compare with NumPy.
    """
    now, given = state(page, name), json.loads(host(page, name).get_attribute("data-given"))
    wide = host(page, name).locator(".ae-scene").evaluate("e => e.clientWidth")
    [one] = figures(name, [now], [wide], given=given)
    assert rounded(now) == rounded({key: one.now[key] for key in now})
    assert marks(page, name) == one.seen[0]
    assert said(page, name) == one.said


def assert_inside(page, name):
    """Nothing is outside, and the figure takes the room that was kept for it."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    live = host(page, name).locator(".ae-live")
    reserved = live.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
    height = live.bounding_box()["height"]
    assert abs(height - reserved) < 0.1, f"{height} px, {reserved} kept"
    assert page.evaluate(OUTSIDE) == []


def assert_still(page, name):
    """And nothing has jumped."""
    assert page.evaluate(SHIFT) == 0
    assert_inside(page, name)
