"""The explorable "split_merge": the code that it shows is run, and the cells are what it gives."""

import numpy as np
import pytest
from hosts import host, state
from marks import STEADY, marks, marks_under_way, numbers, said

from attention_src.explorables import split_merge

NAME = "split_merge"
TOKENS, N, D = split_merge.TOKENS, len(split_merge.TOKENS), split_merge.COLUMNS
X = np.arange(N * D).reshape(N, D)  # each number says where it lies in memory
STEPS = ["x", "reshape", "swapaxes", "merge"]


def press(page, group, words):
    box = host(page, NAME).get_by_role("group", name=group)
    box.get_by_role("button", name=words, exact=True).click()


@pytest.fixture
def page_at(show):
    def visit(heads, step, **options):
        page = show(NAME, **STEADY, **options)
        press(page, "Number of heads", str(heads))
        press(page, "Step", STEPS[step])
        return page

    return visit


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


@pytest.mark.parametrize("width", [390, 688, 960])
@pytest.mark.parametrize("heads", split_merge.HEADS)
def test_the_cells_are_what_the_code_shown_gives(page_at, heads, width):
    page = page_at(heads, 2, width=width)
    drawn = marks(page, NAME)
    for way, expected in ways(heads).items():
        code = drawn[f"{way}-code"]["words"]
        np.testing.assert_array_equal(eval(code, {"x": X}), expected)
        assert drawn[f"{way}-shape"]["words"].startswith(str(expected.shape))
        np.testing.assert_array_equal(drawn_heads(drawn, way, heads), expected)
        for at in range(N * D):
            token, column = divmod(at, D)
            assert drawn[f"{way}-cell-word{at}"]["words"] == f"{TOKENS[token][0]}{column}"
            assert drawn[f"{way}-cell{at}"]["fill"] == f"var(--ae-t{token})"


@pytest.mark.parametrize("heads", split_merge.HEADS)
def test_what_is_meant_and_what_is(page_at, heads):
    page = page_at(heads, 2)
    for lit in range(heads):
        host(page, NAME).get_by_role("button", name=f"wrong: head {lit}", exact=True).hover()
        assert state(page, NAME)["lit"] == lit
        drawn = marks(page, NAME)
        for way, found in ways(heads).items():
            for row in range(N):
                assert drawn[f"{way}-meant{row}"]["words"] == TOKENS[row]
                mark = drawn[f"{way}-is{row}"]
                assert mark["words"] == TOKENS[found[lit, row, 0] // D]
                right = (found[lit, row] == ways(heads)["right"][lit, row]).all()
                assert mark["font-weight"] == ("400" if right else "700")
        assert_sentence(said(page, NAME), heads, lit)


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


@pytest.mark.parametrize("heads", split_merge.HEADS)
def test_merging_gives_x_back_either_way(page_at, heads):
    page = page_at(heads, 3)
    drawn = marks(page, NAME)
    for way, found in ways(heads).items():
        code = drawn[f"{way}-code"]["words"]
        np.testing.assert_array_equal(eval(code, {"heads": found}), X)
        for at in range(N * D):  # each lies again where it was
            there, was = drawn[f"{way}-cell{at}"], drawn[f"{way}-from{at}"]
            assert (numbers(there, "x", "y") == numbers(was, "x", "y")).all()
    assert said(page, NAME) == split_merge.WORDS["merge"]


def test_after_the_reshape_only_the_wrong_way_has_moved(page_at):
    page = page_at(4, 1)
    drawn = marks(page, NAME)
    code = drawn["right-code"]["words"]
    assert eval(code, {"x": X}).shape == (N, 4, 2)
    assert drawn["right-shape"]["words"] == "(5, 4, 2) token, head, column"
    tops = {float(drawn[f"right-cell{at}"]["y"]) for at in range(N * D)}
    assert tops == {float(drawn[f"right-from{at}"]["y"]) for at in range(N * D)}
    np.testing.assert_array_equal(drawn_heads(drawn, "wrong", 4), ways(4)["wrong"])
    assert "has cut each token into 4" in said(page, NAME)


def test_tokens_wear_no_colour_of_a_role(show):
    page = show(NAME)
    colours = host(page, NAME).evaluate(
        """e => Object.fromEntries(
          ["t0", "t1", "t2", "t3", "t4", "q-fill", "k-fill", "v-fill", "p-fill", "o-fill"].map(
            name => [name, getComputedStyle(e).getPropertyValue(`--ae-${name}`)]))"""
    )
    assert len(set(colours.values())) == 10 and "" not in colours.values()
    fills = {mark.get("fill") for mark in marks(page, NAME).values()}
    assert not {
        f for f in fills if f and f.startswith("var(--ae-") and f[9] in "qkvpo" and f[10] in "-)"
    }


def test_by_the_keyboard(page_at):
    page = page_at(2, 2)
    head = host(page, NAME).get_by_role("button", name="right: head 0", exact=True)
    head.focus()
    assert state(page, NAME)["lit"] == 0 and head.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Tab")
    assert state(page, NAME)["lit"] == 1
    host(page, NAME).get_by_role("button", name="merge", exact=True).focus()
    page.keyboard.press("Enter")
    assert state(page, NAME)["step"] == 3


def test_fewer_heads_keep_a_head_lit(page_at):
    page = page_at(8, 2)
    host(page, NAME).get_by_role("button", name="right: head 6", exact=True).hover()
    press(page, "Number of heads", "2")
    assert state(page, NAME)["lit"] == 1
    press(page, "Number of heads", "1")
    assert state(page, NAME)["lit"] == 0
    assert said(page, NAME) == split_merge.WORDS["one"]


def test_cells_glide_from_x_into_the_heads(show):
    page = show(NAME, reduced_motion="reduce")
    press(page, "Step", "x")
    start = marks(page, NAME)["wrong-cell20"]
    page.emulate_media(reduced_motion="no-preference")
    under_way = marks_under_way(page, NAME, "swapaxes")["wrong-cell20"]
    page.clock.run_for(900)
    there = marks(page, NAME)["wrong-cell20"]
    assert float(start["y"]) <= float(under_way["y"]) < float(there["y"])
