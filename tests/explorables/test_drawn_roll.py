"""What "roll" says and draws: paths, pushes and ends are NumPy's."""

import itertools

import numpy as np
import pytest
from drawn import box, figures, points, shade

from attention_src.attention.reference import attention_backward
from attention_src.explorables.roll import START, STATES, make, push, rolled

QUERIES = [[2.0, 0.5], [2.0, 0.1], [2.0, 0.15], [-1, 3], [4, -3], [4, 3], [0, 0], [-0.5, 1.5]]
STARTS = [[2.0, 0.1], [2.0, 0.15], [3.5, 2.5]]
KEYS, LABELS = np.array(START["keys"]), START["labels"]


def states(starts=()):
    return [{"query": query, "starts": list(starts)} for query in QUERIES]


@pytest.fixture(scope="module")
def every():
    return {state: figures("roll", states(STARTS), state=state) for state in STATES}


def test_the_push_is_the_reference_s_gradient(every):
    for one in itertools.chain(*every.values()):
        weights, output, ahead = push(one.now["query"])
        q, v = np.array([one.now["query"]], float), np.array(START["values"], float)[:, None]
        dq, _, _ = attention_backward(q, KEYS, v, np.array([[output - START["wanted"]]]))
        np.testing.assert_allclose(ahead, -dq[0], atol=1e-12)
        np.testing.assert_allclose(one.now["weights"], weights, rtol=1e-9)
        np.testing.assert_allclose(one.now["output"], output, rtol=1e-9)
        np.testing.assert_allclose(one.now["push"], ahead, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(np.sum(one.now["pulls"], axis=0), ahead, rtol=1e-8, atol=1e-12)
        assert sum(one.now["asks"]) == pytest.approx(0, abs=1e-12)


def test_paths_end_where_numpy_s_end(every):
    for state, kinds in {"roll": ["plain"], "equal": ["plain", "equal"]}.items():
        for one in every[state]:
            for kind in kinds:
                path, end = rolled(one.now["query"], kind), one.now["ends"][kind]
                np.testing.assert_allclose(end["at"], path[-1], atol=1e-6)
                assert end["steps"] == len(path) - 1
                weights, output, _ = push(path[-1])
                assert end["best"] == weights.argmax()
                assert end["there"] == (weights.max() > 0.9)
                assert end["output"] == pytest.approx(output, abs=1e-6)


def test_equal_steps_are_equally_long():
    steps = np.diff(rolled([2.0, 0.5], "equal"), axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), START["equal"])


def test_the_watershed_lies_a_little_above_rock(every):
    ends = {tuple(one.now["query"]): one.now["ends"]["plain"]["best"] for one in every["roll"]}
    assert ends[2.0, 0.1] == 2
    assert ends[2.0, 0.15] == ends[2.0, 0.5] == 1


def test_starts_are_filled_where_jazz_was_found(every):
    for one in every["roll"]:
        assert one.now["found"] == 1
        assert one.said.endswith(" So far 3 starts, 1 at jazz.")
        for seen in one.seen:
            assert [shade(seen[f"start{i}"]) > 0 for i in range(3)] == [True, False, False]


def unit_of(seen):
    """Where 0 lies, and how many pixels are 1."""
    spots = np.array([[float(seen[f"key{j}"][c]) for c in ("cx", "cy")] for j in range(3)])
    (unit, x), (down, y) = (np.polyfit(KEYS[:, i], spots[:, i], 1) for i in (0, 1))
    assert down == pytest.approx(-unit, abs=0.02)
    return np.array([x, y]), unit


def test_the_path_is_drawn_up_to_the_frame(every):
    for state, kind in (("roll", "plain"), ("equal", "plain"), ("equal", "equal")):
        for one in every[state]:
            path = rolled(one.now["query"], kind)
            for seen in one.seen:
                zero, unit = unit_of(seen)
                drawn = (points(seen[f"path-{kind}"]) - zero) / [unit, -unit]
                n = len(drawn) - 1  # the last may be where it leaves
                np.testing.assert_allclose(drawn[:n], path[:n], atol=0.01)
                x, y, width, height = box(seen["frame"])
                last = points(seen[f"path-{kind}"])[-1] - [x, y]
                assert (last > -0.1).all()
                assert (last < np.array([width, height]) + 0.1).all()


def test_arrows_are_the_pulls_and_the_push(every):
    for one in every["pushes"]:
        for seen in one.seen:
            zero, unit = unit_of(seen)
            for j, pull in enumerate([*one.now["pulls"], one.now["push"]]):
                size = np.linalg.norm(pull)
                start, tip = (points(seen[f"pull{j}"]) - zero) / [unit, -unit]
                np.testing.assert_allclose(start, one.now["query"], atol=0.01)
                ahead = np.array(pull) * (min(0.1, 1.5 / size) if size else 0)
                share = np.linalg.norm(tip - start) / max(np.linalg.norm(ahead), 1e-9)
                assert share < 1.05  # shorter where the frame cuts it
                if np.linalg.norm(ahead) > 0.1:
                    assert share > 0
                    np.testing.assert_allclose(tip - start, share * ahead, atol=0.02)
            for j, ask in enumerate(one.now["asks"]):
                track, bar = box(seen[f"ask{j}-track"]), box(seen[f"ask{j}"])
                assert bar[2] == pytest.approx(track[2] / 2 * min(abs(ask), 12) / 12, abs=0.02)


def test_bars_and_numbers_of_weights(every):
    for one in every["roll"]:
        path = rolled(one.now["query"])
        before, after = push(path[0])[0], push(path[-1])[0]
        for seen in one.seen:
            for j in range(3):
                assert seen[f"weight{j}"]["words"] == f"{before[j]:.3f} → {after[j]:.3f}"


def test_words_do_not_touch(every):
    """On the map, by a generous width of the letters."""
    for one in itertools.chain(*every.values()):
        for seen in one.seen:
            x, y, width, height = box(seen["frame"])
            named = [m for key, m in seen.items() if "name" in key and "ask" not in key]
            assert len([m for m in named if "worth" in m["words"]]) == 3
            words = [m for m in [*named, seen.get("drag")] if m]
            boxes = []
            for m in words:
                left, low = float(m["x"]), float(m["y"])
                boxes.append((left, low - 11, left + 7 * len(m["words"]), low + 3))
            for a in boxes:
                assert x <= a[0] and a[2] <= x + width and y <= a[1] and a[3] <= y + height
            for a, b in itertools.combinations(boxes, 2):
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], words


def test_what_is_said():
    said = {state: [one.said for one in figures("roll", states(), state=state)] for state in STATES}
    assert said["roll"][0] == (
        "Released at (2.00, 0.50): ends at blues with weight 0.998; it hears 4.0, and 10 is wanted."
    )
    assert said["pushes"][0] == (
        "At (2.00, 0.50) it hears 1.49, and 10 is wanted. Up by 8.32 in all: blues and jazz. "
        "Down by as much: rock. The push has length 10.42."
    )
    assert said["equal"][0] == (
        "Released at (2.00, 0.50): both end at blues, after 400 plain steps and after 49 steps of "
        "equal length."
    )


def test_there_is_no_other_state():
    with pytest.raises(ValueError, match="it should be one of roll, pushes, equal"):
        make("else")
