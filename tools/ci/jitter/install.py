"""How the noise gets into a process; start/sitecustomize.py calls this when Python starts.

torch is reached below autograd, when it has been imported. NumPy, whose @ cannot be replaced, is
reached by rewriting syntax trees: of cells before they run, and of the files in OURS when they are
imported. No file changes, no source that inspect shows, no cached bytecode. Processes that this one
starts get the noise too.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import re
from types import ModuleType
from typing import Any

from tools.ci.jitter import noise, noise_torch

OURS = re.compile(
    r"[/\\]attention_src[/\\](?!.*loops)|[/\\]triton[/\\]runtime[/\\]interpreter\.py$"
)


class Rewrite(ast.NodeTransformer):
    """Make a @ b, np.exp(x), x.sum() calls of in_numpy("@")(a, b) and so on."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if not isinstance(node.op, ast.MatMult):
            return self.generic_visit(node)
        return self._call(node, "@", [node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        package, _, name = ast.unparse(node.func).partition("np.")
        if not package and name in noise.NAMES:
            return self._call(node, name, node.args, node.keywords)
        if isinstance(node.func, ast.Attribute):
            arguments = [node.func.value, *node.args]
            return self._call(node, f".{node.func.attr}", arguments, node.keywords)
        return self.generic_visit(node)

    def _call(
        self, old: ast.AST, name: str, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> ast.AST:
        if name not in noise.NAMES:
            return self.generic_visit(old)
        f = ast.Call(ast.Name("__jitter__", ast.Load()), [ast.Constant(name)], [])
        return self.generic_visit(ast.copy_location(ast.Call(f, arguments, keywords), old))


def rewrite(tree: ast.AST) -> Any:
    """The same program, whose products, sums and exponentials are noisy."""
    return ast.fix_missing_locations(Rewrite().visit(tree))


def install() -> None:
    """Make noisy what this process imports from now on."""
    loader = importlib.machinery.SourceFileLoader
    get_code, exec_module = loader.get_code, loader.exec_module

    def rewritten(self: Any, name: str) -> Any:
        path = self.get_filename(name)
        if not OURS.search(path):
            return get_code(self, name)
        return compile(rewrite(ast.parse(self.get_data(path))), path, "exec", dont_inherit=True)

    def executed(self: Any, module: ModuleType) -> None:
        exec_module(self, module)
        change(module)

    builtins.__jitter__ = noise.in_numpy  # type: ignore[attr-defined]
    loader.get_code, loader.exec_module = rewritten, executed  # type: ignore


def change(module: Any) -> None:
    """Change a module of another package that has just been imported."""
    if module.__name__ == "torch":
        noise_torch.enter(module)
    if module.__name__ == "torch.nn.attention.flex_attention":  # it compiles, which takes no noise
        from torch.utils._python_dispatch import _disable_current_modes

        module.flex_attention = _disable_current_modes()(module.flex_attention)
    if module.__name__ == "IPython.core.interactiveshell":
        shell, old = module.InteractiveShell, module.InteractiveShell.transform_ast
        shell.transform_ast = lambda self, tree: rewrite(old(self, tree))
