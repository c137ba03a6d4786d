"""What tests of explorables that are pictures of marks share: the marks, as the page shows them."""

import re

from hosts import host

READ = """(node) => Object.fromEntries([...node.querySelectorAll("[data-key]")].map((mark) =>
[mark.dataset.key, { text: mark.textContent, ...Object.fromEntries([...mark.attributes].map(
({ name, value }) => [name, value])) }]))"""
SHIFT = """() => new Promise((done) => { let total = 0; new PerformanceObserver((list) =>
list.getEntries().forEach((e) => (total += e.value))).observe({ type: "layout-shift",
buffered: true }); setTimeout(() => done(total), 100); })"""
OUTSIDE = """(live) => { const room = live.getBoundingClientRect();
return [...live.querySelectorAll("text, rect")].filter((mark) => {
const { left, right } = mark.getBoundingClientRect();
return left < room.left - 1 || right > room.right + 1; }).map((mark) => mark.outerHTML) }"""
STEADY = {"reduced_motion": "reduce"}


def marks(page, name):
    """Each mark's words and attributes, by key."""
    return host(page, name).locator("svg.ae-scene").evaluate(READ)


def box(mark):
    """x, y, width, height of a rectangle."""
    return [float(mark[side]) for side in ("x", "y", "width", "height")]


def shade(mark):
    return float(mark.get("fill-opacity", 1)) * float(mark.get("opacity", 1))


def sentence(page, name):
    return host(page, name).locator(".ae-sentence").text_content()


def numbers(words):
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
    outside = live.evaluate(OUTSIDE)
    assert outside == [], outside
