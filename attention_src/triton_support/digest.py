"""A digest of everything that a launch's compiled code depends on, made without compiling.

If neither the digest nor Triton's version has changed, a recorded result of `compile` still holds.
Like `compile`, it works on any machine, but only where Triton is not interpreted.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from attention_src.triton_support.compile import argument_types
from attention_src.triton_support.launch import Launch, triton

# A digest holds the values of these types. Triton's version covers its own functions and types.
CONSTANTS = (bool, int, float, str, tuple, triton.language.constexpr, triton.language.dtype)


def launch_digest(launch: Launch, capability: int) -> str:
    """A digest that changes whenever the compiled code of a launch could change.

    It covers the code of the kernel and of every function that it calls, without comments,
    docstrings and layout; the types of its arguments, its constants, and which arguments are
    divisible by 16; warps, stages, the limit of registers and the chip. It does not cover
    Triton's version.

    Args:
        launch: its tensors may be on the meta device, which holds no data
        capability: the chip, 75 to 100
    Returns: 16 hexadecimal digits
    Raises:
        ValueError: the kernel uses a global object that is neither a number nor a jit function
    """
    types, constants, hints = argument_types(launch.kernel, launch.arguments)
    constants = {name: _constant(value) for name, value in constants.items()}
    options = *launch.options().values(), capability
    parts = sorted(_reached(launch.kernel)), types, constants, hints, options
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def source_digest(source: str) -> str:
    """A digest that changes with a file's code, and not with comments, docstrings and layout.

    Args:
        source: of a Python file
    Returns: 16 hexadecimal digits, the same for every version of Python
    """
    return hashlib.sha256(repr(_plain(ast.parse(source))).encode()).hexdigest()[:16]


def _constant(value: Any) -> Any:
    return sorted(_reached(value)) if isinstance(value, triton.JITFunction) else value


@cache
def _reached(kernel: triton.JITFunction) -> frozenset[str]:
    """The code of a jit function and of all those that it calls, directly or not."""
    found: dict[triton.JITFunction, str] = {}
    pending = [kernel]
    while pending:
        function = pending.pop()
        if function not in found:
            tree = ast.parse(function.src)
            used = dict(_globals(function, tree))
            values = {name: repr(x) for name, x in used.items() if isinstance(x, CONSTANTS)}
            found[function] = f"{_plain(tree)}\n{sorted(values.items())} {function.noinline}"
            pending += [x for x in used.values() if isinstance(x, triton.JITFunction)]
    return frozenset(found.values())


def _plain(node: Any) -> Any:
    """The syntax tree without docstrings, the same for every version of Python."""
    if isinstance(node, list):
        return [_plain(x) for x in node]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    documented = ast.FunctionDef | ast.ClassDef | ast.Module
    if isinstance(node, documented) and ast.get_docstring(node) is not None:
        fields["body"] = node.body[1:]
    kept = {name: _plain(x) for name, x in fields.items() if x not in (None, [])}
    return type(node).__name__, kept


def _globals(function: triton.JITFunction, tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The global names, dotted or not, that a jit function uses, with their values."""
    names = function.fn.__globals__
    local = function.fn.__code__.co_varnames
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in local]
    dotted = {n.value: n for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for node in nodes:
        if node.id not in names:  # a builtin
            continue
        value, name = names[node.id], node.id
        outer: ast.expr = node
        while isinstance(value, ModuleType) and outer in dotted:
            outer = dotted[outer]
            value, name = getattr(value, outer.attr), f"{name}.{outer.attr}"
        if getattr(value, "__module__", "").startswith("triton."):
            if not isinstance(value, CONSTANTS):
                continue
        elif not isinstance(value, (*CONSTANTS, triton.JITFunction)):
            raise ValueError(
                f"{function.__name__} uses {name}, a {type(value).__name__}; "
                "kernels should use jit functions and constants only"
            )
        yield name, value
