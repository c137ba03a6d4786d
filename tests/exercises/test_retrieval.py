"""The first exercise: its slope is the one that nudges find, and it wakes the walker."""

import numpy as np
from worked import run_exercise

from attention_src.exercises.retrieval import SHOP, STOCK


def test_the_slope_is_the_one_that_nudges_find():
    """Of the page's solution, whose own assertion says where the walker ends."""
    given = run_exercise("retrieval", "ex:retrieval-slope")
    q, step = np.array([0.4, -0.7]), 1e-6

    def heard(q):
        e = np.exp(SHOP @ q / 1.5)
        return e @ STOCK / e.sum()

    nudged = [(heard(q + n) - heard(q - n)) / (2 * step) for n in step * np.eye(2)]
    mine = given["my_slope"](q, SHOP, STOCK, 1.5)
    np.testing.assert_allclose(mine, np.stack(nudged, axis=1), rtol=1e-7)
