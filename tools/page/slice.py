"""Which cells must run before a cell, so that it finds what it would find if all above had run.

The page's Python has this file (course.py puts it into its zip) and asks it at each press, with the
code that the reader has in the cells: an edited cell is judged by what it is now.

A cell is needed if it makes a name that a needed cell uses, or may change what such a name stands
for: assigns to a part of it, calls a method that is not known to leave it alone, or does so to what
may share data with it. A function does, wherever it is mentioned, what its code does. What is
imported changes nothing, but for the few listed below. A cell that changes what has no name, as
NumPy's settings, is needed by all that follow.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar


def _words(text: str) -> set[str]:
    return set(text.split())


# Modules whose functions leave alone what they are given, and the world.
QUIET = _words(
    """numpy attention_src math cmath itertools functools collections operator re string textwrap
    json dataclasses typing fractions decimal statistics inspect tracemalloc time timeit copy enum
    IPython __future__"""
)
FIGURES = "attention_src.figures"  # its functions draw in what they are given first
FIRST = {f"numpy.{f}" for f in _words("fill_diagonal put put_along_axis place putmask copyto")}
WORLD = {f"numpy.{f}" for f in _words("set_printoptions seterr seterrcall save savez savetxt")}
OWN_RANDOM = {f"numpy.random.{f}" for f in _words("default_rng Generator SeedSequence PCG64")}
VIEWS = _words(
    """asarray asanyarray ascontiguousarray reshape ravel squeeze transpose swapaxes moveaxis
    rollaxis expand_dims broadcast_to broadcast_arrays atleast_1d atleast_2d atleast_3d split
    array_split hsplit vsplit diagonal diag real imag flip fliplr flipud rot90 nditer nan_to_num"""
)
# Methods that give something new, those that give a part of what they belong to or leave it alone,
# those that take the next numbers from a generator, and those that put something into what they
# belong to. All others may do anything with it and with what they are given.
NEW = _words(
    """sum mean std var max min round astype copy argsort argmax argmin cumsum prod dot any all
    tolist item join split splitlines index count find lower upper strip startswith endswith isalpha
    isascii isdigit replace format encode decode nonzero repeat search match findall"""
)
PART = _words(
    """items keys values get reshape swapaxes transpose ravel squeeze view diagonal union
    intersection difference most_common trace embed run text causal where sources token_to_id
    get_vocab load ridge embed_without_each head_output_weights input_influence"""
)
PARTS = _words("items keys values get")
DRAW = _words(
    """normal standard_normal uniform integers permutation permuted choice random lognormal
    exponential poisson binomial"""
)
FILL = _words(
    "append extend insert pop popitem update setdefault add remove discard clear sort reverse fill"
)
EVERYTHING = _words("exec eval globals locals vars setattr delattr __import__")
OUTSIDE = _words("open input breakpoint")
PLAIN = _words("len int float str bool range abs round repr format divmod ord chr type print")
EAGER = PLAIN | _words("sum max min any all list tuple dict set sorted")
NUMBERS = _words("len int float str bool repr format ord chr")
LAZY = _words("zip map filter iter enumerate reversed")

ALL = "*"  # stands for what has no name, and is used by all
Names = frozenset[str]
NONE: Names = frozenset()


@dataclass(frozen=True)
class Late:
    """What a function does when it is called, or what is done with something that holds one.

    args: it may change what it is given
    gives: what it gives may hold functions, or be computed later
    """

    reads: Names = NONE
    changes: Names = NONE
    args: bool = False
    world: bool = False
    gives: bool = False

    def __or__(self, other: Late) -> Late:
        return Late(
            self.reads | other.reads,
            self.changes | other.changes,
            self.args or other.args,
            self.world or other.world,
            self.gives or other.gives,
        )


@dataclass(eq=False)
class State:
    """What is known of each name after some cells.

    kinds: "constant", "function", "iterator", or the dotted name of what was imported
    late: what is done where it is mentioned
    links: the names with which it may share data
    need: the numbers of the cells that made it what it is
    origin: equal in two states if it is the same in both
    methods: what those of the cells' classes do, by their names
    reads: what the last cell reads
    world: the cells that changed what has no name
    """

    kinds: dict[str, str] = field(default_factory=dict)
    late: dict[str, Late] = field(default_factory=dict)
    links: dict[str, Names] = field(default_factory=dict)
    need: dict[str, frozenset[int]] = field(default_factory=dict)
    origin: dict[str, int] = field(default_factory=dict)
    methods: dict[str, Late] = field(default_factory=dict)
    reads: Names = NONE
    world: Names = NONE
    count: int = 0


T = TypeVar("T")


def _without(names: Names, there: dict[str, T]) -> dict[str, T]:
    return {name: x for name, x in there.items() if name not in names}


class Scope:
    """A cell, or a function's body: what it reads from outside, makes and changes there."""

    def __init__(self, outer: State | Scope, own: Names = NONE) -> None:
        self.in_function = isinstance(outer, Scope)
        self.kinds: dict[str, str] = _without(own, outer.kinds)
        if self.in_function:  # when it is called, they may be something else
            self.kinds = {n: kind for n, kind in self.kinds.items() if kind != "constant"}
        self.late: dict[str, Late] = _without(own, outer.late)
        links: dict[str, Names] = _without(own, outer.links)
        self.links: dict[str, Names] = {name: linked - own for name, linked in links.items()}
        self.methods: dict[str, Late] = outer.methods.copy()
        self.reads: set[str] = set()
        self.changed: set[str] = set()
        self.made: set[str] = set()  # before what is looked at now, on every way to it
        self.makes: set[str] = set()  # for certain
        self.perhaps: set[str] = set()
        self.certain = True
        self.world = self.everything = self.gives = False
        self._begin()

    # Statements.

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._begin()
            special = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if special:
                special(statement)
            else:
                self.each(ast.iter_child_nodes(statement))
            self._end()

    def _begin(self) -> None:
        self.mentioned: set[str] = set()
        self.effect = self.carry = Late()  # of the functions in it; what its value may hold

    def _end(self) -> None:
        """The functions that a statement mentions do what they do."""
        done = self.effect
        self.reads |= done.reads - self.made
        for name in [n for n in done.changes if self.kinds.get(n) in ("constant", "function")]:
            del self.kinds[name]
        self.change(done.changes | (self.mentioned if done.args else NONE))
        self.world |= done.world
        self._begin()

    @contextmanager
    def maybe(self) -> Iterator[None]:
        """What is read now happens or does not."""
        made, certain = self.made.copy(), self.certain
        kinds, late, links = self.kinds.copy(), self.late.copy(), self.links.copy()
        self.certain = False
        yield
        self.made, self.certain = made, certain
        for name, was in kinds.items():
            if (now := self.kinds.get(name)) != was:
                self.kinds.pop(name, None)
                if "iterator" in (now, was):
                    self.kinds[name] = "iterator"
        for name, did in late.items():
            if self.late.get(name) is not did:
                self.late[name] = did | self.late.get(name, Late())
        for name, linked in links.items():
            if self.links.get(name) is not linked:
                self.links[name] = linked | self.links.get(name, NONE)
        for name in [n for n in self.kinds if n in links and n not in kinds]:
            if self.kinds[name] != "iterator":
                del self.kinds[name]  # it may be what it was

    def _perhaps(self, *bodies: list[ast.stmt]) -> None:
        self._end()
        for body in bodies:
            with self.maybe():
                self.block(body)

    def _for(self, node: ast.For) -> None:
        with self.maybe():
            self.through(node.target, node.iter)
            self._perhaps(node.body, node.body)  # twice: what its end does, its beginning meets
        self._perhaps(node.orelse)

    def _while(self, node: ast.While) -> None:
        self.expr(node.test)
        self._perhaps(node.body, node.body, node.orelse)

    def _if(self, node: ast.If) -> None:
        self.expr(node.test)
        self._perhaps(node.body, node.orelse)

    def _try(self, node: ast.Try) -> None:
        handlers = [handler.body for handler in node.handlers]
        self.each(handler.type for handler in node.handlers)
        self._perhaps(node.body, *handlers, node.orelse)
        self.block(node.finalbody)

    _trystar = _try

    def _match(self, node: ast.Match) -> None:
        shares = self.expr(node.subject)
        names = [getattr(part, n, None) for part in ast.walk(node) for n in ("name", "rest")]
        with self.maybe():
            for name in filter(None, names):
                self.bind(name, shares)
            self.each(case.guard for case in node.cases)
            self._perhaps(*(case.body for case in node.cases))

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            shares = self.expr(item.context_expr)
            if item.optional_vars:
                self.target(item.optional_vars, shares)
        self._end()
        self.block(node.body)

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.assign(target, node.value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.assign(node.target, node.value)

    def _augassign(self, node: ast.AugAssign) -> None:
        shares, target = self.expr(node.value), node.target
        if not isinstance(target, ast.Name):
            return self.target(target, shares)
        constant = self.is_constant(target) and self.is_constant(node.value)
        self.read(target.id)
        if constant:
            return self.bind(target.id, kind="constant")
        self.change({target.id})  # in place, if it is an array or a list
        self.kinds.pop(target.id, None)
        self.perhaps.add(target.id)
        self.link({target.id, *shares})

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.read(target.id)
            self.target(target, NONE)

    def _return(self, node: ast.Return) -> None:
        self.each([node.value])
        self.gives |= self.carry != Late()

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.imported(name, alias.name if alias.asname else name)

    def _importfrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.world = self.everything = True
            else:
                self.imported(alias.asname or alias.name, f"{node.module}.{alias.name}")

    def _functiondef(self, node: ast.FunctionDef) -> None:
        self.each([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        late = self.inside(node.args, node.body)
        self.carry |= late
        if node.decorator_list:  # it may be called at once
            self.effect |= late
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        plain = not node.decorator_list and all(map(self.is_constant, defaults))
        self.bind(node.name, kind="function" if plain else "")

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef) -> None:
        self.each([*node.decorator_list, *node.bases, *(k.value for k in node.keywords)])
        whole = Late(gives=True)
        rest: list[ast.stmt] = []
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                self.each(part.decorator_list)
                late = self.inside(part.args, part.body)
                self.methods[part.name] = self.methods.get(part.name, Late()) | late
                whole |= late
            else:
                rest.append(part)
        now = self.inside(None, rest)
        self.effect |= now
        self.carry |= whole | now
        self.bind(node.name)

    # What happens to names.

    def knows(self, name: str) -> bool:
        return name in self.made or name in self.kinds or name in self.links

    def is_data(self, name: str) -> bool:
        return self.kinds.get(name, "iterator") == "iterator"

    def read(self, name: str, called: bool = False) -> None:
        if not self.knows(name):
            self.everything |= name in EVERYTHING
            self.world |= name in EVERYTHING | OUTSIDE
        self.mentioned.add(name)
        if name not in self.made:
            self.reads.add(name)
        if self.kinds.get(name) == "iterator":
            self.change({name})
        if late := self.late.get(name):
            late = self._with_what_it_calls(late)
            self.effect |= late
            if late.gives or not called:
                self.carry |= late
        elif called and not self.in_function and self.knows(name):
            self.change({name})  # an object that can be called

    def _with_what_it_calls(self, late: Late) -> Late:
        known: set[str] = set()
        while new := late.reads - known:
            known |= new
            for other in new & self.late.keys():
                late |= self.late[other]
        return late

    def change(self, names: Iterable[str], linked: bool = True) -> None:
        for name in [n for n in names if self.is_data(n)]:
            self.changed |= {name} | (self.links.get(name, NONE) if linked else NONE)

    def link(self, names: Iterable[str]) -> None:
        group = {name for name in names if self.is_data(name)}
        group |= {other for name in group for other in self.links.get(name, NONE)}
        for name in group:
            self.links[name] = frozenset(group - {name})

    def bind(self, name: str, shares: Iterable[str] = (), kind: str = "") -> None:
        for other in self.links.pop(name, NONE):
            self.links[other] = self.links.get(other, NONE) - {name}
        self.late.pop(name, None)
        self.kinds.pop(name, None)
        if kind:
            self.kinds[name] = kind
        if self.carry != Late():
            self.late[name] = self.carry
        self.made.add(name)
        (self.makes if self.certain else self.perhaps).add(name)
        self.link([name, *shares])

    def imported(self, name: str, target: str) -> None:
        if self.kinds.get(name) == target:
            self.made.add(name)  # as it was
        else:
            self.bind(name, kind=target)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        parts = getattr(target, "elts", ()), getattr(value, "elts", ())
        if len(parts[0]) == len(parts[1]) and parts[0] and not _starred(*parts[0], *parts[1]):
            shares = [self.expr(part) for part in parts[1]]
            kinds = [self.kind(part) for part in parts[1]]
            for part, shared, kind in zip(parts[0], shares, kinds, strict=True):
                self.target(part, shared, kind)
        else:
            shared = self.expr(value)
            self.target(target, shared, self.kind(value))
            if isinstance(value, ast.Call):  # what one function gives may belong together
                self.link(part.id for part in parts[0] if isinstance(part, ast.Name))

    def target(self, node: ast.expr, shares: Names, kind: str = "") -> None:
        """Assign to a target."""
        if isinstance(node, ast.Name):
            self.bind(node.id, shares, kind)
        elif isinstance(node, ast.Starred):
            self.target(node.value, shares)
        elif isinstance(node, ast.Tuple | ast.List):
            for part in node.elts:
                self.target(part, shares, kind)
        elif isinstance(node, ast.Subscript | ast.Attribute):
            root, _ = _chain(node)
            self.world |= root in self.kinds and not self.is_data(root)
            whole = self.expr(node.value)
            if isinstance(node, ast.Subscript):
                self.expr(node.slice)
            self.change(whole)
            self.hold(whole, shares)

    def hold(self, whole: Names, shares: Names) -> None:
        """Something is put into what these names stand for."""
        self.link(whole | shares)
        if self.carry != Late():
            for name in filter(self.is_data, whole):
                self.late[name] = self.late.get(name, Late()) | self.carry

    def through(self, target: ast.expr, iterated: ast.expr) -> None:
        """A loop's name, or several, stand for what it goes through."""
        call = iterated if isinstance(iterated, ast.Call) else None
        function = call.func.id if call and isinstance(call.func, ast.Name) else ""
        parts: list[ast.expr] = getattr(target, "elts", [])
        if call and function in {"zip", "enumerate", "range"} and not self.knows(function):
            self.each(k.value for k in call.keywords)
            if function == "range":
                self.each(call.args)
                return self.target(target, NONE, "constant")
            several = [ast.Constant(0), *call.args[:1]] if function == "enumerate" else call.args
            if len(parts) == len(several) and not _starred(*parts, *several):
                for part, one in zip(parts, several, strict=True):
                    self.target(part, self.expr(one), self.kind(one))
                return None
        return self.target(target, self.expr(iterated), self._part_of_import(iterated))

    def is_constant(self, node: ast.AST) -> bool:
        """A number or a text, which nothing can change."""
        match node:
            case ast.Constant() | ast.JoinedStr():
                return True
            case ast.Name():
                return self.kinds.get(node.id) == "constant"
            case ast.UnaryOp():
                return self.is_constant(node.operand)
            case ast.BinOp():
                return self.is_constant(node.left) and self.is_constant(node.right)
            case ast.Call(func=ast.Name(id=name)):
                return name in NUMBERS and not self.knows(name)
        return False

    def kind(self, value: ast.expr) -> str:
        if self.is_constant(value):
            return "constant"
        if part := self._part_of_import(value):
            return part
        lazy = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
        if isinstance(value, ast.GeneratorExp) or (lazy and value.func.id in LAZY):  # type: ignore[attr-defined]
            return "iterator"
        return ""

    def _part_of_import(self, value: ast.expr) -> str:
        """The dotted name of CHIPS["H100"] or of CHIPS.items(), where CHIPS was imported; or ""."""
        while isinstance(value, ast.Call) and getattr(value.func, "attr", "") in PARTS:
            value = value.func
        root, path = _chain(value)
        return ".".join([self._module(root), *path]) if root and self._module(root) else ""

    def _module(self, name: str) -> str:
        """The dotted name of what was imported under this name, or is a part of it; or ""."""
        kind = self.kinds.get(name, "")
        return "" if kind in ("constant", "function", "iterator") else kind

    def inside(self, arguments: ast.arguments | None, body: list[ast.stmt]) -> Late:
        """What a function does. Another name, x#, stands for what it was given as x."""
        given = (
            {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)} if arguments else set()
        )
        own = frozenset(given | _made_in(body))
        scope = Scope(self, own)
        scope.made |= given
        for name in given:
            scope.link([name, f"{name}#"])
        scope.block(body)
        old = {f"{name}#" for name in given}
        made = scope.makes | scope.perhaps  # of names that it declares global
        self.everything |= scope.everything
        return Late(
            reads=frozenset(scope.reads - own),
            changes=frozenset((scope.changed | made) - own - old),
            args=bool(scope.changed & old),
            world=scope.world,
            gives=scope.gives,
        )

    # Expressions: each gives the names with which its value may share data.

    def each(self, nodes: Iterable[ast.AST | None]) -> Names:
        return NONE.union(*[self.expr(node) for node in nodes if node])

    def expr(self, node: ast.AST) -> Names:
        special = getattr(self, f"_{type(node).__name__.lower()}", None)
        return special(node) if special else self.each(ast.iter_child_nodes(node))

    def _new(self, node: ast.AST) -> Names:
        self.each(ast.iter_child_nodes(node))
        return NONE

    _compare = _unaryop = _joinedstr = _new

    def _binop(self, node: ast.BinOp) -> Names:
        shares = self.each([node.left, node.right])  # [a] + [b] holds a and b
        return shares if isinstance(node.op, ast.Add | ast.Mult | ast.BitOr) else NONE

    def _name(self, node: ast.Name) -> Names:
        self.read(node.id)
        return frozenset({node.id}) if self.knows(node.id) else NONE

    def _subscript(self, node: ast.Subscript) -> Names:
        self.expr(node.slice)
        return self.expr(node.value)

    def _attribute(self, node: ast.Attribute) -> Names:
        shares = self.expr(node.value)
        if node.attr in FILL:  # add = found.append
            self.change(shares)
            self.carry |= Late(changes=shares)
        return shares

    def _namedexpr(self, node: ast.NamedExpr) -> Names:
        shares = self.expr(node.value)
        with self.maybe():
            self.bind(node.target.id, shares)
        self.link([node.target.id, *shares])
        return shares | {node.target.id}

    def _lambda(self, node: ast.Lambda) -> Names:
        self.each([*node.args.defaults, *node.args.kw_defaults])
        late = self.inside(node.args, [ast.Return(node.body)])
        self.reads |= late.reads - self.made
        self.effect |= late
        self.carry |= late
        return NONE

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Names:
        self.gives = True
        return self.each([node.value])

    _yieldfrom = _yield

    def _listcomp(self, node: Comprehension) -> Names:
        for part in node.generators:
            self.through(part.target, part.iter)
            self.each(part.ifs)
        return self.each([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    _setcomp = _dictcomp = _listcomp

    def _generatorexp(self, node: ast.GeneratorExp) -> Names:
        before, self.reads = self.reads, set()
        shares = self._listcomp(node)
        self.carry |= Late(reads=frozenset(self.reads))  # when it is gone through
        self.reads |= before
        return shares

    def _call(self, node: ast.Call) -> Names:
        root, path = _chain(node.func)
        target = ".".join([self._module(root), *path]) if root and self._module(root) else ""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        eager = (name in EAGER and not self.knows(name)) or method in ("join", "array")
        if name or target:
            self.read(root or name, called=True)
            receiver = frozenset({name}) if self.knows(name) and not target else NONE
        else:
            receiver = self.expr(node.func.value if method else node.func)  # type: ignore[attr-defined]
        given = [*node.args, *(k.value for k in node.keywords)]
        each = [
            self._listcomp(a) if eager and isinstance(a, ast.GeneratorExp) else self.expr(a)
            for a in given
        ]
        shares = NONE.union(*each)
        first = each[0] if each else NONE
        named = {k.arg: x for k, x in zip(node.keywords, each[len(node.args) :], strict=True)}
        self.change(named.get("out", NONE))
        if target:
            self._of_import(target, first)
            numbers = target.startswith(("numpy.", "math.")) and method not in VIEWS
            return NONE if numbers and "copy" not in named else shares
        if method:
            return self._of_method(method, receiver, shares, "copy" in named)
        if isinstance(node.func, ast.Call):  # getattr(x, "append")(1)
            self.change(receiver | shares)
        return NONE if name in PLAIN and not receiver else receiver | shares

    def _of_import(self, target: str, first: Names) -> None:
        top, _, last = target.split(".")[0], "", target.rpartition(".")[2]
        if target.startswith(FIGURES) or target in FIRST or (top == "numpy" and last == "at"):
            self.change(first)
        random = target.startswith("numpy.random.") and target not in OWN_RANDOM
        filled = last in FILL and top not in ("numpy", "textwrap")
        self.world |= target in WORLD or random or filled or top not in QUIET

    def _of_method(self, method: str, receiver: Names, shares: Names, copies: bool) -> Names:
        if method in self.methods:
            late = self.methods[method]
            self.effect |= late
            self.carry |= late if late.gives else Late()
            return receiver | shares
        if method in DRAW:
            self.change(receiver, linked=False)
            return NONE
        if method in NEW:
            return receiver | shares if copies else NONE
        if method not in PART:
            self.change(receiver if method in FILL else receiver | shares)
            self.hold(receiver, shares)
        return receiver | shares


Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _starred(*nodes: ast.expr) -> bool:
    return any(isinstance(node, ast.Starred) for node in nodes)


def _chain(node: ast.AST) -> tuple[str | None, list[str]]:
    """The name at the beginning of a.b[0].c, or none, and what follows it."""
    path: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        path.insert(0, node.attr if isinstance(node, ast.Attribute) else "[]")
        node = node.value
    return (node.id if isinstance(node, ast.Name) else None), path


def _made_in(body: list[ast.stmt]) -> set[str]:
    """The names that a function's body makes for itself."""
    made, elsewhere = set(), set()
    nodes: list[ast.AST] = [*body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            made.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            made |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere |= set(node.names)
        nodes += ast.iter_child_nodes(node)
    return made - elsewhere


class Renamed(ast.NodeTransformer):
    """Gives the names of each comprehension, which are its own, a number: x'1."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.count = 0

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        before = self.names
        given = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.names = {old: new for old, new in before.items() if old not in given}
        self.generic_visit(node)
        self.names = before
        return node

    def visit_ListComp(self, node: Comprehension) -> ast.AST:
        before = self.names
        self.count += 1
        first = node.generators[0]
        first.iter = self.visit(first.iter)  # outside
        targets = [n for g in node.generators for n in ast.walk(g.target)]
        own = {n.id for n in targets if isinstance(n, ast.Name)}
        self.names = {**before, **{name: f"{name}'{self.count}" for name in own}}
        outer, first.iter = first.iter, ast.Constant(0)
        self.generic_visit(node)
        first.iter = outer
        self.names = before
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp


@functools.lru_cache(maxsize=500)
def after(state: State, code: str) -> State:
    """The state after one more cell."""
    scope = Scope(state)
    try:  # a notebook's own lines are no Python
        tree = ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", code))
    except SyntaxError:  # it will do nothing
        tree = ast.Module([], [])
    scope.block(Renamed().visit(tree).body)
    if scope.everything:
        scope.reads |= state.origin.keys()
        scope.changed |= state.origin.keys()
    reads = frozenset(scope.reads & state.origin.keys()) | {ALL}
    needs = frozenset({state.count}).union(*(state.need.get(name, ()) for name in reads))
    run = hash((code, frozenset((name, state.origin.get(name)) for name in reads)))
    need, origin = state.need.copy(), state.origin.copy()
    made = scope.makes | scope.perhaps
    for name in made | (scope.changed & state.origin.keys()):
        if "'" in name:
            continue
        fresh = name in scope.makes
        need[name] = needs if fresh else needs | need.get(name, frozenset())
        origin[name] = hash((run, name, None if fresh else origin.get(name)))
    world = state.world
    if scope.world:
        world |= {code}
        need[ALL] = needs | need.get(ALL, frozenset())
        origin[ALL] = hash(world)
    numbered = frozenset(name for name in scope.links.keys() | scope.kinds.keys() if "'" in name)
    links = {name: x - numbered for name, x in _without(numbered, scope.links).items()}
    kinds, late = _without(numbered, scope.kinds), _without(numbered, scope.late)
    return State(kinds, late, links, need, origin, scope.methods, reads, world, state.count + 1)


START = State()


def needed(above: list[str], code: str, ran: list[str] | None = None) -> list[int]:
    """The numbers of the cells above that must run before this code, where some ran already.

    Args:
        above: the code of each cell above
        ran: the code of each cell that Python ran, in the order of time; a cell may be there twice
    """
    ran = ran or []
    there = functools.reduce(after, above, START)
    reads = after(there, code).reads
    cells = sorted(frozenset().union(*(there.need.get(name, ()) for name in reads)))
    wanted = {name: there.origin[name] for name in reads if name in there.origin}
    now = functools.reduce(after, ran, START)
    missing = [i for i, cell in enumerate(cells) if above[cell] not in ran]
    # As few as give each name what it should stand for.
    for start in range(min(missing, default=len(cells)), 0, -1):
        then = functools.reduce(after, (above[cell] for cell in cells[start:]), now)
        if all(then.origin.get(name) == origin for name, origin in wanted.items()):
            return cells[start:]
    return cells
