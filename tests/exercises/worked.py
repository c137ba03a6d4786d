"""Every exercise of every chapter, what its page gives as its solution, and the answers to it."""

import contextlib
import functools
import importlib
import importlib.util
import io
import math
import pkgutil
import re
from pathlib import Path

import numpy as np

from attention_src import exercises
from attention_src.exercises.engine.variants import variants

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


def everything():
    """(chapter, name, check) for every check that a chapter imports."""
    for found in pkgutil.iter_modules(exercises.__path__):
        if found.name in ("engine", "keep", "mine", "mistakes_in_smollm2"):
            continue
        module = importlib.import_module(f"{exercises.__name__}.{found.name}")
        for name, value in vars(module).items():
            if name.startswith("check_"):
                yield found.name, name, value


FOUND = list(everything())
IMPORTED_AS = {check: name for _, name, check in FOUND}


@functools.cache
def answers(chapter):
    """The tables of tests/exercises/answers/<chapter>.py: RIGHT, SLY, GIVEN, SOLVED."""
    path = Path(__file__).parent / f"answers/{chapter}.py"
    spec = importlib.util.spec_from_file_location(f"answers_{chapter}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def listed(chapter, table, check):
    """Name, answer and words of what a chapter's table has for a check."""
    return entries(check, answers(chapter).get(table, {}).get(check, []))


def entries(check, given):
    """Name, answer and words of a list of functions, a dict of functions, or a text of lines."""
    if isinstance(given, str):
        return list(variants(check.solution or check.reference, in_two_lines(given)))
    if isinstance(given, list | tuple) and any(isinstance(one, str) for one in given):
        return [entry for one in given for entry in entries(check, one)]
    pairs = given.items() if isinstance(given, dict) else ((f.__name__, f) for f in given)
    return [(name, *(f if isinstance(f, tuple) else (f, ""))) for name, f in pairs]


def in_two_lines(text):
    """As `variants` reads it: "name: statement" alone in a line has no words and no more lines."""
    return re.sub(r"^(\S.*?): (.+)$(?!\n )", r"\1:\n    \2", text, flags=re.MULTILINE)


def assert_rejected(check, answer, words):
    """A wrong answer is rejected, with a message that speaks of this mistake."""
    result = check(answer)
    assert result.status == "wrong"
    assert words in " ".join(result.message.split())


def page_of(chapter):
    """The text of a lesson, and that of its lab if it has one."""
    pages = (BOOK / f"{chapter}.md", BOOK / f"labs/{chapter}.md")
    return "\n".join(page.read_text(encoding="utf-8") for page in pages if page.exists())


@functools.cache
def solution_of(chapter, check):
    """The function that the page's solution defines, or a file's where the page's code needs one: a
    kernel."""
    solved = answers(chapter).get("SOLVED", {})
    if check in solved:
        return solved[check]
    name = IMPORTED_AS[check]
    learner = page_of(chapter).split(f"import {name}\n")[1].split(f"{name}(", 1)[1].split(")")[0]
    given = answers(chapter).get("GIVEN", {})
    with contextlib.redirect_stdout(io.StringIO()):
        return run_exercise(chapter, label_of(chapter, check), **given)[learner]


def label_of(chapter, check):
    above = page_of(chapter).split(f"import {IMPORTED_AS[check]}\n")[0]
    return above.rsplit(":label: ", 1)[1].split("\n")[0]


def run_exercise(chapter, label, **given):
    """The names that an exercise's cells, without its check, and its solution's code define."""
    names = {"math": math, "np": np, **given}
    text = page_of(chapter).split(f":label: {label}\n")[1].split("{solution-end}")[0]
    for cell in re.findall(r"```(?:\{code-cell\} ipython3|python)\n(.*?)```", text, re.DOTALL):
        if "import check_" not in cell and "import keep" not in cell:
            exec(re.sub(r"^:tags:.*\n", "", cell), names)
    return names
