"""What "split_merge" says and draws: its code is run, and the cells are what that gives."""

import numpy as np
import pytest
from drawn import figures, numbers

from attention_src.explorables import split_merge

NAME = "split_merge"
TOKENS, N, D = split_merge.TOKENS, len(split_merge.TOKENS), split_merge.COLUMNS
X = np.arange(N * D).reshape(N, D)  # each number says where it lies in memory
SPLIT = 2


def drawn_heads(drawn, way, heads):
    """Which number stands where in the heads, read from the places of the cells."""
    places = {at: numbers(drawn[f"{way}-cell{at}"], "x", "y") for at in range(N * D)}
    lefts = sorted({x for x, _ in places.values()})
    tops = sorted({y for _, y in places.values()})
    found = np.full((heads, N, D // heads), -1)
    for at, (x, y) in places.items():
        head, column = divmod(lefts.index(x), D // heads)
        found[head, tops.index(y), column] = at
    return found


def ways(heads):
    """What the two lines of code should give."""
    return {
        "right": X.reshape(N, heads, -1).swapaxes(0, 1),
        "wrong": X.reshape(heads, N, -1),
    }


@pytest.fixture(scope="module")
def every():
    counts = split_merge.HEADS
    lit = [(heads, SPLIT, head) for heads in counts for head in range(heads)]
    others = [(heads, step, heads - 1) for heads in counts for step in (0, 1, 3)]
    states = [dict(zip(("heads", "step", "lit"), one, strict=True)) for one in lit + others]
    return figures(NAME, states)


def at_step(every, step):
    """Number of heads, which one is lit, and a picture: of each figure and width."""
    for one in every:
        if one.now["step"] == step:
            for seen in one.seen:
                yield one.now["heads"], one.now["lit"], seen


def test_the_cells_are_what_the_code_shown_gives(every):
    for heads, _, drawn in at_step(every, SPLIT):
        for way, expected in ways(heads).items():
            code = drawn[f"{way}-code"]["words"]
            np.testing.assert_array_equal(eval(code, {"x": X}), expected)
            assert drawn[f"{way}-shape"]["words"].startswith(str(expected.shape))
            np.testing.assert_array_equal(drawn_heads(drawn, way, heads), expected)
            for at in range(N * D):
                token, column = divmod(at, D)
                assert drawn[f"{way}-cell-word{at}"]["words"] == f"{TOKENS[token][0]}{column}"
                assert drawn[f"{way}-cell{at}"]["fill"] == f"var(--ae-t{token})"


def test_what_is_meant_and_what_is(every):
    for heads, lit, drawn in at_step(every, SPLIT):
        for way, found in ways(heads).items():
            for row in range(N):
                assert drawn[f"{way}-meant{row}"]["words"] == TOKENS[row]
                mark = drawn[f"{way}-is{row}"]
                assert mark["words"] == TOKENS[found[lit, row, 0] // D]
                right = (found[lit, row] == ways(heads)["right"][lit, row]).all()
                assert mark["font-weight"] == ("400" if right else "700")


def test_what_is_said_of_a_head(every):
    split = [one for one in every if one.now["step"] == SPLIT]
    for one in split:
        assert_sentence(one.said, one.now["heads"], one.now["lit"])
    assert len(split) == sum(split_merge.HEADS)


def assert_sentence(words, heads, lit):
    if heads == 1:
        assert words == split_merge.WORDS["one"]
        return
    right, wrong = (found[lit] for found in ways(heads).values())
    row = next(r for r in range(N) if wrong[r, 0] // D != r)
    width = D // heads
    pieces = [
        f"x[{a[row, 0] // D}, {a[row, 0] % D}:{a[row, 0] % D + width}]" for a in (right, wrong)
    ]
    heads_there = np.arange(heads * N * width).reshape(heads, N, width)
    name = f"heads[{lit}, {row}]"
    assert eval(name, {"heads": heads_there}).shape == (width,)
    for piece, expected in zip(pieces, (right[row], wrong[row]), strict=True):
        np.testing.assert_array_equal(eval(piece, {"x": X}), expected)
    assert words.startswith(
        f"{name} is meant to be {pieces[0]}, from “{TOKENS[row]}”. Reshape alone makes it "
        f"{pieces[1]}, from “{TOKENS[wrong[row, 0] // D]}”."
    )
    lacks = [token for i, token in enumerate(TOKENS) if not (wrong // D == i).any()]
    never = words.partition("never meets ")[2].partition(".")[0]
    assert [token for token in TOKENS if f"“{token}”" in never] == lacks != []


def test_merging_gives_x_back_either_way(every):
    for heads, _, drawn in at_step(every, 3):
        for way, found in ways(heads).items():
            code = drawn[f"{way}-code"]["words"]
            np.testing.assert_array_equal(eval(code, {"heads": found}), X)
            for at in range(N * D):  # each lies again where it was
                there, was = drawn[f"{way}-cell{at}"], drawn[f"{way}-from{at}"]
                assert (there["x"], there["y"]) == (was["x"], was["y"])
    assert {one.said for one in every if one.now["step"] == 3} == {split_merge.WORDS["merge"]}


def test_after_the_reshape_only_the_wrong_way_has_moved(every):
    for heads, _, drawn in at_step(every, 1):
        code = drawn["right-code"]["words"]
        shape = (N, heads, D // heads)
        assert eval(code, {"x": X}).shape == shape
        assert drawn["right-shape"]["words"] == f"{shape} token, head, column"
        for at in range(N * D):
            assert drawn[f"right-cell{at}"]["y"] == drawn[f"right-from{at}"]["y"]
        np.testing.assert_array_equal(drawn_heads(drawn, "wrong", heads), ways(heads)["wrong"])
    for one in every:
        if one.now["step"] == 1:
            assert f"has cut each token into {one.now['heads']}" in one.said


def test_tokens_wear_no_colour_of_a_role(every):
    fills = {mark.get("fill", "") for one in every for mark in one.seen[0].values()}
    names = {fill.removeprefix("var(--ae-").removesuffix(")") for fill in fills}
    assert {"t0", "t1", "t2", "t3", "t4"} <= names
    assert not {name for name in names if name.removesuffix("-fill") in [*"qkvpo"]}
