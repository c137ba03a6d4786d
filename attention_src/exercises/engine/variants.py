'''Wrong answers, each written as the lines in which it differs from a right one.

    >>> from attention_src.exercises.engine.variants import variants
    >>> def scaled(q, k):
    ...     d = q.shape[-1]
    ...     return q @ k.T / d**0.5
    >>> WRONG = """
    ...     not scaled: These are the bare products.
    ...         return q @ k.T
    ...     number of keys: d_k is the width, not the number of keys.
    ...         d = len(k)
    ... """
    >>> [(name, message) for name, wrong, message in variants(scaled, WRONG)]
    [('not scaled', 'These are the bare products.'), ('number of keys', 'd_k is the width, ...')]

A statement takes the place of the one that begins alike: up to its `=`, or with the same word, as
`if`, `for` or `keys[0] = 1` for `keys[1] = 2`. Of several it is the one that agrees with it for
longest, the last of these; of `return`s the last. `- begin` takes out the statement that begins so.
`+ statement` adds one behind the statement just given, or in the place of the one taken out; if it
comes first, behind the function's first. A long message goes on after a backslash at the end of its
line, which Python itself joins.
'''

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any


def variants(right: Callable, text: str) -> Iterator[tuple[str, Callable, str]]:
    """Read wrong answers, each as the arguments of a `Mistake`.

    Args:
        right: the right function, written with def
        text: "name: message" at the left of each, its statements indented below
    Yields: name, function, message
    """
    source = textwrap.dedent(inspect.getsource(right))  # now: the file may be replaced later
    for block in re.split(r"\n(?=\S)", textwrap.dedent(text).strip()):
        head, *lines = block.split("\n")
        name, _, message = head.partition(":")
        yield name, Variant(right, source, *map(str.strip, lines)), message.strip()


class NoSuchStatement(Exception):
    """A line takes the place of none, or of one already taken; no learner's function raises it."""


class Variant:
    """A function with some statements written otherwise. It is compiled when it is first called.

    Args:
        right: the function, written with def
        source: its text
        lines: statements in place of its own, as the module's docstring says
    """

    def __init__(self, right: Callable, source: str, *lines: str) -> None:
        self.right, self.source, self.lines = right, source, lines

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)

    @functools.cached_property
    def function(self) -> Callable:
        """The function itself.

        Raises:
            NoSuchStatement: a statement that begins as none of the right function's, or as several
        """
        space = dict(self.right.__globals__)
        code = "\n".join(_rewritten(self.source, self.lines))
        exec(compile(code, f"<{self.right.__name__}, written otherwise>", "exec"), space)
        return space[self.right.__name__]


def _rewritten(source: str, lines: tuple[str, ...]) -> list[str]:
    """The lines of the function, other statements in place of some."""
    own = source.rstrip().split("\n")
    spans = sorted(_spans(ast.parse(source).body[0]))
    firsts = [own[first].strip() for first, _ in spans]
    new: dict[int, list[str]] = {}  # by the statement's place in spans
    place = 0
    for line in lines:
        if line.startswith("+ "):
            new.setdefault(place, [firsts[0]]).append(line.removeprefix("+ "))
            continue
        found = _places(line, firsts)
        if len(found) != 1 or found[0] in new:
            raise NoSuchStatement(f"{line!r} begins as {len(found)} statements, or as one given")
        [place] = found
        new[place] = [] if line.startswith("- ") else [line]
    for place in sorted(new, reverse=True):
        first, last = spans[place]
        indent = own[first][: -len(own[first].lstrip())]
        own[first : last + 1] = [indent + line for line in new[place] or ["pass"]]
    return own


def _spans(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """First and last line of each statement inside the function; of a loop or `if`, its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node is not tree:
            inner = getattr(node, "body", None)
            last = node.end_lineno if not inner else max(inner[0].lineno - 1, node.lineno)
            yield node.lineno - 1, (last or node.lineno) - 1


def _places(line: str, firsts: list[str]) -> list[int]:
    """Which statements, given by their first lines, the line may mean; it should be one."""
    if line.startswith("- "):
        return [i for i, own in enumerate(firsts) if own.startswith(line[2:])]
    alike = [i for i, own in enumerate(firsts) if _beginning(own) == _beginning(line)]
    if re.match(r"return\b", line):
        return alike[-1:]
    alike = alike or [i for i, own in enumerate(firsts) if _word(own) == _word(line)]
    return sorted(alike, key=lambda i: _agreement(line, firsts[i]))[-1:]


def _agreement(line: str, own: str) -> int:
    """For how many letters two lines are the same."""
    return max(n for n in range(len(line) + 1) if own.startswith(line[:n]))


def _word(line: str) -> str:
    return re.split(r"\W", line, maxsplit=1)[0]


def _beginning(line: str) -> str:
    """What tells a statement from others: all up to its `=`, `return`, or the whole line."""
    if re.match(r"return\b", line):
        return "return"
    code = line.split("  #")[0]
    set_to = re.match(r"(.*?)\s(\*\*|//|<<|>>|[-+*/%@|&^])?=\s", code)
    return f"{set_to[1]} {set_to[2]}" if set_to else code.strip()
