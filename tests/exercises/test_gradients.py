"""A learner's own line in a message; the open exercise's schedule."""

import re

import numpy as np
import pytest
from worked import BOOK, run_exercise

from attention_src.exercises.gradients import check_gradient_check

PAGE = (BOOK / "gradients.md").read_text(encoding="utf-8")


def test_a_message_shows_the_learner_s_own_line():
    def my_gradient_check(forward, backward):
        raise AssertionError("never true")

    assert 'raise AssertionError("never true")' in check_gradient_check(my_gradient_check).message
    with pytest.raises(ValueError, match="test is int, it should be a function"):
        check_gradient_check(3)


def test_the_schedule_that_we_found_does_what_the_solution_says():
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE, re.DOTALL)
    wanted = ("def softmax(s)", "def flip(x)", "def start(size)")
    names = {"np": np}
    for cell in (c for c in cells if any(word in c for word in wanted)):
        exec(cell, names)
    run = run_exercise("gradients", "ex:gradients-free", **names)["run"]
    divided = {steps: run(lambda t: (8, 0, 0.25 / 16), steps) for steps in (100, 200)}
    assert divided[100][0] == 1 and divided[200][1] > 0.001
