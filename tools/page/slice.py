"""Which cells must run before a cell, so that it finds what it would find if all above had run.

The page's Python has this file (course.py puts it into its zip) and asks it at each press, with the
code that the reader has in the cells. It is a backward slice over names. A cell is needed if it
makes a name that a needed cell reads, or changes what such a name stands for: it assigns to a part
of it, calls its method for no value, gives it first to a call for no value, or reads it if it is a
generator. The chapters change nothing in another way, as by a second name, and a test holds them to
this; a cell that the reader changed may change all that it reads, and all that shares with it.
"""

from __future__ import annotations

import ast
import dis
import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType

ALL = "*"  # stands for settings, files and names that no text shows, which every cell reads
SETTINGS = {"seed", "set_printoptions", "seterr", "simplefilter", "exec", "chdir", "open", "*"}
MOVING = {"default_rng", "iter", "zip", "map", "filter"}  # what they give changes when it is read
QUIET = re.compile("print|display|show|check_")  # calls that leave alone what they are given
AT_ONCE = "<listcomp>", "<setcomp>", "<dictcomp>"  # the functions that do not wait for a call
PERHAPS = ast.If, ast.Try, ast.Match, ast.Delete  # what they bind was there before, perhaps
FIXED = ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef  # nothing changes what they make
Names = frozenset[str]
NONE: Names = frozenset()
INSIDE = "LOAD", "STORE_GLOBAL"


@dataclass(frozen=True)
class Part:
    """What one statement does to names, by its text alone."""

    binds: Names
    perhaps: bool  # what it binds may be what it was
    fixed: bool  # nothing changes a part of it
    moves: bool  # it makes a generator
    reads: Names
    later: Names  # read when a function in it is called
    hands: Names  # read, and not only called
    changes: Names  # a part of them
    calls: Names  # the last names of what it calls, and of what it imports


@dataclass(frozen=True)
class State:
    """What is known of each name after some cells."""

    need: Mapping[str, frozenset[int]] = field(default_factory=dict)  # the cells that made it
    origin: Mapping[str, int] = field(default_factory=dict)  # equal if it is the same
    later: Mapping[str, Names] = field(default_factory=dict)  # read when it is called
    shares: Mapping[str, Names] = field(default_factory=dict)  # changed with it
    moving: Names = NONE
    fixed: Names = NONE
    count: int = 0


def steps(code: CodeType, what: tuple[str, ...]) -> Names:
    """The notebook's names that this code, without functions in it, loads, stores or deletes."""
    found = (i for i in dis.get_instructions(code) if i.opname.startswith(what))
    return frozenset(i.argval for i in found if "NAME" in i.opname or "GLOBAL" in i.opname)


def inner(code: CodeType, at_once: tuple[str, ...] = ()) -> Names:
    """Those that functions in it load or store, but for functions of these names."""
    found = NONE
    for body in (c for c in code.co_consts if isinstance(c, CodeType)):
        skipped = body.co_name in at_once
        found |= inner(body, at_once) if skipped else inner(body) | steps(body, INSIDE)
    return found


def first(node: ast.AST | None) -> str:
    """The x of x.y[0](…), or nothing."""
    while node and not isinstance(node, ast.Name):
        node = getattr(node, "value", getattr(node, "func", None))
    return node.id if isinstance(node, ast.Name) else ""


def last(node: ast.AST | None) -> str:
    """The z of x.y.z."""
    return getattr(node, "attr", getattr(node, "id", ""))


def changes(node: ast.AST) -> Iterator[str]:
    """The names of which it assigns a part, or which a call for no value may change."""
    match node:
        case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            yield first(node)
        case ast.keyword(arg="out"):
            yield first(node.value)
        case ast.Expr(ast.Call(func, args)):
            if isinstance(func, ast.Attribute):
                yield first(func)
            if not QUIET.match(first(func)):
                yield from map(first, args[:1])


def part(statement: ast.stmt) -> Part:
    code = compile(ast.Module([statement], []), "", "exec")
    waits = isinstance(statement, ast.FunctionDef)
    nodes = list(ast.walk(statement))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    imported = {node.name for node in nodes if isinstance(node, ast.alias)}
    return Part(
        binds=steps(code, ("STORE", "DELETE")),
        perhaps=isinstance(statement, PERHAPS),
        fixed=isinstance(statement, FIXED),
        moves=last(getattr(getattr(statement, "value", None), "func", None)) in MOVING,
        reads=steps(code, ("LOAD",)) | (NONE if waits else inner(code)),
        later=inner(code, AT_ONCE),
        hands=frozenset(n.id for n in nodes if isinstance(n, ast.Name) and n not in called),
        changes=NONE if waits else frozenset(name for node in nodes for name in changes(node)),
        calls=frozenset(map(last, called)) | imported,
    )


@functools.lru_cache(maxsize=500)
def parts(code: str) -> list[Part]:
    try:  # a notebook's own lines are no Python
        return [part(s) for s in ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", code)).body]
    except SyntaxError:  # it will do nothing
        return []


def closed(names: Names, more: Mapping[str, Names]) -> Names:
    """These names, those that each brings with it, and so on."""
    while new := NONE.union(*(more.get(name, NONE) for name in names)) - names:
        names |= new
    return names


def after(state: State, code: str, careful: bool = False) -> tuple[State, Names]:
    """The state after one more cell, and the names of above that it reads.

    Args:
        state: what is known before it
        code: the cell
        careful: it may change all that it reads
    """
    later, shares, moving, fixed = {**state.later}, {**state.shares}, state.moving, state.fixed
    made = read = touched = NONE
    for p in parts(code):
        reads = closed(p.reads, later)
        changed = p.changes | (reads & moving) | (reads if careful else NONE)
        changed = closed(changed, shares) - fixed | (p.calls & SETTINGS and {ALL})
        read |= (reads | changed | (p.binds if p.perhaps else NONE)) - made
        made |= p.binds
        touched |= changed
        together = (reads | p.binds) - fixed
        for name in p.binds:
            later[name] = p.later.union(
                *(later.get(n, NONE) for n in (reads if careful else p.hands))
            )
            shares[name] = NONE
        for name in together if careful else NONE:
            shares[name] = shares.get(name, NONE) | together
        moving = moving - p.binds | (p.binds if p.moves else NONE)
        fixed = fixed - p.binds | (p.binds if p.fixed else NONE)
    read = read & state.origin.keys() | {ALL}
    needs = frozenset({state.count}).union(*(state.need.get(name, ()) for name in read))
    run = hash((code, frozenset((name, state.origin.get(name)) for name in read)))
    new = made | touched & {*state.origin, ALL}
    need = {**state.need, **dict.fromkeys(new, needs)}
    origin = {**state.origin, **{name: hash((run, name)) for name in new}}
    return State(need, origin, later, shares, moving, fixed, state.count + 1), read


def needed(
    above: list[str], code: str, ran: Collection[str] = (), given: Collection[str] | None = None
) -> list[int]:
    """The numbers of the cells above that must run before this code, where some ran already.

    Args:
        above: the code of each cell above
        code: the cell that will run
        ran: the code of each cell that Python ran, in the order of time; a cell may be there twice
        given: the chapter's own code of its cells: any other was changed; None = none was
    """

    def then(state: State, cell: str) -> State:
        return after(state, cell, given is not None and cell not in given)[0]

    there = functools.reduce(then, above, State())
    read = after(there, code)[1]
    cells = sorted(frozenset().union(*(there.need.get(name, ()) for name in read)))
    wanted = {name: there.origin[name] for name in read if name in there.origin}
    now = functools.reduce(then, ran, State())
    missing = [i for i, cell in enumerate(cells) if above[cell] not in ran]
    # As few as give each name what it should stand for.
    for start in range(min(missing, default=len(cells)), 0, -1):
        end = functools.reduce(then, (above[cell] for cell in cells[start:]), now)
        if all(end.origin.get(name) == origin for name, origin in wanted.items()):
            return cells[start:]
    return cells
