"""What "scaling" says and draws: its weights and winners are those of NumPy."""

import numpy as np
import pytest
from drawn import box, figures, numbers, points

from attention_src.explorables import scaling
from attention_src.softmax.reference import softmax

PLACES = range(len(scaling.WIDTHS))
STATES = [{"place": place, "query": query} for query in (0, 1, 7) for place in PLACES]


@pytest.fixture(scope="module", params=["plain", "divided"])
def every(request):
    shown = figures("scaling", STATES, state=request.param)
    return request.param == "divided", list(zip(STATES, shown, strict=True))


def right(now, divided):
    width = scaling.WIDTHS[now["place"]]
    return scaling.weights(width, divided)[now["query"]]


def test_weights_are_softmax_of_dot_products(every):
    divided, shown = every
    for now, one in shown:
        p = right(now, divided)
        np.testing.assert_allclose(one.now["weights"], p, rtol=1e-9, atol=1e-12)
        s = scaling.scores(scaling.WIDTHS[now["place"]])[now["query"]]
        if divided:
            s = s / scaling.WIDTHS[now["place"]] ** 0.5
        np.testing.assert_allclose(p, softmax(s))


def test_bars_are_as_high_as_the_weights(every):
    divided, shown = every
    for now, one in shown:
        p = right(now, divided)
        for seen in one.seen:
            zero, top = points(seen["grid0"])[0, 1], points(seen["grid1"])[0, 1]
            bars = np.array([box(seen[f"bar{j}"]) for j in range(16)])
            np.testing.assert_allclose(bars[:, 3], p * (zero - top), atol=0.02)
            np.testing.assert_allclose(bars[:, 1] + bars[:, 3], zero, atol=0.02)
            goal = points(seen["goal"])[0, 1]
            assert goal == pytest.approx(zero - 0.9 * (zero - top), abs=0.02)
            wanted = f"{p.max():.3f}" if p.max() < 0.9995 else "0.999…"
            assert seen["largest"]["words"] == wanted
            high, label = box(seen[f"bar{p.argmax()}"])[1], numbers(seen["largest"], "y")[0]
            assert label == pytest.approx(high - 5) or label == 11


def test_grey_marks_stand_below_the_earlier_winners(every):
    divided, shown = every
    for now, one in shown:
        before = [right(now | {"place": place}, divided).argmax() for place in range(now["place"])]
        for seen in one.seen:
            assert sum(key.startswith("won") for key in seen) == len(before) + bool(before)
            spots = set()
            for width, j in zip(scaling.WIDTHS, before, strict=False):
                mark = seen[f"won{width}"]
                assert mark["words"] == f"{width}"
                assert mark["x"] == seen[f"key{j}"]["x"]
                spots.add((mark["x"], mark["y"]))
            assert len(spots) == len(before)


def test_what_is_said():
    places = [{"place": place, "query": 0} for place in (4, 7)]
    one, sure = figures("scaling", places)
    assert one.said == ("Width 64: key 4 has 0.994 of the weight, the other fifteen share 0.006.")
    assert sure.said == "Width 512: key 12 has all of the weight but for less than 0.001."
    even, _ = figures("scaling", places, state="divided")
    assert even.said == (
        "Width 64, divided by 8: key 4 has 0.211 of the weight, the other fifteen share 0.789."
    )
    odd, _ = figures("scaling", [{"place": 1, "query": 0}] * 2, state="divided")
    assert odd.said.startswith("Width 8, divided by √8: key 7")


def test_the_story_of_the_first_screen():
    """A bar passes the line at width 64; at the next width it is another key."""
    most = np.array([scaling.weights(width)[0].max() for width in scaling.WIDTHS])
    who = [int(scaling.weights(width)[0].argmax()) for width in scaling.WIDTHS]
    assert (most[:4] < 0.9).all() and most[4] > 0.9
    assert who == [7, 7, 9, 4, 4, 9, 1, 12, 10]
    assert all(scaling.weights(width, True).max() < 0.9 for width in scaling.WIDTHS)
    with pytest.raises(ValueError, match="plain, divided"):
        scaling.make("square")
