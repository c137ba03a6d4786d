"""What tests of explorables that are pictures of marks share: the marks, as the page shows them."""

import re
from datetime import datetime, timedelta

import numpy as np
from hosts import host

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
    """Time goes on in page.clock.run_for(ms) alone, however busy the machine is."""
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(hours=1))


def marks_under_way(page, name, button):
    """Press a button, and look at the marks as they begin to move; time then stands still."""
    stop_time(page)
    host(page, name).evaluate(
        "(e, words) => [...e.querySelectorAll('button')]"
        ".find(b => b.textContent === words).click()",
        button,
    )
    page.clock.run_for(80)
    return marks(page, name)


def numbers(mark, *names):
    """Attributes of a mark as numbers."""
    return np.array([float(mark[name]) for name in names])


def points(mark):
    """The points of a line [n, 2]."""
    return np.array(re.findall(r"-?[\d.]+", mark["d"]), float).reshape(-1, 2)


def box(mark):
    """x, y, width, height of a rectangle."""
    return numbers(mark, "x", "y", "width", "height")


def shade(mark):
    return float(mark.get("fill-opacity", 1)) * float(mark.get("opacity", 1))


def said(page, name):
    return host(page, name).locator(".ae-sentence").text_content()


def numbers_in(words):
    """The numbers in words, in order."""
    return [int(digits) for digits in re.findall(r"\d+", words)]


def assert_still(page, name):
    """Nothing jumped, nothing is outside, and the figure takes the room that was kept for it."""
    assert page.evaluate(SHIFT) == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    live = host(page, name).locator(".ae-live")
    reserved = live.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
    height = live.bounding_box()["height"]
    assert abs(height - reserved) < 0.1, f"{height} px, {reserved} kept"
    assert page.evaluate(OUTSIDE) == []
