"""What the chapter on history says: its solution, timeline, and a row of a table."""

import re

import numpy as np
import pytest
from worked import BOOK, assert_rejected

from attention_src.exercises.history import check_looking_test

PAGE = (BOOK / "history.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("left_out", range(4))
def test_without_any_of_its_assertions_the_solution_lets_one_through(left_out):
    text = PAGE.split("ex:history-looking")[2].split("```python\n")[1].split("```")[0]
    lines = text.splitlines()
    assertions = [line for line in lines if line.startswith("    assert")]
    assert len(assertions) == 4
    names = {"np": np}
    exec("\n".join(line for line in lines if line != assertions[left_out]), names)
    assert_rejected(check_looking_test, names["my_looking_test"], "of 16")


NUMBERS = dict(re.findall(r'^    "([^"]+)": "(\d{4}\.\d{4,5})",$', PAGE, re.MULTILINE))
ROWS = re.findall(r"^\| (\d{4}) \| ([^:|]+): .*\{cite:p\}`(\w+)` \|$", PAGE, re.MULTILINE)
ENTRIES = (BOOK / "references.bib").read_text(encoding="utf-8").split("\n@")


def test_each_row_of_the_timeline_is_dated_by_its_own_paper():
    assert len(NUMBERS) == len(ROWS) == 21
    for (name, number), (year, _, key) in zip(NUMBERS.items(), ROWS, strict=True):
        (entry,) = (text for text in ENTRIES if f"{{{key}," in text)
        assert number in entry and year == f"20{number[:2]}", (name, key)
    months = [number[:4] for number in NUMBERS.values()]
    assert months == sorted(months)


@pytest.mark.weekly
def test_a_smaller_learning_rate_gives_what_the_table_says():
    """A row of "The vector or the patience?", run again with the page's own cells."""
    torch = pytest.importorskip("torch")
    names = {"np": np}
    before = torch.get_default_dtype(), torch.get_num_threads()
    try:
        for cell in CELLS[1:4]:  # the network, its practice, its exam
            exec(re.sub(r"^:tags:.*\n", "", cell), names)
        pupil = names["train"]("copy", attends=False, seed=0, rate=0.006)
        found = [100 * names["exam"](pupil, "copy", n)[0].all(1).mean() for n in (6, 8, 10)]
    finally:
        torch.set_default_dtype(before[0])
        torch.set_num_threads(before[1])
    row = re.search(r"^\| learning rate \{given\}`0.006` .*$", PAGE, re.MULTILINE)[0]
    ranges = re.findall(r"\{given\}`([\d–]+)`", row)[-3:]  # of three seeds, as "39–46" or "2"
    for percent, text in zip(found, ranges, strict=True):
        least, *_, most = 2 * [int(end) for end in text.split("–")]
        assert least - 0.5 <= percent <= most + 0.5
