"""What "scaling" says and draws: its numbers are the reference's."""

import re
from functools import cache

import numpy as np
import pytest
from drawn import box, figures, numbers, points

from attention_src.explorables import scaling

numbers_of = cache(scaling.numbers)


@pytest.fixture(scope="module")
def every():
    return figures(
        "scaling",
        [
            {"d_k": d_k, "n_k": n_k, "rule": rule, "query": query}
            for rule in scaling.RULES
            for d_k in (4, 64, 1024)
            for n_k in (2, 16, 64)
            for query in (0, 17)
        ],
        [338, 638],
    )


def right(now):
    return numbers_of(now["d_k"], now["n_k"], now["rule"])


def test_numbers_are_the_reference_s(every):
    for now in (one.now for one in every):
        found, i = right(now), now["query"]
        for name in ("scores", "weights", "bits"):
            np.testing.assert_allclose(now[name], found[name][i], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(now["slopes"], found["slope"], rtol=1e-9, atol=1e-12)


def test_pictures_show_them(every):
    for one in every:
        found, i = right(one.now), one.now["query"]
        for seen in one.seen:
            weights = found["weights"][i]
            assert seen["largest"]["words"] == f"largest {weights.max():.3f}"
            zero, top = points(seen["level0"])[0, 1], points(seen["level1"])[0, 1]
            bars = np.array([box(seen[f"bar{j}"]) for j in range(len(weights))])
            np.testing.assert_allclose(bars[:, 3], weights * (zero - top), atol=0.01)
            np.testing.assert_allclose(bars[:, 1] + bars[:, 3], zero, atol=0.02)
            assert f"bar{len(weights)}" not in seen
            # A dot a query, on an axis on which 10⁻⁶ and 1 have their ticks.
            low, high = (points(seen[f"tick{power}"])[0, 0] for power in (-6, 0))
            powers = np.log10(np.maximum(found["slope"], 1e-6))
            x = [numbers(seen[f"dot{n}"], "cx")[0] for n in range(40)]
            np.testing.assert_allclose(x, low + (powers + 6) / 6 * (high - low), atol=0.01)
            assert [n for n in range(40) if seen[f"dot{n}"]["r"] == "6"] == [i]


def three(words):
    number, *unit = words.split()
    return float(number) * (1e-6 if unit else 1)


def test_what_is_said(every):
    for one in every:
        found, i = right(one.now), one.now["query"]
        p, bits, most = found["weights"][i].max(), found["bits"][i], np.log2(one.now["n_k"])
        assert f"Largest weight {p:.3f}; entropy {bits:.2f} of at most {most:.0f} bits" in one.said
        assert one.said.endswith(f"; {(found['slope'] < 0.01).sum()} of 40 below 0.01.")
        words = re.search(
            r"Query (\d+) of 40: its scores spread by (.+?)\. .* mean (.+), median (.+);", one.said
        )
        assert int(words[1]) == i + 1
        shown = [three(word) for word in words.groups()[1:]]
        slope = found["slope"]
        wanted = [found["scores"][i].std(), slope.mean(), np.median(slope)]
        np.testing.assert_allclose(shown, wanted, rtol=0.006, atol=1e-8)
