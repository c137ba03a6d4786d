"""What "stall" says and draws: the price is the reference's, and 3 can be undercut in two ways."""

import numpy as np
import pytest
from drawn import box, figures

from attention_src.explorables.one_query import KEYS, PRICES
from attention_src.softmax.reference import softmax

QUERIES = [[2, 0], [3.3, 0], [2.2, -1], [0, 0], [3.5, 2.5], [-1, -2], [0, 2.5]]


@pytest.fixture(scope="module")
def every():
    return figures("stall", [{"query": query} for query in QUERIES])


def heard(query):
    return softmax(KEYS @ np.array(query) / np.sqrt(2)) @ PRICES[:, 0]


def test_numbers_are_the_reference_s(every):
    for query, one in zip(QUERIES, every, strict=True):
        np.testing.assert_allclose(one.now["output"], heard(query), rtol=1e-9)
        for seen in one.seen:
            assert seen["price"]["words"] == f"{heard(query):.2f}"
            full, bar = box(seen["track"])[3], box(seen["bar"])[3]
            assert bar == pytest.approx(full * min(heard(query), 12) / 12, abs=0.03)


def test_what_is_said(every):
    assert [one.said for one in every[:3]] == [
        "Question (2.0, 0.0): you hear 3.87.",
        "Question (3.3, 0.0): you hear 2.98, less than 3.",
        "Question (2.2, −1.0): you hear 2.99, less than 3.",
    ]
