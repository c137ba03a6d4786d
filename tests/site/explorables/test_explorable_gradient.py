"""The explorable "gradient" in a browser: what its steps do."""

import numpy as np
from hosts import host, state
from marks import STEADY, assert_shows

NAME = "gradient"


def test_steps_follow_the_push_and_end_at_two_shelves(show):
    page = show(NAME, **STEADY)
    box = host(page, NAME)
    before = state(page, NAME)
    box.get_by_text("1 step", exact=True).click()
    expected = np.array(before["query"]) + 0.02 * np.array(before["queryPush"])
    np.testing.assert_allclose(state(page, NAME)["query"], expected)
    for start, shelf in ((0.5, 1), (0.0, 2)):
        box.get_by_text("Reset").click()
        box.get_by_label("query: up").fill(str(start))
        box.get_by_label("query: across").fill("2")
        for _ in range(4):
            box.get_by_text("50 steps").click()
        assert np.argmax(state(page, NAME)["weights"]) == shelf
        assert_shows(page, NAME)
