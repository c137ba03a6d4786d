"""A chapter's cells that run in the page, run here: what each prints."""

import ast
import contextlib
import io
import linecache
import multiprocessing
import re
from unittest.mock import patch

from tools.book.freshness import plain
from tools.page import needs, slice


def sources(chapter):
    """The code of each cell of the page's Python, in order."""
    there = [c for c in needs.cells(chapter) if c.runs or c.reason == needs.WORDS["setup"]]
    return [cell.source.rstrip() for cell in there]


def printed(ways):
    """What each cell prints on each of these ways: text, value, figures, errors.

    A way is a list of cells, run in this order in a new Python.
    """
    for node in (
        node for code in {c for w in ways for c in w} for node in ast.walk(ast.parse(code))
    ):
        if isinstance(node, ast.Import | ast.ImportFrom):  # once, instead of in each process
            exec(ast.unparse(node), {})
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
        return pool.map(_run_all, ways, chunksize=1)


def _run_all(codes):
    names = {"__name__": "__main__"}
    with patch("IPython.display.display", _display):
        return [_run(code, names) for code in codes]


def _display(*shown, **how):
    print(*(shown if how.get("raw") else map(repr, shown)))


def _run(code, names):
    file = f"cell {hash(code)}"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, file, "exec"), names)
            if last:
                value = eval(compile(ast.Expression(last.value), file, "eval"), names)
                if value is not None and not hasattr(value, "_ipython_display_"):
                    print(repr(value))
        except Exception as error:
            print(type(error).__name__, error)
    return re.sub(r"(?m)^\[time\].*$", "[time]", out.getvalue())  # it differs from run to run


def names(code):
    """The names that a cell uses, and those that it makes or changes: x of `x = 1`, of `x[0] = 1`.

    Names inside a function, and those of a comprehension, count only if they come from outside.
    """
    parts = slice.parts(code)
    nodes = ast.walk(ast.parse(plain(code)))
    stores = (n for n in nodes if isinstance(n, ast.Subscript | ast.Attribute))
    changed = {slice.first(node) for node in stores if isinstance(node.ctx, ast.Store)}
    used = set().union(*(part.reads | part.later for part in parts))
    return used, changed.union(*(part.binds for part in parts))
