"""The explorable "gradient": its pushes are the reference's gradients."""

import numpy as np
import pytest
from hosts import host, state

from attention_src.attention.reference import attention_backward, attention_weights
from attention_src.explorables import content

GRADIENT = content("gradient", {}).given


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
    page.mouse.move(width - 1, 0)  # beyond the plane
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
