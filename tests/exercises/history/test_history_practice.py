"""A row of the table "The vector or the patience?", run again with the page's own cells."""

import re

import numpy as np
import pytest
from worked import BOOK

PAGE = (BOOK / "history.md").read_text(encoding="utf-8")
ROW = re.search(r"^\| learning rate \{given\}`0.006` .*$", PAGE, re.MULTILINE)


def ranges(row):
    """Least and most of three seeds, for 6, 8 and 10 letters."""
    for text in re.findall(r"\{given\}`([\d–]+)`", row)[-3:]:
        ends = [int(end) for end in text.split("–")]
        yield ends[0], ends[-1]


def test_a_smaller_learning_rate_gives_what_the_table_says():
    torch = pytest.importorskip("torch")
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", PAGE, re.DOTALL)
    names = {"np": np}
    before = torch.get_default_dtype(), torch.get_num_threads()
    try:
        for cell in cells[1:4]:  # the network, its practice, its exam
            exec(re.sub(r"^:tags:.*\n", "", cell), names)
        pupil = names["train"]("copy", attends=False, seed=0, rate=0.006)
        found = [100 * names["exam"](pupil, "copy", n)[0].all(1).mean() for n in (6, 8, 10)]
    finally:
        torch.set_default_dtype(before[0])
        torch.set_num_threads(before[1])
    for percent, (least, most) in zip(found, ranges(ROW[0]), strict=True):
        assert least - 0.5 <= percent <= most + 0.5
