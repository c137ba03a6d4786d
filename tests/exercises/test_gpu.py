"""Kernels that a learner's test meets are right and wrong, as many as the page says; the ladder."""

import inspect

import numpy as np
import pytest
from answers.gpu import ALL, SHAPES, lse_kernel, tables
from worked import BOOK

from attention_src.exercises.gpu import check_intensity, check_kernel_test
from attention_src.softmax import reference


def worst(kernel, seed):
    """The largest error of a kernel; infinite for NaN and for a changed table."""
    off = 0.0
    for shape in SHAPES:
        for s in tables(np.random.default_rng(seed), shape, ALL):
            before = s.copy()
            with np.errstate(all="ignore"):
                error = np.abs(kernel(s) - reference.softmax(before)).max()
            off = max(off, error if error < 1 and np.array_equal(s, before) else np.inf)
    return off


@pytest.mark.parametrize("one", check_kernel_test.wrong, ids=lambda one: one.name)
def test_each_wrong_kernel_is_wrong(one):
    assert worst(one.function, 0) > 1e-4


@pytest.mark.parametrize("one", check_kernel_test.right, ids=lambda one: one.name)
def test_right_kernels_differ_by_rounding_at_most(one):
    assert max(worst(one.function, seed) for seed in range(20)) < 1e-6


def test_the_page_s_kernel_is_the_one_that_is_tried():
    page = (BOOK / "gpu.md").read_text(encoding="utf-8")
    assert f"```python\n{inspect.getsource(lse_kernel.fn)}```" in page


def test_the_page_counts_them():
    page = (BOOK / "gpu.md").read_text(encoding="utf-8")
    assert len(check_kernel_test.right) == 6 and "Six implementations are right." in page
    assert len(check_kernel_test.wrong) == 16 and "Sixteen are wrong: fifteen" in page


def test_three_digits_are_enough_and_near_misses_are_refused():
    right = {r.letter: float(f"{r.value:.3g}") for r in check_intensity.rungs}
    assert check_intensity(**right).status == "passed"
    for letter, value in dict(a=-1 / 12, b=171, c=2, d=295.3e3, e="203").items():
        assert check_intensity(**{letter: value}).status == "wrong", letter
