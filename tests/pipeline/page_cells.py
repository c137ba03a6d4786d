"""A chapter's cells that run in the page, run here: what each prints."""

import ast
import contextlib
import io
import linecache
from unittest.mock import patch

import numpy as np

from tools.runhere import needs

SETTINGS = np.get_printoptions()


def sources(chapter):
    """The code of each cell of the page's Python, in order."""
    return [c.source.rstrip() for c in needs.cells(chapter) if c.runs or "setup" in c.tags]


def printed(codes):
    """What each of these prints, one after another in a new Python: text, value, figures, error."""
    np.set_printoptions(**SETTINGS)
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
    return out.getvalue()
