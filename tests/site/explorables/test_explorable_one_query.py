"""The explorable "one_query": what it shows, as digits and as lengths, is what NumPy computes."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, marks, marks_under_way, numbers, points, said, stop_time, until

from attention_src.explorables import one_query
from attention_src.softmax.reference import softmax

NAME = "one_query"
KEYS, PRICES = one_query.KEYS, one_query.PRICES[:, 0]
LOW, HIGH = -1, 2.5
WIDTHS = [390, 688, 960]


def reference(queries):
    """Dots, scores, weights [n, 4], parts [n, 4] and outputs [n]."""
    dots = np.array(queries) @ KEYS.T
    weights = softmax(dots / np.sqrt(2))
    return dots, dots / np.sqrt(2), weights, weights * PRICES, weights @ PRICES


def read(words):
    """A number as it is shown, and half a unit of its last digit."""
    digits = words.replace("−", "-").removeprefix("× ").removesuffix(" %")
    return float(digits), 0.5 * 10.0 ** -len(digits.partition(".")[2]) + 1e-9


def assert_shown(mark, value):
    number, within = read(mark["words"])
    assert number == pytest.approx(value, abs=within), mark["words"]


@pytest.fixture
def still_page(show):
    """A page where nothing glides."""

    def visit(**options):
        return show(NAME, **STEADY, **options)

    return visit


def press(page, words):
    host(page, NAME).get_by_role("button", name=words, exact=True).click()


def place_of(page, point):
    """Where a point of the plane is on the screen."""
    drawn = marks(page, NAME)
    zero, unit = points(drawn["key0"])[0], points(drawn["key0"])[1][0] - points(drawn["key0"])[0][0]
    box = host(page, NAME).locator(".ae-scene").bounding_box()
    return [box["x"], box["y"]] + zero + unit / KEYS[0, 0] * np.array(point) * [1, -1]


def drag(page, i, goal):
    """Pull the arrow of query i to a point of the plane."""
    page.mouse.move(*place_of(page, state(page, NAME)["queries"][i]))
    page.mouse.down()
    window = page.viewport_size["width"] - 1, page.viewport_size["height"] - 1
    page.mouse.move(*np.clip(place_of(page, goal), 0, window), steps=3)
    page.mouse.up()


def assert_is_right(page):
    now, drawn = state(page, NAME), marks(page, NAME)
    expected = reference(now["queries"])
    for name, value in zip(("dots", "scores", "weights", "parts", "output"), expected, strict=True):
        np.testing.assert_allclose([row[name] for row in now["rows"]], value, atol=1e-12)
    assert_plane(now, drawn, expected)
    (assert_matrices if now["all"] else assert_columns)(now, drawn, expected)
    i = now["active"]
    if not now["all"]:
        assert said(page, NAME) == one_query.said(np.array(now["queries"][i]))


def assert_plane(now, drawn, expected):
    """Areas are weights; the thick piece is as long as its number says."""
    i, lit = now["active"], now["lit"]
    radii = np.array([float(drawn[f"share{j}"]["r"]) for j in range(4)])
    np.testing.assert_allclose(radii**2 / (radii**2).sum(), expected[2][i], atol=4e-3)
    zero, tip = points(drawn["key0"])
    unit = (tip - zero)[0] / KEYS[0, 0]
    length = np.linalg.norm(now["queries"][i])
    shadow = np.linalg.norm(np.diff(points(drawn["shadow"]), axis=0)) / unit
    if length:
        assert shadow == pytest.approx(abs(expected[0][i, lit]) / length, abs=0.02)
        piece, times = drawn["from11"]["words"], drawn["from12"]["words"]
        assert read(piece.removesuffix(" (drawn thick)"))[0] == pytest.approx(
            expected[0][i, lit] / length, abs=0.0051
        )
        assert times == f"× {length:.2f} (length of q)"
    a, b = (drawn[f"from0{row}"]["words"][2:].split(" × ") for row in (1, 2))
    products = [read(x)[0] * read(y)[0] for x, y in (a, b)]
    assert_shown({"words": drawn["from03"]["words"][2:]}, sum(products))
    assert drawn["from03"]["words"] == drawn["from13"]["words"]


def assert_columns(now, drawn, expected):
    i = now["active"]
    dots, scores, weights, parts, outputs = (values[i] for values in expected)
    for j in range(4):
        assert_shown(drawn[f"dots{j}"], dots[j])
        assert_shown(drawn[f"scores{i}{j}"], scores[j])
        assert_shown(drawn[f"weights{i}{j}"], weights[j])
        assert_shown(drawn[f"price{j}"], PRICES[j])
        assert_shown(drawn[f"parts{j}"], parts[j])
        name, percent = drawn[f"share{i}{j}"]["words"].split(maxsplit=1)
        assert name == one_query.THINGS[j]
        assert_shown({"words": percent}, 100 * parts[j] / outputs)
    assert_shown(drawn[f"output{i}"], outputs)
    # Lengths: weights among weights, parts among parts, the stack as high as all parts together.
    heights = {
        name: np.array([float(drawn[f"{name}{j}"]["height"]) for j in range(4)])
        for name in (f"score{i}", f"weight{i}", "part", f"stack{i}")
    }
    np.testing.assert_allclose(
        heights[f"weight{i}"] / heights[f"weight{i}"].sum(), weights, atol=1e-3
    )
    top = int(drawn["top"]["words"])
    assert outputs <= top <= max(5, 2 * outputs)
    full = float(drawn["zero"]["y"]) - float(drawn["top"]["y"]) + 3
    np.testing.assert_allclose(heights["part"] / full * top, parts, atol=0.01 * top)
    assert (heights[f"stack{i}"] == heights["part"]).all()
    same = ("fill", "fill-opacity", "width")
    assert all(drawn[f"stack{i}{j}"][a] == drawn[f"part{j}"][a] for j in range(4) for a in same)
    assert float(drawn["answer"]["height"]) == pytest.approx(heights["part"].sum(), abs=0.03)
    # Each stands on the one before.
    for j in range(3):
        upper, lower = drawn[f"stack{i}{j + 1}"], drawn[f"stack{i}{j}"]
        assert numbers(upper, "y", "height").sum() == pytest.approx(float(lower["y"]), abs=0.02)
    labels = [float(drawn[f"share{i}{j}"]["y"]) for j in range(4)]
    assert (np.diff(labels) <= -11.9).all()  # no two on one another


def assert_matrices(now, drawn, expected):
    _, scores, weights, _, outputs = expected
    for n in range(3):
        for c in range(2):
            assert_shown(drawn[f"q{n}{c}"], now["queries"][n][c])
        for j in range(4):
            assert_shown(drawn[f"scores{n}{j}"], scores[n, j])
            assert_shown(drawn[f"weights{n}{j}"], weights[n, j])
            level = float(drawn[f"weight{n}{j}"]["height"])
            assert level == pytest.approx(weights[n, j] * (cell_height(drawn) - 2), abs=0.02)
        assert_shown(drawn[f"output{n}"], outputs[n])
    for j in range(4):
        for c in range(2):
            assert_shown(drawn[f"k{j}{c}"], KEYS[j, c])
        names = {drawn[key]["words"] for key in (f"column{j}", f"over{j}", f"row{j}")}
        assert names == {one_query.THINGS[j]}
    shapes = {"q": (3, 2), "k": (2, 4), "s": (3, 4), "p": (3, 4), "v": (4, 1), "o": (3, 1)}
    assert {x: drawn[f"shape-{x}"]["words"] for x in shapes} == {
        x: str(s) for x, s in shapes.items()
    }
    band = float(drawn["band"]["y"])
    assert band == pytest.approx(float(drawn["band"]["height"]) * now["active"] + first_row(drawn))


def cell_height(drawn):
    return float(drawn["band"]["height"])


def first_row(drawn):
    return points({"d": drawn["grid-q"]["d"].split("H")[0]})[0][1]


@pytest.mark.parametrize("width", WIDTHS)
def test_one_query_by_the_mouse(still_page, width):
    page = still_page(width=width)
    assert_is_right(page)
    rng = np.random.default_rng(width)
    for goal in [*rng.uniform(LOW, HIGH, (8, 2)), (0, 0), (1.5, 0)]:
        drag(page, 0, goal)
        kept = state(page, NAME)["queries"][0]
        np.testing.assert_allclose(kept, np.round(goal, 1), atol=0.1001)
        assert_is_right(page)
    drag(page, 0, (9, -9))
    assert state(page, NAME)["queries"][0] == [HIGH, LOW]
    assert_is_right(page)


@pytest.mark.parametrize("width", WIDTHS)
def test_three_guests_are_three_rows(still_page, width):
    page = still_page(width=width)
    press(page, "all three guests")
    assert_is_right(page)
    for i, goal in ((1, (-0.6, 1.2)), (0, (1.2, -0.7)), (2, (2.2, 1.8))):
        drag(page, i, goal)
        assert state(page, NAME)["active"] == i
        assert_is_right(page)
    # The row that is lit, and the guest that is shown alone afterwards, is the one just dragged.
    press(page, "one guest")
    assert state(page, NAME)["active"] == 2
    assert_is_right(page)
    press(page, "Reset")
    assert state(page, NAME)["queries"] == one_query.GUESTS.tolist()
    assert state(page, NAME)["active"] == 0


def test_the_question_belongs_to_what_is_shown(show):
    page = show(NAME)
    for view, button in ((1, "all three guests"), (0, "one guest")):
        press(page, button)
        for kind, lines in (("ae-question", [one_query.QUESTION]), ("ae-try", one_query.TRIES)):
            spans = host(page, NAME).locator(f".{kind} span")
            seen = [span.text_content() for span in spans.all() if span.is_visible()]
            assert seen == [line[view] for line in lines]


def test_nothing_moves_when_the_view_changes(show):
    page = show(NAME, width=390)
    place = "e => [e.offsetTop, e.offsetLeft]"  # on the page: a press may scroll the window
    after = page.locator(".after").evaluate(place)
    for button in ("all three guests", "one guest"):
        press(page, button)
        assert page.locator(".after").evaluate(place) == after


def test_by_the_keyboard(still_page):
    page = still_page()
    query = host(page, NAME).get_by_role("slider", name="query 1")
    query.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert state(page, NAME)["queries"][0] == [1.9, -0.1]
    assert query.get_attribute("aria-valuetext") == "sweet 1.9, wooden −0.1"
    assert_is_right(page)
    chair = host(page, NAME).get_by_role("button", name="chair", exact=True)
    chair.focus()
    assert state(page, NAME)["lit"] == 3 and chair.get_attribute("aria-pressed") == "true"
    assert marks(page, NAME)["from00"]["words"] == "q · chair"
    assert_is_right(page)


def test_a_thing_is_lit_by_pointing_at_it(still_page):
    page = still_page()
    for view in ("one guest", "all three guests"):
        press(page, view)
        for j, name in enumerate(one_query.THINGS):
            host(page, NAME).get_by_role("button", name=name, exact=True).hover()
            assert state(page, NAME)["lit"] == j
            assert_is_right(page)


def test_a_click_brings_the_arrow(still_page):
    page = still_page()
    page.mouse.click(*place_of(page, (-0.5, 1.5)))
    assert state(page, NAME)["queries"][0] == [-0.5, 1.5]
    assert_is_right(page)


def test_a_finger_drags_the_arrow_and_scrolls_beside_it(show):
    page = show(NAME, width=390, height=600, has_touch=True, is_mobile=True)
    page.evaluate("scrollTo(0, 150)")
    finger = page.context.new_cdp_session(page)

    def touch(kind, *places):
        at = [{"x": float(x), "y": float(y)} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    def swipe(start, step):
        touch("touchStart", start)
        for n in range(1, 7):
            touch("touchMove", start + np.array(step) * n)
            page.wait_for_timeout(20)
        touch("touchEnd")
        page.wait_for_timeout(100)

    before = page.evaluate("scrollY")
    swipe(place_of(page, (2, 0)), (-12, -8))
    assert until(page, lambda: state(page, NAME)["queries"][0][0] < 1)
    q = state(page, NAME)["queries"][0]
    assert q[1] > 0.5
    assert page.evaluate("scrollY") == before
    assert_is_right(page)
    swipe(place_of(page, (-0.8, 2)), (0, -12))
    assert until(page, lambda: page.evaluate("scrollY") > before)
    assert state(page, NAME)["queries"][0] == q


def test_what_stays_glides_and_calm_readers_see_it_at_once(show):
    page = show(NAME)
    under_way = marks_under_way(page, NAME, "all three guests")
    page.clock.run_for(900)
    there = marks(page, NAME)
    assert "step-dot" in under_way and "step-dot" not in there  # what goes fades
    assert float(under_way["grid-p"]["opacity"]) < 1 == float(there["grid-p"]["opacity"])
    assert float(there["scores00"]["x"]) < float(under_way["scores00"]["x"])  # what stays glides
    page = show(NAME, **STEADY)
    press(page, "all three guests")
    press(page, "one guest")
    at_once = marks(page, NAME)
    assert "grid-p" not in at_once and float(at_once["step-dot"]["opacity"]) == 1
    assert_is_right(page)


def test_the_state_is_said_after_a_pause(show):
    page = show(NAME)
    page.wait_for_timeout(600)  # a browser that draws twice at first, as Firefox does, says so
    stop_time(page)
    spoken = host(page, NAME).locator('[aria-live="polite"]')
    before = spoken.text_content()
    drag(page, 0, (0.5, 2))
    assert spoken.text_content() == before
    page.clock.run_for(600)
    assert spoken.text_content() != before
    assert spoken.text_content().startswith("Weights: apple 0.")
    assert spoken.text_content().endswith(said(page, NAME))
