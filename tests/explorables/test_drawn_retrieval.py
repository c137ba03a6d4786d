"""What "retrieval" says and draws: scores, weights and output are the reference's."""

import numpy as np
import pytest
from drawn import box, figures, numbers

from attention_src.explorables.retrieval import START
from attention_src.softmax.reference import softmax

KEYS, VALUES = np.array(START["keys"]), np.array(START["values"])


@pytest.fixture(scope="module")
def every():
    rng = np.random.default_rng(0)
    queries = [START["query"], [0, 0], [3.5, -0.9], *rng.uniform([-2.5, -0.9], [3.5, 3], (12, 2))]
    heats = 10 ** rng.uniform(-1.3, 1.69, len(queries))
    return figures(
        "retrieval",
        [
            {"query": list(query), "rule": rule, "temperature": heat}
            for query, heat in zip(queries, heats, strict=True)
            for rule in ("dot", "distance")
        ],
    )


def right(now):
    q = np.array(now["query"])
    near = -((KEYS - q) ** 2).sum(axis=1) / 2
    scores = KEYS @ q if now["rule"] == "dot" else near
    return scores, near, softmax(scores / now["temperature"])


def test_numbers_are_the_reference_s(every):
    for now in (one.now for one in every):
        scores, _, weights = right(now)
        np.testing.assert_allclose(now["scores"], scores, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(now["weights"], weights, rtol=1e-9, atol=1e-12)
        assert now["output"] == pytest.approx(weights @ VALUES)


def test_pictures_show_them(every):
    for one in every:
        scores, _, weights = right(one.now)
        for seen in one.seen:
            assert seen["output"]["words"] == f"Output {weights @ VALUES:.2f}"
            for j, weight in enumerate(weights):
                said = float(seen[f"note{j}"]["words"].removeprefix("score ").replace("−", "-"))
                assert said == pytest.approx(scores[j], abs=0.0051)
                assert float(seen[f"weight{j}"]["words"]) == pytest.approx(weight, abs=0.00051)
                full, bar = box(seen[f"track{j}"])[2], box(seen[f"bar{j}"])[2]
                assert bar == pytest.approx(weight * full, abs=0.02)
                assert float(seen[f"key{j}"]["r"]) == pytest.approx(5 + 11 * weight**0.5, abs=0.01)
            # The query lies among the keys where its numbers say.
            spots = [numbers(seen[name], "cx", "cy") for name in ("key0", "key2", "query")]
            unit = (spots[0] - spots[1])[0] / 3  # the apple is 3 to the right of the chair
            there = spots[0] + unit * (np.array(one.now["query"]) - KEYS[0]) * [1, -1]
            np.testing.assert_allclose(spots[2], there, atol=0.03)


def test_what_is_said(every):
    for one in every:
        scores, near, _ = right(one.now)
        winner, nearest = (START["labels"][s.argmax()] for s in (scores, near))
        assert one.said.startswith(f"Most goes to {winner}")
        assert (f"though {nearest} is nearer" in one.said) == (winner != nearest)
    assert len({one.said for one in every}) > 3
