"""What a message shows: what a function wrote, how a drawn case is called, a plain wrong number."""

import re
import sys

import numpy as np
import pytest
from centre import ROW, centred, make

from attention_src.exercises.engine.checking import Case, Check


@pytest.fixture
def check():
    return make(cases=(ROW, Case("whole numbers", (np.array([1, 2, 6]),))), hints=())


def test_a_stub_is_called_on_the_named_cases_only(check):
    calls = []
    check.draw = lambda rng: (rng.normal(size=3),)
    assert check(calls.append).status == "not started"
    assert len(calls) == len(check.cases)
    assert check(centred).status == "passed"


@pytest.mark.parametrize("to", ["stdout", "stderr"])
def test_what_a_function_writes_is_kept_and_cut(check, capsys, to):
    def noisy(x):
        getattr(sys, to).write("y" * 1_000_000)
        return x * 3.0

    message = check(noisy).message
    assert "It printed: yyyy" in message and message.count("y") < 300
    check(lambda x: getattr(sys, to).write("y" * 1_000_000) and None)
    out, err = capsys.readouterr()
    assert len(out) < 2000 and not err


def test_a_whole_number_is_a_plain_wrong_value():
    half = Check("half", lambda x: float(x / 2), [Case("five", (5,))], [], [])
    message = half(lambda x: x // 2).message
    assert "expected = 2.5" in message and "yours    = 2" in message and "dtype" not in message
    assert "zeros_like" not in half(lambda x: np.float16(x / 2 + 0.01)).message


def test_a_drawn_case_of_numbers_is_called_by_their_values():
    product = Check("product", lambda a, b: a * b, [Case("ones", (1, 1))], [], [])
    product.draw = lambda rng: (int(rng.integers(2, 5)), float(rng.integers(6, 8)))
    assert re.search(r"drawn, a = [2-4], b = [67]\)", product(lambda a, b: a**b).message)
