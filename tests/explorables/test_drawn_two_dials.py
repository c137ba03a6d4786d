"""What "two_dials" says and draws: its weights are NumPy's, and one matrix does not get there."""

import numpy as np
import pytest
from drawn import box, figures, numbers, points

from attention_src.explorables import content
from attention_src.explorables.two_dials import BEATS, ENOUGH, NAMES, STATES, weights

STATES_SEEN = [{"q": q, "k": k} for q in (0, 30, 70, 71, 90) for k in (0, 20, 45, 90)]


@pytest.fixture(scope="module")
def every():
    return figures("two_dials", STATES_SEEN)


def test_numbers_are_numpy_s(every):
    for state, one in zip(STATES_SEEN, every, strict=True):
        wanted = weights(**state)
        np.testing.assert_allclose(one.now["weights"], wanted, atol=1e-12)
        assert one.now["found"] == (wanted[range(3), BEATS] >= ENOUGH).sum()
        rock, paper, scissors = wanted[1]
        assert one.said == (
            f"Paper gives rock {rock:.2f}, itself {paper:.2f} and scissors {scissors:.2f}. "
            f"Found, with at least {ENOUGH} from the one that beats them (dotted): "
            f"{one.now['found']} of 3."
        )


def test_pictures_show_them(every):
    for one in every:
        p = np.array(one.now["weights"])
        for seen in one.seen:
            for i, j in np.ndindex(3, 3):
                assert seen[f"value{i}{j}"]["words"] == f"{p[i, j]:.2f}"
                assert float(seen[f"cell{i}{j}"]["fill-opacity"]) == pytest.approx(
                    0.06 + 0.94 * p[i, j], abs=0.0051
                )
                drawn = seen[f"loop{i}" if i == j else f"arrow{i}{j}"]
                thick = float(drawn["stroke-width"])
                assert thick == pytest.approx(max(10 * p[i, j], 0.6), abs=0.0051)
            assert [seen[f"row{i}"]["words"] for i in range(3)] == NAMES
            assert [seen[f"col{i}"]["words"] for i in range(3)] == NAMES


def test_hands_stand_at_their_angles_and_arrows_at_their_tokens(every):
    for one in every:
        for seen in one.seen:
            for which in "qk":
                marks = [seen[f"{mark}-{which}"] for mark in ("hub", "hand")]
                hub, hand = (numbers(mark, "cx", "cy") for mark in marks)
                across, up = (hand - hub) * [1, -1]
                assert np.degrees(np.arctan2(up, across)) == pytest.approx(one.now[which], abs=0.1)
            at = [box(seen[f"node{i}"]) for i in range(3)]
            at = [place[:2] + place[2:] / 2 for place in at]
            for i, j in zip(range(3), BEATS, strict=True):
                begin, end = points(seen[f"want{i}"])
                assert np.linalg.norm(begin - at[i]) < 50 and np.linalg.norm(end - at[j]) < 50


def test_where_the_goal_is():
    """With the key read at what a token is, from 71 degrees on; exchanged, every arrow turns."""
    beaten = [weights(q, 0)[1, 0] for q in range(91)]
    assert [q for q in range(91) if beaten[q] >= ENOUGH] == list(range(71, 91))
    np.testing.assert_allclose(weights(0, 90), weights(90, 0).T, atol=1e-12)


def test_with_one_matrix_arrows_come_in_pairs():
    for degrees in range(91):
        p = weights(degrees, degrees)
        np.testing.assert_allclose(p, p.T, atol=1e-12)
        assert p[0, 0] > 0.786
    made = content("two_dials", {"state": "one"})
    assert made.given["q"] == made.given["k"] == STATES["one"]["q"]


def test_a_state_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="state is 'three'; it should be one of two, one"):
        content("two_dials", {"state": "three"})
