"""What the chapter on history says: its solution."""

import numpy as np
import pytest
from worked import BOOK, assert_rejected

from attention_src.exercises.history import check_looking_test

PAGE = (BOOK / "history.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("left_out", range(4))
def test_without_any_of_its_assertions_the_solution_lets_one_through(left_out):
    text = PAGE.split("ex:history-looking")[2].split("```python\n")[1].split("```")[0]
    lines = text.splitlines()
    assertions = [line for line in lines if line.startswith("    assert")]
    assert len(assertions) == 4
    names = {"np": np}
    exec("\n".join(line for line in lines if line != assertions[left_out]), names)
    assert_rejected(check_looking_test, names["my_looking_test"], "of 17")
