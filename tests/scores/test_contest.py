"""The contest of the lab: who wins does not depend on how long they train."""

from pathlib import Path

import pytest

from tools.book.chapters import Book

LAB = next(c for c in Book(Path(__file__).parents[2]).chapters if c.slug == "labs/scores")


@pytest.fixture(scope="module")
def contest():
    """What the lab's cells on the contest define."""
    names = {}
    cells = [cell.source for cell in LAB.read().cells if cell.cell_type == "code"]
    for begin in ("# The three scores", "# The two tasks", "# Training"):
        exec(next(source for source in cells if source.startswith(begin)), names)
    return names


@pytest.mark.weekly
@pytest.mark.parametrize("steps", [800, 1600])
def test_the_order_is_the_same_after_more_steps(contest, steps):
    def share(task, score, shapes):
        return contest["train"](contest[score], shapes, contest[task], steps)[1].mean()

    two, three = contest["two"], contest["three"]
    end = share("nearest", "bilinear", two(2, 8))
    bent = share("nearest", "tanh_first", two(2, 8))
    assert end < 0.4 < 0.8 < bent < 0.9 < share("nearest", "additive", three(2, 6))
    few = share("largest", "additive", three(9, 8))
    bent = share("largest", "tanh_first", two(9, 8))
    assert few < bent - 0.05 < 0.7 < 0.98 < share("largest", "bilinear", two(9, 8))


@pytest.mark.weekly
@pytest.mark.parametrize("steps", [800, 1600])
def test_so_it_is_with_more_units(contest, steps):
    task, shapes = contest["largest"], contest["three"](9, 32)
    assert contest["train"](contest["additive"], shapes, task, steps)[1].mean() < 0.85
