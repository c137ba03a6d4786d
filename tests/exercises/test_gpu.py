"""What the page says about its kernels, as many as it says; the ladder's digits."""

import inspect

from answers.gpu import lse_kernel
from worked import BOOK

from attention_src.exercises.gpu import check_intensity, check_kernel_test


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
