"""What "stretch" says and draws: NumPy's products and cosines, of the tables of the chapter."""

import re
from pathlib import Path

import numpy as np
import pytest
from drawn import WIDTHS, figures

from attention_src.explorables.stretch import PAIR, THINGS, K, W, stretched

PAGE = Path(__file__).parents[2] / "book" / "embeddings.md"
STATES = [{"number": n, "power": p} for n in (0, 3, 5, 13) for p in (0, 1, 2)]


@pytest.fixture(scope="module")
def every():
    return figures("stretch", STATES)


def test_the_tables_are_those_of_the_chapter():
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {"np": np}
    for begin in ("KINDS = [", "real = met", "def train("):
        exec(next(re.sub(r"^:tags:.*\n", "", c) for c in cells if begin in c), names)
    w, k = names["train"](0)
    others = [word for kind in names["KINDS"] for word in " ".join(kind[1:]).split()]
    for table, words, recorded in ((w, THINGS, W), (k, others, K)):
        found = table[[names["row"][word] for word in words]]
        np.testing.assert_allclose(recorded / 1000, found, atol=6e-4)


def test_numbers_are_numpy_s(every):
    for state, one in zip(STATES, every, strict=True):
        products, cosines = stretched(state["number"], 10 ** state["power"])
        np.testing.assert_allclose(one.now["products"], products, atol=1e-9)
        np.testing.assert_allclose(one.now["cosines"], cosines, atol=1e-9)
        assert one.now["change"] < 1e-12


def squares(mark):
    """The sizes of the squares of a path, in order."""
    return np.array(re.findall(r"h([\d.]+)v", mark["d"]), float)


def test_squares_are_as_wide_as_entries_and_hollow_below_0(every):
    for one in every:
        for name, most in (("cosine", 1), ("product", 2)):
            entries = np.array(one.now[f"{name}s"])
            share = np.minimum(np.abs(entries) / most, 1)
            for width, seen in zip(WIDTHS, one.seen, strict=True):
                room = (width - 62) // 18 if width < 520 else (width - 148) // 30
                full = min(room, 15 if width < 520 else 17) - 3
                filled, hollow = (squares(seen[f"{name}-{kind}"]) for kind in ("filled", "hollow"))
                assert len(filled) == (entries >= 0).sum() and len(hollow) == (entries < 0).sum()
                np.testing.assert_allclose(filled, full * share[entries >= 0], atol=0.006)
                np.testing.assert_allclose(hollow, full * share[entries < 0], atol=0.006)


def test_what_is_said(every):
    assert every[STATES.index({"number": 5, "power": 2})].said == (
        "Number 5 times 100.0: no product has changed, but for rounding, and the cosine of pear "
        "and sofa is 1.00."
    )
    assert "sofa is −0.99" in every[STATES.index({"number": 3, "power": 2})].said
    a, b = PAIR
    for state, one in zip(STATES, every, strict=True):
        if state["power"] == 0:
            cosine = stretched(state["number"], 1)[1][a, b]
            assert one.said == (
                f"Nothing is stretched yet: the cosine of pear and sofa is {cosine:.2f}."
            )
