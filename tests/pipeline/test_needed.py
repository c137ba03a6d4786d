"""The cells that a cell needs: by cases that are easy to get wrong, and by running chapters."""

import os

import pytest
from page_cells import printed, sources

from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.page.slice import needed

FEW = ("retrieval", "equation", "rope")  # the quickest
CHAPTERS = [
    pytest.param(chapter, id=chapter.slug, marks=() if chapter.slug in FEW else pytest.mark.weekly)
    for chapter in Book(REPOSITORY).chapters
    if sources(chapter)
]


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs each way in a process that branches off")
def test_with_what_it_needs_a_cell_prints_what_it_prints_after_all_above(chapter):
    codes = sources(chapter)
    ways = [[*needed(codes[:i], code), i] for i, code in enumerate(codes)]
    wanted, *found = printed([codes, *([codes[i] for i in way] for way in ways)])
    for way, alone, after_all in zip(ways, found, wanted, strict=True):
        assert alone[-1] == after_all, f"{codes[way[-1]]}\n--- after {way[:-1]}"
    assert sum(len(way) - 1 for way in ways) <= sum(range(len(codes))) / 2, "little was left out"


# Cells, separated by |, and the numbers of those that the last of them needs.
CASES = {
    "nothing": ("x = 1 | print(2)", []),
    "by way of another": ("x = 1 | y = x | z = 3 | print(y)", [0, 1]),
    "the last maker": ("x = 1 | x = 2 | print(x)", [1]),
    "made here": ("x = 1 | x = 2; print(x)", []),
    "made here, too late": ("x = 1 | print(x); x = 2", [0]),
    "made here, perhaps": ("x = 1 | if len('a') > 1:\n    x = 2\nprint(x)", [0]),
    "made above, perhaps": ("x = 1 | for x in []: pass | print(x)", [1]),
    "in place": ("x = [1] | x += [2] | print(x)", [0, 1]),
    "a part": ("x = [1] | x[0] = 2 | y = x[0] | print(x)", [0, 1]),
    "an attribute": ("class A: pass\na = A() | a.b = 2 | print(a.b)", [0, 1]),
    "a method that changes": ("x = [1] | x.append(2) | x.index(1) | print(x)", [0, 1, 2]),
    "its argument": ("x = [1] | f = open_it | f.fold_into(x) | print(x)", [0, 1, 2]),
    "a generator": ("r = default_rng(0) | a = r.normal() | b = 1 | c = r.normal()", [0, 1]),
    "numbers of a generator": ("r = default_rng(0) | a = r.normal() | r.normal() | a", [0, 1]),
    "a copy": ("x = [1] | y = x.copy() | y[0] = 2 | print(x)", [0]),
    "a comprehension's own name": ("x = 1 | y = [x for x in range(3)] | print(y)", [1]),
    "a comprehension's source": ("x = [1] | [x for x in x]", [0]),
    "used up": ("z = zip([1], [2]) | list(z) | print(list(z))", [0, 1]),
    "an import changes nothing": ("import numpy as np\nx = np.ones(2) | np.sum(x) | x", [0, 1]),
    "imported again": ("import math | import math | math.pi", [1]),
    "where to": ("import numpy as np\nx = np.eye(2) | y = np.exp(1, out=x) | x", [0, 1]),
    "what is drawn does not change": ("x = [1] | heatmap(ax, x) | print(x)", [0]),
    "a function uses names": ("n = 1 | def f(): return n\n | n = 2 | f()", [1, 2]),
    "in a comprehension": ("n = 1 | def f(): return [n for i in range(2)]\n | f()", [0, 1]),
    "made later": ("def f(): return g() | n = 1 | def g(): return n\n | f()", [0, 1, 2]),
    "a function's own names": ("n = 1 | def f(n): return n\n | f(2)", [1]),
    "a function changes x": ("x = [1] | def f(a): a.append(2)\n | f(x) | x", [0, 1, 2]),
    "nor what it calls": ("def g(): 1\n | def f(a): a.append(g())\n | x = []\nf(x) | g()", [0]),
    "in a table": ("x = [] | t = {'f': lambda a: a.pop()} | t['f'](x) | x", [0, 1, 2]),
    "computed later": ("n = 1 | g = (n for i in range(2)) | n = 2 | list(g)", [0, 1, 2]),
    "settings": ("import numpy as np\nnp.set_printoptions(precision=2) | x = 1 | print(2)", [0]),
    "all of a module": ("from math import * | print(pi)", [0]),
    "exec": ("x = 1 | exec('x = 2') | print(x)", [0, 1]),
    "deleted": ("x = 1 | del x | print(x)", [0, 1]),
    "an error in the code": ("x = 1 | y = = 2 | print(x)", [0]),
    "unpacked": ("a, *b = 1, [2] | b[0].pop() | b", [0, 1]),
    "try": ("x = 1 | try:\n    x = 2\nexcept ValueError:\n    x = 3\n | x", [0, 1]),
    "match": ("x = [1] | match x:\n    case [y]:\n        x.pop()\n | x", [0, 1]),
}
# What a chapter does not do, and a reader may: all but the first cell were changed.
BY_READERS = {
    "a method by its name": ("x = [] | add = x.append | add(1) | print(x)", [0, 1, 2]),
    "another name for it": ("x = [1] | y = x | y.append(2) | print(x)", [0, 1, 2]),
    "held, and changed itself": ("x = [1] | y = {} | y['x'] = x | x.pop() | y", [0, 1, 2, 3]),
    "gone through": ("x = [[1]] | for y, z in zip(x, x):\n    z.append(2)\n | print(x)", [0, 1]),
    "global": ("x = 1 | def f():\n    global x\n    x = 2\n | f() | x", [0, 1, 2]),
    "a function handed on": (
        "x = [1] | f = list.pop | def g(h, a): h(a)\n | g(f, x) | x",
        [0, 1, 2, 3],
    ),
    "a closure": ("def make():\n    return lambda: n\n | g = make() | n = 2 | g()", [0, 1, 2]),
}


def cells(text):
    return [cell.strip() for cell in text.split(" | ")]


@pytest.mark.parametrize("text, wanted", CASES.values(), ids=list(CASES))
def test_cases(text, wanted):
    *above, code = cells(text)
    assert needed(above, code) == wanted


@pytest.mark.parametrize("text, wanted", BY_READERS.values(), ids=list(BY_READERS))
def test_a_cell_that_a_reader_changed_may_change_all_that_it_reads(text, wanted):
    *above, code = cells(text)
    assert set(needed(above, code, given=above[:1])) >= set(wanted)


# What ran, as numbers of cells, and what must run before the last of them.
ABOVE = "import math | x = [1] | x.append(2) | y = len(x) | z = 5 | print(y)"


@pytest.mark.parametrize(
    "ran, wanted",
    [
        ([], [1, 2, 3]),
        ([0, 1], [2, 3]),
        ([1, 2, 3], []),
        ([1, 2, 3, 4, 0, 5, 5], []),  # others change nothing
        ([1, 3], [2, 3]),
        ([1, 3, 2], [3]),  # in a wrong order
        ([1, 2, 2, 3], [1, 2, 3]),  # pressed twice
        ([1, 2, 3, 2], []),  # y was right
        ([1, 2, 3, 1, 3], [2, 3]),  # x begins anew
    ],
)
def test_what_ran_need_not_run_again_while_its_names_stand_for_the_same(ran, wanted):
    *above, code = all_cells = cells(ABOVE)
    assert needed(above, code, [all_cells[i] for i in ran]) == wanted


def test_a_cell_pressed_again_begins_where_it_began():
    *above, code = cells("x = [1] | w = 2 | x.append(2); print(x)")
    assert needed(above, code, [*above, code]) == [0]


def test_an_edited_cell_is_judged_by_what_it_is_now():
    given = cells("x = 1 | y = 2 | z = 3 | print(x)")
    *edited, code = cells("x = 1 | y = x | x = y + 1 | print(x)")
    assert needed(edited, code, given) == [1, 2]
    assert needed(given[:3], code, [*edited, code]) == [0]
