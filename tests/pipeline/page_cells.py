"""A chapter's cells that run in the page, run here: what each prints."""

import ast
import contextlib
import io
import linecache
import os
import pickle
import re
import symtable
from unittest.mock import patch

from tools.book.freshness import plain
from tools.page import needs


def sources(chapter):
    """The code of each cell of the page's Python, in order."""
    return [c.source.rstrip() for c in needs.cells(chapter) if c.runs or "setup" in c.tags]


def printed(codes, ways):
    """What the last cell prints on each of these ways, and on each beginning of one: {way: text}.

    A way is a tuple of numbers of cells, run in this order in a new Python: text, value, figures,
    errors. Each beginning runs once; then processes branch off, so that no way disturbs another.
    """
    for node in (node for code in codes for node in ast.walk(ast.parse(code))):
        if isinstance(node, ast.Import | ast.ImportFrom):  # once, instead of in each process
            exec(ast.unparse(node), {})
    tree = {}
    for way in ways:
        there = tree
        for number in way:
            there = there.setdefault(number, {})
    with patch("IPython.display.display", _display):
        return _branches(codes, tree, (), {"__name__": "__main__"})


def _branches(codes, tree, way, names):
    found = {}
    for number, further in tree.items():
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            try:
                here = (*way, number)
                there = {here: _run(codes[number], names)}
                there |= _branches(codes, further, here, names)
                with open(sink, "wb") as file:
                    pickle.dump(there, file)
            finally:
                os._exit(0)
        os.close(sink)
        with open(source, "rb") as file:
            found |= pickle.load(file)
        os.waitpid(child, 0)
    return found


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
    tree = ast.parse(plain(code))
    table = symtable.symtable(ast.unparse(tree), "cell", "exec")
    used = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    made = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        used |= {s.get_name() for s in scope.get_symbols() if s.is_global()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            made.add(ast.unparse(node).partition("[")[0].partition(".")[0])
    return used, made
