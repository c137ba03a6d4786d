"""What "one_query" says and draws: digits, lengths and areas are what NumPy computes."""

import numpy as np
import pytest
from drawn import figures, numbers, points

from attention_src.explorables import one_query
from attention_src.softmax.reference import softmax

NAME = "one_query"
KEYS, PRICES = one_query.KEYS, one_query.PRICES[:, 0]
LOW, HIGH = -1, 2.5


def reference(queries):
    """Dots, scores, weights [n, 4], parts [n, 4] and outputs [n]."""
    dots = np.array(queries) @ KEYS.T
    weights = softmax(dots / np.sqrt(2))
    return dots, dots / np.sqrt(2), weights, weights * PRICES, weights @ PRICES


def read(words):
    """A number as it is shown, and half a unit of its last digit."""
    digits = words.replace("−", "-").removeprefix("× ").removesuffix(" %")
    return float(digits), 0.5 * 10.0 ** -len(digits.partition(".")[2]) + 1e-9


def assert_shown(words, value):
    number, within = read(words)
    assert abs(number - value) <= within, words


@pytest.fixture(scope="module")
def every():
    """The three guests as they come, and others; each query and each thing in its turn."""
    rng = np.random.default_rng(0)
    some = np.round(rng.uniform(LOW, HIGH, (20, 3, 2)), 1)
    some[0] = [[0, 0], [1.5, 0], [HIGH, LOW]]
    places = [one_query.GUESTS.tolist(), *some.tolist()]
    states = [
        {"queries": queries, "active": n % 3, "all": both, "lit": n % 4, "moved": n > 0}
        for n, queries in enumerate(places)
        for both in (False, True)
    ]
    return figures(NAME, states)


def test_numbers_are_numpy_s(every):
    for now in (one.now for one in every):
        names = ("dots", "scores", "weights", "parts", "output")
        for name, value in zip(names, reference(now["queries"]), strict=True):
            np.testing.assert_allclose([row[name] for row in now["rows"]], value, atol=1e-12)


def test_what_is_said(every):
    for now, words in ((one.now, one.said) for one in every):
        if now["all"]:
            outputs = ", ".join(f"{x:.2f}" for x in reference(now["queries"])[-1])
            assert words == one_query.WORDS["all"].format(outputs=outputs)
        else:
            assert words == one_query.said(np.array(now["queries"][now["active"]]))


def test_areas_are_weights_and_the_thick_piece_is_as_long_as_its_number_says(every):
    for now, seen in ((one.now, seen) for one in every for seen in one.seen):
        assert_plane(now, seen, reference(now["queries"]))


def assert_plane(now, drawn, expected):
    i, lit = now["active"], now["lit"]
    radii = np.array([float(drawn[f"share{j}"]["r"]) for j in range(4)])
    np.testing.assert_allclose(radii**2 / (radii**2).sum(), expected[2][i], atol=4e-3)
    zero, tip = points(drawn["key0"])
    unit = (tip - zero)[0] / KEYS[0, 0]
    for n in range(3) if now["all"] else [i]:
        there = zero + unit * np.array(now["queries"][n]) * [1, -1]
        np.testing.assert_allclose(points(drawn[f"query{n}"]), [zero, there], atol=0.03)
    length = np.linalg.norm(now["queries"][i])
    shadow = np.linalg.norm(np.diff(points(drawn["shadow"]), axis=0)) / unit
    if length:
        assert abs(shadow - abs(expected[0][i, lit]) / length) < 0.02
        piece, times = drawn["from11"]["words"], drawn["from12"]["words"]
        shown = read(piece.removesuffix(" (drawn thick)"))[0]
        assert abs(shown - expected[0][i, lit] / length) < 0.0051
        assert times == f"× {length:.2f} (length of q)"
    a, b = (drawn[f"from0{row}"]["words"][2:].split(" × ") for row in (1, 2))
    products = [read(x)[0] * read(y)[0] for x, y in (a, b)]
    assert_shown(drawn["from03"]["words"][2:], sum(products))
    name = "q₁q₂q₃"[2 * i : 2 * i + 2] if now["all"] else "q"
    assert drawn["from00"]["words"] == f"{name} · {one_query.THINGS[lit]}"
    assert drawn["from03"]["words"] == drawn["from13"]["words"]


def test_one_guest_s_columns(every):
    for now, seen in ((one.now, seen) for one in every for seen in one.seen):
        if not now["all"]:
            assert_columns(now, seen, reference(now["queries"]))


def assert_columns(now, drawn, expected):
    i = now["active"]
    dots, scores, weights, parts, outputs = (values[i] for values in expected)
    for j in range(4):
        assert_shown(drawn[f"dots{j}"]["words"], dots[j])
        assert_shown(drawn[f"scores{i}{j}"]["words"], scores[j])
        assert_shown(drawn[f"weights{i}{j}"]["words"], weights[j])
        assert_shown(drawn[f"price{j}"]["words"], PRICES[j])
        assert_shown(drawn[f"parts{j}"]["words"], parts[j])
        name, percent = drawn[f"share{i}{j}"]["words"].split(maxsplit=1)
        assert name == one_query.THINGS[j]
        assert_shown(percent, 100 * parts[j] / outputs)
    assert_shown(drawn[f"output{i}"]["words"], outputs)
    # Lengths: weights among weights, parts among parts, the stack as high as all parts together.
    heights = {
        name: np.array([float(drawn[f"{name}{j}"]["height"]) for j in range(4)])
        for name in (f"score{i}", f"weight{i}", "part", f"stack{i}")
    }
    np.testing.assert_allclose(
        heights[f"weight{i}"] / heights[f"weight{i}"].sum(), weights, atol=1e-3
    )
    np.testing.assert_allclose(
        heights[f"score{i}"] * max(abs(scores)), abs(scores) * max(heights[f"score{i}"]), atol=0.1
    )
    top = int(drawn["top"]["words"])
    assert outputs <= top <= max(5, 2 * outputs)
    full = float(drawn["zero"]["y"]) - float(drawn["top"]["y"]) + 3
    np.testing.assert_allclose(heights["part"] / full * top, parts, atol=0.01 * top)
    assert (heights[f"stack{i}"] == heights["part"]).all()
    same = ("fill", "fill-opacity", "width")
    assert all(drawn[f"stack{i}{j}"][a] == drawn[f"part{j}"][a] for j in range(4) for a in same)
    assert abs(float(drawn["answer"]["height"]) - heights["part"].sum()) < 0.03
    # Each stands on the one before.
    for j in range(3):
        upper, lower = drawn[f"stack{i}{j + 1}"], drawn[f"stack{i}{j}"]
        assert abs(numbers(upper, "y", "height").sum() - float(lower["y"])) < 0.02
    labels = [float(drawn[f"share{i}{j}"]["y"]) for j in range(4)]
    assert (np.diff(labels) <= -11.9).all()  # no two on one another


def test_all_guests_matrices(every):
    for now, seen in ((one.now, seen) for one in every for seen in one.seen):
        if now["all"]:
            assert_matrices(now, seen, reference(now["queries"]))


def assert_matrices(now, drawn, expected):
    _, scores, weights, _, outputs = expected
    row = float(drawn["band"]["height"])
    for n in range(3):
        for c in range(2):
            assert_shown(drawn[f"q{n}{c}"]["words"], now["queries"][n][c])
        for j in range(4):
            assert_shown(drawn[f"scores{n}{j}"]["words"], scores[n, j])
            assert_shown(drawn[f"weights{n}{j}"]["words"], weights[n, j])
            level = float(drawn[f"weight{n}{j}"]["height"])
            assert abs(level - weights[n, j] * (row - 2)) < 0.02
        assert_shown(drawn[f"output{n}"]["words"], outputs[n])
    for j in range(4):
        for c in range(2):
            assert_shown(drawn[f"k{j}{c}"]["words"], KEYS[j, c])
        names = {drawn[key]["words"] for key in (f"column{j}", f"over{j}", f"row{j}")}
        assert names == {one_query.THINGS[j]}
    shapes = {"q": (3, 2), "k": (2, 4), "s": (3, 4), "p": (3, 4), "v": (4, 1), "o": (3, 1)}
    assert {x: drawn[f"shape-{x}"]["words"] for x in shapes} == {
        x: str(s) for x, s in shapes.items()
    }
    first_row = points({"d": drawn["grid-q"]["d"].split("H")[0]})[0][1]
    assert abs(float(drawn["band"]["y"]) - row * now["active"] - first_row) < 0.02
