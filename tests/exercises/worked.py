"""What every chapter's worked solutions and wrong answers must do."""

import functools
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np

from attention_src import exercises

BOOK = Path(__file__).resolve().parents[2] / "book"


@functools.cache  # asked for before each test
def every(kind):
    """The exercises of all chapters that are a Check, a TestCheck or a Ladder."""
    found = {}
    for module in pkgutil.walk_packages(exercises.__path__, exercises.__name__ + "."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, kind):
                found[id(value)] = value
    return list(found.values())


def assert_rejected(check, answer, words):
    """A wrong answer is rejected, with a message that speaks of this mistake."""
    result = check(answer)
    assert result.status == "wrong"
    assert words in " ".join(result.message.split())


def run_exercise(chapter, label, **given):
    """The names that an exercise's cells, without its check, and its solution's code define."""
    names = {"np": np, **given}
    page = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    text = page.split(f":label: {label}\n")[1].split("{solution-end}")[0]
    for cell in re.findall(r"```(?:\{code-cell\} ipython3|python)\n(.*?)```", text, re.DOTALL):
        if "import check_" not in cell and "import keep" not in cell:
            exec(re.sub(r"^:tags:.*\n", "", cell), names)
    return names
