"""The explorable "softmax": its numbers are the references', by hand and by keyboard."""

import numpy as np
import pytest
from built_site import come_near
from hosts import background, host, state

from attention_src.explorables import content
from attention_src.softmax import reference

RULES = {
    "softmax": reference.softmax,
    "entmax-1.5": reference.entmax15,
    "sparsemax": reference.sparsemax,
    "hardmax": reference.hardmax,
    "sigmoid": reference.sigmoid_weights,
}
SOFTMAX = content("softmax", {}).given


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


@pytest.mark.parametrize("theme, width", [("light", 390), ("dark", 1280)])
def test_on_the_softmax_page(open_page, theme, width):
    page = open_page("book/softmax.html", theme=theme, width=width)
    come_near(page)
    box = host(page, "softmax")
    assert_softmax_is_right(page)
    box.get_by_label("Rule").select_option("entmax-1.5")
    box.get_by_label("temperature", exact=True).fill("0.3")
    box.get_by_text("Add key").click()
    assert_softmax_is_right(page)
    assert (max(background(page, "softmax")) < 60) == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
