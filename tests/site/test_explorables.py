"""The explorables in a real browser: their numbers are `attention_src`'s, and all can use them.

First on a page of their own, which needs no built site, then on the pages of the book.
"""

import json
import re
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest

from attention_src.attention import masks
from attention_src.attention.reference import attention_backward, attention_weights
from attention_src.explorables import content, explorable_html, scaling
from attention_src.softmax import reference

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
RULES = {
    "softmax": reference.softmax,
    "entmax-1.5": reference.entmax15,
    "sparsemax": reference.sparsemax,
    "hardmax": reference.hardmax,
    "sigmoid": reference.sigmoid_weights,
}
MASKING = content("masking", {}).given
SOFTMAX = content("softmax", {}).given
RETRIEVAL = content("retrieval", {}).given
GRADIENT = content("gradient", {}).given
FLASH = content("flash", {}).given
SENTENCE = {
    "tokens": ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"],
    "heads": {
        "layer 0, head 2: looks one word back": np.eye(8, k=-1),
        "layer 1, head 8: looks one word ahead": reference.softmax(
            np.eye(8, k=1) * 3 + np.arange(8) / 9
        ),
    },
}
GIVEN = {
    "softmax": {},
    "masking": {},
    "sentence": SENTENCE,
    "retrieval": {},
    "gradient": {},
    "rope": {},
    "scaling": {},
    "flash": {},
    "kvcache": {},
    "linear": {},
}
N = len(MASKING["tokens"])
PRESETS = {
    "everything": np.ones((N, N), bool),
    "causal": masks.causal_mask(N),
    "sliding window": masks.window_mask(N, N, 3),
    "prefix": masks.prefix_mask(N, 3),
    "padding": np.broadcast_to(masks.padding_mask([N - 2], N)[0, 0], (N, N)),
    "documents": masks.document_mask([0, 0, 0, 1, 1, 1]),
}
# What a host page says when it is dark: the site, JupyterLab, Colab, and a page that says nothing.
DARK_PAGES = {
    "site": ('<html lang="en" data-theme="dark">', "<body>", "light"),
    "jupyterlab": ('<html lang="en">', '<body data-jp-theme-light="false">', "light"),
    "colab": ('<html lang="en" theme="dark">', "<body>", "light"),
    "system": ('<html lang="en">', "<body>", "dark"),
}
LIGHT_PAGES = {
    "site": ('<html lang="en" data-theme="light">', "<body>", "dark"),
    "jupyterlab": ('<html lang="en">', '<body data-jp-theme-light="true">', "dark"),
    "colab": ('<html lang="en" theme="light">', "<body>", "dark"),
    "system": ('<html lang="en">', "<body>", "light"),
}


@pytest.fixture
def show(new_page, tmp_path):
    """A function: show("softmax", "masking", width=390, ...) -> a page that holds these."""
    errors, files = [], count()

    def visit(*names, width=1000, page=LIGHT_PAGES["system"], **options):
        head, body, scheme = page
        parts = "".join(explorable_html(name, **GIVEN[name]) for name in names)
        file = tmp_path / f"page{next(files)}.html"
        file.write_text(
            f"<!doctype html>{head}<head><meta charset='utf-8'><title>Explorables</title>"
            f"<meta name='viewport' content='width=device-width'></head>"
            f"{body}<main><h1>Page</h1>{parts}<p class='after'>After</p></main></body></html>",
            encoding="utf-8",
        )
        opened = new_page(theme=scheme, width=width, **options)
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        opened.on(
            "request",
            lambda r: errors.append(r.url) if not r.url.startswith(("file:", "data:")) else None,
        )
        opened.goto(file.as_uri())
        return opened

    yield visit
    assert not errors


def host(page, name):
    return page.locator(f'[data-explorable="{name}"][data-ready]').first


def state(page, name):
    return json.loads(host(page, name).get_attribute("data-state"))


def softmax_numbers(box):
    """The weights as shown, one a key."""
    return box.locator(".ae-row:not(.ae-head) .ae-number:last-child").all_text_contents()


def assert_softmax_is_right(page):
    now = state(page, "softmax")
    expected = RULES[now["rule"]](np.array(now["scores"]) / now["temperature"])
    np.testing.assert_allclose(now["weights"], expected, rtol=1e-9, atol=1e-12)
    shown = softmax_numbers(host(page, "softmax"))
    assert shown == ["0" if p == 0 else f"{p:.3f}" for p in expected]
    entropy = host(page, "softmax").locator(".ae-entropy").text_content()
    if now["rule"] == "sigmoid":
        assert f"sum to {expected.sum():.3f}, not to 1" in entropy
    else:
        bits = reference.entropy_bits(expected)
        assert abs(now["entropyBits"] - bits) < 1e-9
        assert entropy.startswith(f"Entropy {bits:.2f} of at most {np.log2(len(expected)):.2f}")


def assert_masking_is_right(page, expected_mask):
    now = state(page, "masking")
    np.testing.assert_array_equal(now["mask"], expected_mask)
    p = reference.softmax(np.where(expected_mask, MASKING["scores"], -np.inf))
    np.testing.assert_allclose(now["weights"], p, rtol=1e-9, atol=1e-12)
    box = host(page, "masking")
    expected = np.where(expected_mask, np.char.mod("%.2f", p), "0")
    assert box.locator("td button b").all_text_contents() == expected.ravel().tolist()
    pressed = box.locator("td button").evaluate_all("all => all.map(b => b.ariaPressed)")
    assert pressed == np.where(expected_mask, "true", "false").ravel().tolist()
    sums = box.locator("td.ae-sum").all_text_contents()
    assert sums == ["1" if row.any() else "0" for row in expected_mask]


# --- softmax: numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_gives_the_reference_s_numbers(show, rule):
    page = show("softmax")
    box = host(page, "softmax")
    box.get_by_label("Rule").select_option(rule)
    for scores in ([4.2, 3.8, 0.6, -0.9], [8, 7, 3, 1], [-8, 8, -8, 8], [0, 0, 0, 0]):
        for j, score in enumerate(scores):
            box.locator(".ae-score").nth(j).fill(str(score))
        assert state(page, "softmax")["scores"] == scores
        for exponent in ("-1.3", "-0.5", "0", "0.7", "1.6"):
            box.get_by_label("temperature", exact=True).fill(exponent)
            assert state(page, "softmax")["temperature"] == pytest.approx(10 ** float(exponent))
            assert_softmax_is_right(page)


def test_scores_are_shown(show):
    page = show("softmax")
    box = host(page, "softmax")
    box.locator(".ae-score").nth(1).fill("-3.5")
    values = box.locator(".ae-row:not(.ae-head) .ae-score + .ae-number").all_text_contents()
    assert values == ["4.2", "−3.5", "0.6", "−0.9"]


def test_keys_come_and_go_between_four_and_six(show):
    page = show("softmax")
    box = host(page, "softmax")
    add, remove = box.get_by_text("Add key"), box.get_by_text("Remove key")
    assert remove.is_disabled()
    for n in (5, 6):
        add.click()
        assert len(softmax_numbers(box)) == n
        assert_softmax_is_right(page)
    assert add.is_disabled()
    assert box.locator(".ae-key").all_text_contents() == SOFTMAX["labels"]
    remove.click()
    assert len(softmax_numbers(box)) == 5
    box.get_by_text("Reset").click()
    assert state(page, "softmax")["scores"] == SOFTMAX["scores"]


def test_a_common_shift_leaves_softmax_and_moves_sigmoid(show):
    page = show("softmax")
    box = host(page, "softmax")
    before = softmax_numbers(box)
    box.get_by_text("All +1").click()
    assert state(page, "softmax")["scores"] == [5.2, 4.8, 1.6, 0.1]
    assert softmax_numbers(box) == before
    box.get_by_label("Rule").select_option("sigmoid")
    before = softmax_numbers(box)
    box.get_by_text("All −1").click()
    assert softmax_numbers(box) != before
    assert_softmax_is_right(page)


def test_exact_zeros_are_named(show):
    page = show("softmax")
    box = host(page, "softmax")
    box.get_by_label("Rule").select_option("sparsemax")
    assert box.locator(".ae-sentence").text_content() == "Exactly 0: chair, desk."


# --- softmax: hands --------------------------------------------------------------------------


def test_softmax_by_keyboard(show):
    page = show("softmax")
    box = host(page, "softmax")
    page.keyboard.press("Tab")
    assert box.get_by_label("Rule").evaluate("e => e === document.activeElement")
    page.keyboard.type("sparse")
    assert state(page, "softmax")["rule"] == "sparsemax"
    for _ in range(5):  # the buttons; "Remove key" is disabled
        page.keyboard.press("Tab")
    assert box.get_by_label("score of apple").evaluate("e => e === document.activeElement")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert state(page, "softmax")["scores"][0] == 4.0
    for _ in range(4):
        page.keyboard.press("Tab")
    assert box.get_by_label("temperature", exact=True).evaluate("e => e === document.activeElement")
    page.keyboard.press("ArrowRight")
    assert state(page, "softmax")["temperature"] == pytest.approx(1.05)
    page.keyboard.press("Home")
    assert state(page, "softmax")["temperature"] == pytest.approx(0.05)
    page.keyboard.press("End")
    assert state(page, "softmax")["temperature"] == pytest.approx(50)
    page.keyboard.press("PageUp")
    assert state(page, "softmax")["temperature"] == pytest.approx(50)
    assert_softmax_is_right(page)


def test_score_and_temperature_by_mouse(show):
    page = show("softmax")
    box = host(page, "softmax")
    bar = box.get_by_label("score of desk").bounding_box()
    page.mouse.move(bar["x"] + bar["width"] * 0.4, bar["y"] + bar["height"] / 2)
    page.mouse.down()
    page.mouse.move(bar["x"] + bar["width"] - 3, bar["y"] + bar["height"] / 2, steps=4)
    page.mouse.up()
    assert state(page, "softmax")["scores"][3] == 8
    chart = box.locator(".ae-chart").bounding_box()
    page.mouse.move(chart["x"] + chart["width"] / 2, chart["y"] + 60)
    page.mouse.down()
    page.mouse.move(chart["x"] + chart["width"] - 8, chart["y"] + 60, steps=4)
    page.mouse.up()
    assert state(page, "softmax")["temperature"] == pytest.approx(50, rel=0.02)
    # The slider's handle stands under the chart's line.
    page.mouse.click(chart["x"] + chart["width"] / 2, chart["y"] + 60)
    line = box.locator(".ae-cursor").bounding_box()
    assert abs(line["x"] - (chart["x"] + chart["width"] / 2)) < 1.5
    assert_softmax_is_right(page)


# --- masking ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_is_the_package_s_mask(show, name):
    page = show("masking")
    box = host(page, "masking")
    box.get_by_text("everything", exact=True).click()
    box.get_by_text(name, exact=True).click()
    assert_masking_is_right(page, PRESETS[name])
    pressed = box.locator('.ae-controls [aria-pressed="true"]').all_text_contents()
    assert pressed == [name]
    scores = box.locator("td button small").all_text_contents()
    assert scores == [f"{s:.1f}".replace("-", "−") for row in MASKING["scores"] for s in row]


def cell(page, i, j):
    return host(page, "masking").locator("tbody tr").nth(i).locator("td button").nth(j)


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_click_toggles_one_pair(show):
    page = show("masking")
    mask = PRESETS["causal"].copy()
    cell(page, 4, 1).click()
    mask[4, 1] = False
    assert_masking_is_right(page, mask)
    assert state(page, "masking")["preset"] is None
    text = host(page, "masking").locator(".ae-sentence").text_content()
    assert text == f"Your own mask: {mask.sum()} of 36 pairs may look."
    cell(page, 4, 1).click()
    assert_masking_is_right(page, PRESETS["causal"])


def test_a_drag_paints_what_its_first_cell_began(show):
    page = show("masking")
    page.mouse.move(*middle(cell(page, 5, 0)))
    page.mouse.down()
    for j in range(1, 5):
        page.mouse.move(*middle(cell(page, 5, j)), steps=3)
    page.mouse.move(*middle(cell(page, 5, 0)), steps=9)  # back: still hiding, not toggling
    page.mouse.up()
    mask = PRESETS["causal"].copy()
    mask[5, :5] = False
    assert_masking_is_right(page, mask)
    # After the button is up, moving paints nothing.
    page.mouse.move(*middle(cell(page, 0, 0)), steps=5)
    assert_masking_is_right(page, mask)


def finger(page, points):
    """Put a finger down on the first point, move it through the others, and lift it."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *at):
        touches = [{"x": x, "y": y} for x, y in at]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    touch("touchStart", points[0])
    for (x0, y0), (x1, y1) in pairwise(points):
        for share in np.linspace(0.1, 1, 10):
            touch("touchMove", (x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
            page.wait_for_timeout(20)
    touch("touchEnd")
    page.wait_for_timeout(300)


PHONE = {"width": 390, "has_touch": True, "is_mobile": True}


def test_a_finger_paints_sideways_and_taps(show):
    page = show("masking", **PHONE)
    cell(page, 0, 3).tap()
    mask = PRESETS["causal"].copy()
    mask[0, 3] = True
    assert_masking_is_right(page, mask)
    finger(page, [middle(cell(page, 5, j)) for j in range(3)])
    mask[5, :3] = False
    assert_masking_is_right(page, mask)


def test_a_finger_that_scrolls_paints_nothing(show):
    page = show("masking", "softmax", **PHONE)
    x, y = middle(cell(page, 5, 1))
    finger(page, [(x, y), (x, y - 200)])
    assert page.evaluate("scrollY") > 100
    assert_masking_is_right(page, PRESETS["causal"])


def test_tokens_hide_and_show_a_whole_row_or_column(show):
    page = show("masking")
    box = host(page, "masking")
    box.locator("thead button").nth(0).click()
    mask = PRESETS["causal"].copy()
    mask[:, 0] = False
    assert_masking_is_right(page, mask)
    box.locator("thead button").nth(0).click()
    mask[:, 0] = True
    assert_masking_is_right(page, mask)
    box.locator("tbody th button").nth(2).click()
    mask[2] = False
    assert_masking_is_right(page, mask)


def test_a_row_that_sees_nothing_is_zero_and_says_so(show):
    page = show("masking")
    cell(page, 0, 0).click()
    mask = PRESETS["causal"].copy()
    mask[0, 0] = False
    assert_masking_is_right(page, mask)
    said = host(page, "masking").locator(".ae-entropy").text_content()
    assert said.startswith("“my” may look at nothing: all weights are 0")


def test_masking_by_keyboard(show):
    page = show("masking")
    for _ in range(len(PRESETS)):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the last preset
    assert_masking_is_right(page, PRESETS["documents"])
    page.keyboard.press("Tab")  # one stop for the whole grid
    assert cell(page, 0, 0).evaluate("e => e === document.activeElement")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    mask = PRESETS["documents"].copy()
    mask[1, 2] = False
    assert_masking_is_right(page, mask)
    for key in ("End", "Enter", "ArrowRight", "ArrowDown", "Home", "Space"):
        page.keyboard.press(key)
    mask[1, 5] = True
    mask[2] = False  # Home went to the row's token, which hides the row
    assert_masking_is_right(page, mask)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement === document.body")


def test_the_sentence_follows_the_row_one_points_at(show):
    page = show("masking")
    cell(page, 1, 0).hover()
    p = reference.softmax(MASKING["scores"][1][:2])
    said = host(page, "masking").locator(".ae-entropy").text_content()
    assert said == f"“cat” looks at my {p[0]:.2f}, cat {p[1]:.2f}."


# --- sentence --------------------------------------------------------------------------------


def test_sentence_shows_the_head_and_the_word_that_one_picks(show):
    page = show("sentence")
    box = host(page, "sentence")
    for head, weights in SENTENCE["heads"].items():
        box.get_by_label("Head").select_option(head)
        for i in range(8):
            box.locator(".ae-word button").nth(i).click()
            np.testing.assert_allclose(state(page, "sentence")["weights"], weights[i], atol=1e-4)
            numbers = box.locator(".ae-number").all_text_contents()
            assert numbers == [f"{weight:.2f}" for weight in weights[i]]
            pressed = box.locator("button").evaluate_all("all => all.map(b => b.ariaPressed)")
            assert pressed == ["true" if j == i else "false" for j in range(8)]
    box.get_by_label("Head").select_option(next(iter(SENTENCE["heads"])))
    box.get_by_text("mat", exact=True).focus()
    page.keyboard.press("Enter")
    assert box.locator(".ae-entropy").text_content() == "From “mat”, 100% goes to “the”."


@pytest.mark.parametrize("width", [390, 1000])
def test_a_weight_of_one_fills_its_bar(show, width):
    page = show("sentence", width=width)
    column = page.locator(".ae-column").nth(2).bounding_box()
    assert page.locator(".ae-column .ae-fill").nth(2).bounding_box() == column
    other = page.locator(".ae-column .ae-fill").nth(5).bounding_box()
    assert other is None or min(other["width"], other["height"]) == 0


# --- scaling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", scaling.RULES)
def test_scaling_shows_the_reference_s_numbers(show, rule):
    page = show("scaling")
    box = host(page, "scaling")
    box.get_by_label("Scale").select_option(rule)
    for place, d_k in enumerate([4, 8, 16, 32, 64, 128, 256, 512, 1024]):
        box.get_by_label("width d_k").fill(str(place))
        for power in (1, 4, 6):
            box.get_by_label("keys", exact=True).fill(str(power - 1))
            box.get_by_text("Next query").click()
            now, right = state(page, "scaling"), scaling.numbers(d_k, 2**power, rule)
            assert (now["d_k"], now["n_k"], now["rule"]) == (d_k, 2**power, rule)
            i = now["query"]
            for name in ("scores", "weights", "bits"):
                np.testing.assert_allclose(now[name], right[name][i], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(now["slopes"], right["slope"], rtol=1e-9, atol=1e-12)
            said = box.locator(".ae-entropy").all_text_contents()
            p = right["weights"][i].max()
            assert said[0].startswith(f"Largest weight {p:.3f}; entropy {right['bits'][i]:.2f} of")
            assert f"; {(right['slope'] < 0.01).sum()} of 40 below 0.01." in said[1]
            assert box.locator(".ae-slopes circle").count() == 40
            assert box.locator(".ae-bars path").count() == 2**power


def test_scaling_by_keyboard(show):
    page = show("scaling")
    page.keyboard.press("Tab")
    page.keyboard.type("1/√")
    assert state(page, "scaling")["rule"] == "1/√d_k"
    for key in ("Tab", "Enter", "Tab", "Tab", "End", "Tab", "Home"):
        page.keyboard.press(key)
    now = state(page, "scaling")
    assert (now["query"], now["d_k"], now["n_k"]) == (1, 1024, 2)
    for key in ("Shift+Tab", "ArrowLeft", "Shift+Tab", "Enter"):
        page.keyboard.press(key)
    assert {name: state(page, "scaling")[name] for name in scaling.START} == scaling.START


# --- all ------------------------------------------------------------------------------------


# --- retrieval --------------------------------------------------------------------------------


def assert_retrieval_is_right(page):
    now = state(page, "retrieval")
    q, keys, values = (np.array(x) for x in (now["query"], RETRIEVAL["keys"], RETRIEVAL["values"]))
    near = -((keys - q) ** 2).sum(axis=1) / 2
    scores = keys @ q if now["rule"] == "dot" else near
    weights = reference.softmax(scores / now["temperature"])
    np.testing.assert_allclose(now["weights"], weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(now["output"], weights @ values, rtol=1e-9)
    box = host(page, "retrieval")
    shown = box.locator(".ae-found .ae-number:last-child").all_text_contents()
    assert shown == ["0" if p == 0 else f"{p:.3f}" for p in weights]
    assert box.locator(".ae-entropy").text_content() == f"Output {weights @ values:.2f}"
    winner, nearest = (RETRIEVAL["labels"][s.argmax()] for s in (scores, near))
    said = box.locator(".ae-sentence").text_content()
    assert said.startswith(f"Most goes to {winner}")
    assert (f"though {nearest} is nearer" in said) == (winner != nearest)


@pytest.mark.parametrize("rule", ["dot", "distance"])
def test_a_query_by_its_sliders_gives_the_reference_s_numbers(show, rule):
    page = show("retrieval")
    box = host(page, "retrieval")
    box.get_by_label("Score").select_option(rule)
    for first, second, exponent in ((1.75, 0.4, 0), (-1, 2, -1.3), (3, -0.5, 1.69), (0, 0, -0.5)):
        box.get_by_label("query: edible").fill(str(first))
        box.get_by_label("query: size").fill(str(second))
        box.get_by_label("temperature").fill(str(exponent))
        now = state(page, "retrieval")
        np.testing.assert_allclose(now["query"], [first, second], atol=0.026)
        assert now["temperature"] == pytest.approx(10**exponent, rel=0.02)
        assert_retrieval_is_right(page)


@pytest.mark.parametrize("width", [390, 1000])
def test_the_query_is_dragged_and_stays_on_the_plane(show, width):
    page = show("retrieval", width=width)
    dot = host(page, "retrieval").locator(".ae-query-dot").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    np.testing.assert_allclose(state(page, "retrieval")["query"], [1.5, 0], atol=0.02)
    page.mouse.move(x - 40, y - 30)
    moved = state(page, "retrieval")["query"]
    assert moved[0] < 1.4 and moved[1] > 0.1
    assert_retrieval_is_right(page)
    page.mouse.move(x + 2000, y + 2000)
    assert state(page, "retrieval")["query"] == [3.5, -0.9]
    page.mouse.up()
    page.mouse.move(x, y)
    assert state(page, "retrieval")["query"] == [3.5, -0.9]
    host(page, "retrieval").get_by_text("Reset").click()
    assert state(page, "retrieval")["query"] == RETRIEVAL["query"]


# --- gradient ---------------------------------------------------------------------------------


def gradient_by_hand(now):
    """Weights, output and pushes, by the package's reference."""
    q, k = np.array([now["query"]]), np.array(GRADIENT["keys"])
    v = np.array(GRADIENT["values"], dtype=float)[:, None]
    scale = 2**-0.5 / now["temperature"]
    weights = attention_weights(q, k, scale=scale)[0]
    do = weights @ v - now["target"]
    pushes = [-g for g in attention_backward(q, k, v, do[None], scale=scale)]
    return weights, (weights @ v)[0], pushes


def assert_gradient_is_right(page):
    now = state(page, "gradient")
    weights, output, (on_query, on_keys, on_values) = gradient_by_hand(now)
    for name, expected in {
        "weights": weights,
        "output": output,
        "loss": (output - now["target"]) ** 2 / 2,
        "queryPush": on_query[0],
        "keyPushes": on_keys,
        "valuePushes": on_values[:, 0],
    }.items():
        np.testing.assert_allclose(now[name], expected, rtol=1e-8, atol=1e-12, err_msg=name)
    box = host(page, "gradient")
    shown = box.locator(".ae-shelf .ae-number:not(.ae-v)").all_text_contents()
    assert shown == ["0" if p == 0 else f"{p:.3f}" for p in weights]
    shown = box.locator(".ae-shelf .ae-v").all_text_contents()
    assert [float(s.removeprefix("value ").replace("−", "-")) for s in shown] == pytest.approx(
        on_values[:, 0], abs=0.0051
    )
    length = float(box.locator(".ae-entropy").text_content().split()[-1])
    assert length == pytest.approx(np.linalg.norm(on_query), rel=0.006, abs=1e-12)


def test_pushes_are_the_reference_s_gradients(show):
    page = show("gradient")
    box = host(page, "gradient")
    for across, up, target, power in ((2, 0.5, 10, 0), (-1, 2, 3.5, -0.7), (6, 0, 10, 0.5)):
        for label, value in {
            "query: across": across,
            "query: up": up,
            "target": target,
            "temperature": power,
        }.items():
            box.get_by_label(label).fill(str(value))
        now = state(page, "gradient")
        np.testing.assert_allclose(now["query"], [across, up], atol=0.026)
        assert now["temperature"] == pytest.approx(10**power, rel=0.02)
        assert_gradient_is_right(page)


def test_steps_follow_the_push_and_end_at_two_shelves(show):
    page = show("gradient")
    box = host(page, "gradient")
    before = state(page, "gradient")
    box.get_by_text("1 step", exact=True).click()
    expected = np.array(before["query"]) + 0.02 * np.array(before["queryPush"])
    np.testing.assert_allclose(state(page, "gradient")["query"], expected)
    for start, shelf in ((0.5, 1), (0.0, 2)):
        box.get_by_text("Reset").click()
        box.get_by_label("query: up").fill(str(start))
        box.get_by_label("query: across").fill("2")
        for _ in range(4):
            box.get_by_text("50 steps").click()
        assert np.argmax(state(page, "gradient")["weights"]) == shelf
        assert_gradient_is_right(page)


@pytest.mark.parametrize("width", [390, 1000])
def test_the_pushed_query_is_dragged(show, width):
    page = show("gradient", width=width)
    dot = host(page, "gradient").locator(".ae-asker").bounding_box()
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y + 30)
    moved = state(page, "gradient")["query"]
    assert moved[0] < 1.9 and moved[1] < 0.3
    assert_gradient_is_right(page)
    page.mouse.move(x + 2000, y - 2000)
    page.mouse.up()
    assert state(page, "gradient")["query"] == [6, 3.1]


def test_gradient_by_keyboard(show):
    page = show("gradient")
    for _ in range(4):  # three buttons, then the first slider
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    np.testing.assert_allclose(state(page, "gradient")["query"], [2.05, 0.5])
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Home")
    assert state(page, "gradient")["temperature"] == pytest.approx(0.1)
    assert_gradient_is_right(page)


@pytest.mark.parametrize("name", GIVEN)
def test_changes_are_announced_once_the_reader_pauses(show, name):
    page = show(name)
    spoken = host(page, name).locator('[aria-live="polite"]')
    buttons = {
        "softmax": "All +1",
        "masking": "padding",
        "sentence": "on",
        "retrieval": "Reset",
        "scaling": "Next query",
        "gradient": "Reset",
        "flash": "To the end",
        "rope": "Both +1",
        "kvcache": "Start over",
        "linear": "All",
    }
    host(page, name).get_by_text(buttons[name], exact=True).click()
    page.wait_for_timeout(600)
    words = {
        "softmax": "apple 0.587",
        "masking": "filler",
        "sentence": "goes to “sat”",
        "retrieval": "Output 7.96",
        "gradient": "Push on the query: length 10.4",
        "scaling": "bits",
        "flash": "Moved 78; with the table 180",
        "rope": "at distance n − m = −2",
        "kvcache": "room for 1 such text. One text takes 10.7 GB",
        "linear": "Right: 5 0 8. The cache is off by 3.5, the state by 13.5",
    }
    assert words[name] in spoken.text_content()


def test_two_of_a_kind_on_one_page_do_not_meddle(show):
    page = show("softmax", "masking", "softmax", "masking")
    assert page.locator("[data-explorable][data-ready]").count() == 4
    assert page.locator("[data-explorable] img").count() == 0
    second = page.locator('[data-explorable="softmax"]').nth(1)
    untouched = page.locator('[data-explorable="masking"]').nth(1).get_attribute("data-state")
    first_state = page.locator('[data-explorable="softmax"]').nth(0).get_attribute("data-state")
    second.get_by_label("Rule").select_option("hardmax")
    cell(page, 3, 0).click()
    assert page.locator('[data-explorable="softmax"]').nth(0).get_attribute("data-state") == (
        first_state
    )
    assert page.locator('[data-explorable="masking"]').nth(1).get_attribute("data-state") == (
        untouched
    )


@pytest.mark.parametrize("name", GIVEN)
def test_without_scripts_the_picture_and_the_sentence_stay(show, name):
    page = show(name, java_script_enabled=False)
    image = page.locator("[data-explorable] img")
    assert image.is_visible()
    assert image.bounding_box()["height"] > 100
    assert page.get_by_text(content(name, GIVEN[name]).sentence).is_visible()
    assert page.locator("[data-explorable] :is(button, input, select)").count() == 0


# What JupyterLab does to tables, pictures and paragraphs in an output.
JUPYTERLAB = """
.jp-RenderedHTMLCommon { font-size: 14px; line-height: 1.6 }
.jp-RenderedHTMLCommon table { border-collapse: collapse; font-size: 12px; margin: 0 auto 1em }
.jp-RenderedHTMLCommon :is(td, th, tr) { padding: 0.5em; border: none; text-align: right }
.jp-RenderedHTMLCommon th { font-weight: bold }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #fff }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: #f5f5f5 }
.jp-RenderedHTMLCommon tbody tr:hover { background: #e0f2ff }
.jp-RenderedHTMLCommon p { text-align: left; margin: 0 0 1em }
.jp-RenderedHTMLCommon :is(img, svg) { max-width: 100%; height: auto }
"""
LOOK = """() => [...document.querySelectorAll('.ae-body, .ae-body *')].map(e => {
  const { backgroundColor, height, margin, padding, font, textAlign } = getComputedStyle(e);
  return [e.tagName, e.className.baseVal ?? e.className,
    backgroundColor, height, margin, padding, font, textAlign].join(' | ');
})"""


def test_jupyterlab_s_styles_change_nothing(show):
    page = show("sentence", "softmax", "masking")
    page.wait_for_timeout(200)
    alone = page.evaluate(LOOK)
    page.evaluate("document.querySelector('main').classList.add('jp-RenderedHTMLCommon')")
    # As in JupyterLab: its own style sheet comes first.
    page.evaluate(
        "css => document.head.append(Object.assign(document.createElement('style'),"
        " { textContent: css }))",
        JUPYTERLAB,
    )
    page.wait_for_timeout(200)
    changed = [pair for pair in zip(alone, page.evaluate(LOOK), strict=True) if pair[0] != pair[1]]
    assert not changed, "\n".join("\n".join(pair) for pair in changed[:8])


def background(page, name):
    color = page.locator(f'[data-explorable="{name}"] .ae-body').evaluate(
        "e => getComputedStyle(e).backgroundColor"
    )
    return [int(part) for part in color[4:-1].split(",")]


@pytest.mark.parametrize("where", DARK_PAGES)
def test_dark_where_the_page_is_dark_and_light_where_it_is_light(show, where):
    assert max(background(show("softmax", page=DARK_PAGES[where]), "softmax")) < 60
    assert min(background(show("softmax", page=LIGHT_PAGES[where]), "softmax")) > 240


@pytest.mark.parametrize("width", [320, 390, 700, 1280])
def test_nothing_scrolls_sideways(show, width):
    page = show(*GIVEN, width=width)
    for _ in range(2):
        host(page, "softmax").get_by_text("Add key").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.ae-body *')].filter(e => {
          const box = e.getBoundingClientRect();
          const room = e.closest('.ae-body').getBoundingClientRect();
          const fits = box.left > room.left - 1 && box.right < room.right + 1;
          return box.width && !fits && !e.closest('.ae-spoken');
        }).map(e => e.outerHTML.slice(0, 90))"""
    )
    assert not outside


@pytest.mark.parametrize("width", [390, 1000])
def test_the_page_does_not_jump_when_the_script_mounts(show, width):
    page = show(*GIVEN, width=width)
    page.wait_for_timeout(300)
    shift = page.evaluate(
        """() => new Promise(done => {
          let total = 0;
          new PerformanceObserver(list => list.getEntries().forEach(e => total += e.value))
            .observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done(total), 200);
        })"""
    )
    assert shift == 0
    heights = []
    for name in GIVEN:
        body = page.locator(f'[data-explorable="{name}"] .ae-body')
        reserved = body.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
        heights.append((body.bounding_box()["height"], reserved))
    assert all(height == pytest.approx(reserved, abs=0.1) for height, reserved in heights)


@pytest.mark.parametrize("width", [390, 700, 1000])
def test_the_picture_takes_no_more_room_than_what_replaces_it(new_page, width):
    """A busy machine paints the picture before the script runs: the page must not jump then."""
    parts = "".join(explorable_html(name, **given) for name, given in GIVEN.items())
    still = re.sub(r"<script.*?</script>", "", parts, flags=re.S)
    page = new_page(width=width)
    page.set_content(f"<!doctype html><meta name='viewport' content='width=device-width'>{still}")
    for name in GIVEN:
        body = page.locator(f'[data-explorable="{name}"] .ae-body')
        reserved = body.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
        assert body.bounding_box()["height"] == pytest.approx(reserved, abs=0.1), name


def axe(page):
    page.evaluate(AXE.read_text("utf-8"))
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in result["violations"]]


@pytest.mark.parametrize("pages", [LIGHT_PAGES, DARK_PAGES], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(show, pages, width):
    page = show(*GIVEN, width=width, page=pages["site"])
    page.add_style_tag(content="html[data-theme=dark] body { background: #141618; color: #dfe2e6 }")
    assert axe(page) == []
    host(page, "softmax").get_by_label("Rule").select_option("sigmoid")
    host(page, "softmax").get_by_text("Add key").click()
    cell(page, 0, 0).click()
    cell(page, 4, 4).focus()
    assert axe(page) == []


# --- on the book's pages ---------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_on_the_softmax_page(open_page, theme, width):
    page = open_page("book/softmax.html", theme=theme, width=width)
    box = host(page, "softmax")
    assert_softmax_is_right(page)
    box.get_by_label("Rule").select_option("entmax-1.5")
    box.get_by_label("temperature", exact=True).fill("0.3")
    box.get_by_text("Add key").click()
    assert_softmax_is_right(page)
    assert (max(background(page, "softmax")) < 60) == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_on_the_masking_page(open_page, theme, width):
    page = open_page("book/masking.html", theme=theme, width=width)
    assert_masking_is_right(page, PRESETS["causal"])
    host(page, "masking").get_by_text("prefix", exact=True).click()
    cell(page, 2, 2).click()
    mask = PRESETS["prefix"].copy()
    mask[2, 2] = False
    assert_masking_is_right(page, mask)
    assert (max(background(page, "masking")) < 60) == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_the_first_page(open_page):
    page = open_page("book/intro.html")
    box = host(page, "sentence")
    tokens = box.locator(".ae-word button")
    tokens.nth(2).click()
    weights = state(page, "sentence")["weights"]
    assert abs(sum(weights) - 1) < 0.01
    assert box.locator(".ae-number").all_text_contents() == [f"{p:.2f}" for p in weights]
    # Above the fold of a laptop.
    assert box.bounding_box()["y"] + box.bounding_box()["height"] < 900


@pytest.mark.parametrize("name", ["softmax", "masking"])
def test_the_book_s_page_shows_the_picture_without_scripts(open_page, name):
    page = open_page(f"book/{name}.html", java_script_enabled=False)
    assert page.locator(f'[data-explorable="{name}"] img').is_visible()
    assert page.get_by_text(content(name, GIVEN[name]).sentence).is_visible()
