"""What the page says about its kernels, as many as it says."""

import inspect

from answers.gpu import lse_kernel
from worked import BOOK

from attention_src.exercises.gpu import check_kernel_test


def test_the_page_s_kernel_is_the_one_that_is_tried():
    page = (BOOK / "gpu.md").read_text(encoding="utf-8")
    assert f"```python\n{inspect.getsource(lse_kernel.fn)}```" in page


def test_the_page_counts_them():
    page = (BOOK / "gpu.md").read_text(encoding="utf-8")
    assert len(check_kernel_test.right) == 6 and "Six implementations are right." in page
    assert len(check_kernel_test.wrong) == 16 and "Sixteen are wrong: fifteen" in page
