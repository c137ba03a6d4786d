"""What "softmax" says and draws: weights, changes and the keys that a row is worth are NumPy's."""

import re

import numpy as np
import pytest
from drawn import box, figures, numbers, points

from attention_src.explorables.softmax import START, shares
from attention_src.softmax import reference

NAME = "softmax"
LABELS = START["labels"]
ROWS = ([3, 2, 0, -1], [-1, -2, -4, -5], [6, -6, 6, -6], [0, 0, 0, 0], [0.2, 0.1, -5.9, 6])
MOVES = [("", ROWS[0]), (0, [2.9, 2, 0, -1]), ("all four", [s + 4 for s in ROWS[0]])]


RETURNED = [("desk back to where it was", 3), ("all four back to where they were", "all four")]
ENDS = [6, 2, 0, -6]


def minus(words):
    return words.replace("−", "-")


@pytest.fixture(scope="module")
def dragged():
    states = [{"scores": list(r), "temperature": 1, "who": "", "from": list(r)} for r in ROWS]
    for row in ROWS[1:]:
        states.append({"scores": row, "temperature": 1, "who": 3, "from": [*row[:3], -1]})
    for who, start in MOVES[1:]:
        states.append({"scores": ROWS[0], "temperature": 1, "who": who, "from": start})
    return figures(NAME, states)


@pytest.fixture(scope="module")
def heated():
    row = START["scores"]
    rest = {"scores": row, "who": "", "from": row}
    return figures(
        NAME,
        [{"temperature": 10**power, **rest} for power in (-0.6, -0.3, 0, 0.26, 0.78)],
        state="temperature",
    )


def test_numbers_are_numpy_s(dragged, heated):
    for now in (one.now for one in dragged + heated):
        weights, change, worth = shares(now["scores"], now["from"], now["temperature"])
        np.testing.assert_allclose(now["weights"], weights, rtol=1e-9, atol=1e-12)
        assert now["change"] == pytest.approx(change, abs=1e-12)
        assert now["worth"] == pytest.approx(worth, rel=1e-9)


def assert_drawn(now, seen, reach):
    weights = reference.softmax(now["scores"], temperature=now["temperature"])
    zero = points(seen["tick0"])[0, 0]
    unit = (points(seen[f"tick{reach}"])[0, 0] - zero) / reach
    left = box(seen["unit0"])[0]
    whole = sum(box(seen[f"unit{j}"])[2] for j in range(4))
    for j, score in enumerate(np.array(now["scores"]) / now["temperature"]):
        assert seen[f"name{j}"]["words"] == LABELS[j]
        assert float(minus(seen[f"score{j}"]["words"])) == pytest.approx(score, abs=0.0501)
        assert seen[f"weight{j}"]["words"] == f"{weights[j]:.3f}"
        x, y = numbers(seen[f"dot{j}"], "cx", "cy")
        assert x == pytest.approx(zero + unit * score, abs=0.03)
        assert y == points(seen[f"lane{j}"])[0, 1]
        full, bar = box(seen[f"room{j}"]), box(seen[f"share{j}"])
        np.testing.assert_allclose(bar, [*full[:2], full[2] * weights[j], full[3]], atol=0.02)
        piece = box(seen[f"unit{j}"])  # one after the other
        assert piece[0] == pytest.approx(left, abs=0.05)
        assert piece[2] == pytest.approx(whole * weights[j], abs=0.03)
        left += piece[2]


def test_pictures_show_them(dragged, heated):
    for one in dragged:
        for seen in one.seen:
            assert_drawn(one.now, seen, 6)
            left, top, wide, tall = box(seen["all"])
            for j in range(4):  # each dot hangs from the bar, inside its ends
                start, end = points(seen[f"string{j}"])
                np.testing.assert_allclose(end, numbers(seen[f"dot{j}"], "cx", "cy"), atol=0.02)
                assert start[1] == top + tall and left + 9.9 < start[0] < left + wide - 9.9
            assert ("hint" in seen) == (one.now["who"] == "")
    for one in heated:
        for seen in one.seen:
            assert_drawn(one.now, seen, 12)
            assert "all" not in seen
            assert seen["worth"]["words"] == f"worth {one.now['worth']:.1f} keys"


def test_what_is_said(dragged, heated):
    assert dragged[0].said == "Nothing has been moved yet."
    for one in dragged:
        now = one.now
        if now["who"] == "":
            continue
        found = re.fullmatch(r"You moved (.*) by ([+−][\d.]+)\. (.*)", one.said)
        who, by, effect = found.groups()
        assert who == (now["who"] if now["who"] == "all four" else LABELS[now["who"]])
        steps = np.subtract(now["scores"], now["from"])
        assert float(minus(by)) == pytest.approx(steps[np.abs(steps).argmax()])
        assert effect == said_of(shares(now["scores"], now["from"])[1])
    for one in heated:
        heat, worth = one.now["temperature"], one.now["worth"]
        assert one.said == f"At temperature {heat:.2f} the row is worth {worth:.1f} keys of 4."


def said_of(change):
    """What the change of the shares, as NumPy has it, is called."""
    if change < 1e-9:
        return "No share changed."
    if change < 5e-4:
        return "Each share changed by less than 0.001."
    return f"The largest change of a share is {change:.3f}."


def test_a_score_may_come_back_hardly_matter_or_be_stuck():
    row, low = START["scores"], [6, 6, 6, -3]
    states = [{"scores": row, "who": who, "from": row} for _, who in RETURNED]
    states.append({"scores": [*low[:3], -4], "who": 3, "from": low})
    states.append({"scores": ENDS, "who": "all four", "from": ENDS})
    *back, small, stuck = figures(NAME, [{"temperature": 1, **state} for state in states])
    for one, (moved, _) in zip(back, RETURNED, strict=True):
        assert one.said == f"You moved {moved}. No share changed."
    assert 0 < shares([*low[:3], -4], low)[1] < 5e-4
    assert small.said == "You moved desk by −1.0. Each share changed by less than 0.001."
    assert stuck.said == "All four cannot move: apple and desk stand at the ends."


def test_all_four_change_nothing_and_desk_changes_all(dragged):
    together = dragged[-1]
    assert together.said == "You moved all four by −4.0. No share changed."
    assert together.now["change"] < 1e-15
    weights, change, _ = shares([3, 2, 0, 0], START["scores"])
    before = reference.softmax(START["scores"])
    assert (np.abs(weights - before) > 5e-4).all() and round(change, 3) == 0.021


def test_there_is_no_third_state():
    from attention_src.explorables import content

    with pytest.raises(ValueError, match="state is 'cold'; it should be one of shares, temp"):
        content(NAME, {"state": "cold"})
