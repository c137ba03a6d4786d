"""The explorable "scaling": its numbers are the reference's."""

import numpy as np
import pytest
from hosts import host, state

from attention_src.explorables import scaling


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
