"""A layer becomes a function of q, k and v, and is looked at as a whole.

Hooks put our queries, keys and values in the place of what the projections computed, let rotations
and norms on the way do nothing, and catch the joined heads before the last projection. What is left
is attention. A layer without linear modules gets identities for weights. What feeds what, W_O and
later tokens are looked at where it runs as it is.
"""

import re
from contextlib import ExitStack, suppress
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import first, said
from attention_src.judge.calls.calling import Callee, Config, role
from attention_src.judge.calls.ways import ARRAYS

OURS = "this layer makes q, k and v of one input"  # said of calls that it cannot take
PER_HEAD = ["per head q | k | v", "per head and number q | k | v"]
ORDERS = ["q | k | v", *PER_HEAD]
ORDERS += ["v | k | q", "k | q | v", "k | v | q", "q | v | k", "v | q | k"]
MASKS = [None, (2, 8, 8), (2, 1, 8, 8), (8, 8), (8, 8, 2)]
PAIRS = ("position_embeddings", "cos_sin", "rope", "freqs_cos_sin")  # of cosines and sines
OTHERS = ("y", "ctx", "context", "memory", "encoder_output", "enc_out")  # what keys are made of
WORD = r"w?([qkv])(s|lin|uery|ueries|ey|eys|alue|alues)?"  # in the name of a projection
FUSED = "qkv|kqv|c_attn|in_proj|query_key|kv(?!_)"
# A projection by its plain name: another, as k_cross, may be for what was not asked here.
PROJECTION = r"((w|to|fc|lin\w*|proj\w*) )*(w?[qkv]|query|queries|keys?|values?)( (lin|proj)\w*)*"


class Layer(Callee):
    """A module, called with q [B, n_q, H·d], k and v in place of what its projections give."""

    def __init__(self, f: Any, sizes: dict[str, int], given: dict[str, Any]) -> None:
        import torch

        self.torch = torch
        errors: list[Exception | None] = []
        for sizes["n"] in (256, 8):  # the longest text, for who makes a mask of it once and for all
            super().__init__(f, sizes, dict(given))
            self.cross = all(r in self.names for r in "qkv")
            self.names.setdefault("x", self.parameters[0].name if self.parameters else "x")
            errors.append(self._first_run())
            if not errors[-1]:
                break
        else:
            raise ValueError(f"It never ran; for example {said(errors[0])}")
        self.f.double()
        self.module_names = {m: name for name, m in self.f.named_modules()}
        self._find_parts()
        with torch.no_grad():
            for p in self.f.parameters():  # some are 0, or tiny, at first
                made = torch.Generator().manual_seed(p.numel())
                p.copy_(torch.randn(p.shape, generator=made) / p.shape[-1] ** 0.5)
        self._find_sizes()

    def _first_run(self) -> Exception | None:
        """Run it on anything, to see what it calls; what went wrong first if nothing works."""
        linear = [m for m in self.f.modules() if hasattr(m, "weight")]
        linear = [m for m in linear if not re.search("(?i)norm|drop|embed", str(type(m)))]
        self.linear = [m for m in linear if not list(m.children())]
        widths = {self.sizes["D"], *(getattr(m, "in_features", 1) for m in linear)}
        pairs = any(p.name in PAIRS for p in self.parameters)
        turns = range(5 if pairs or {"cos", "sin", "freqs"} & {*self.names} else 1)
        ways = product([(2, 8), (8,)], MASKS, (bool, float), turns)
        error: Exception | None = None
        for self.sizes["D"], (self.lead, shape, kind, self.turn) in product(
            sorted(widths, reverse=True), ways
        ):
            mask = {} if shape is None else {"mask": self.torch.from_numpy(np.zeros(shape, kind))}
            try:
                self._watched(self._inputs(self.lead), mask)
                return None
            except Exception as new:
                error = error or new
        return error

    def _inputs(self, lead: tuple) -> list:
        return [self._random((*lead, self.sizes["D"]), seed) for seed in range(3)]

    def _random(self, shape: tuple, seed: int) -> Any:
        made = self.torch.Generator().manual_seed(seed)
        return self.torch.randn(shape, generator=made, dtype=self.torch.float64)

    def _watched(self, xs: list, more: dict[str, Any]) -> Any:
        """The answer; notes what goes into and comes out of projections, and who is fed itself."""
        self.seen: dict[Any, tuple] = {}
        self.twice: list[Any] = []

        def watch(m: Any, i: tuple, o: Any) -> None:
            self.twice.extend([m] * (m in self.seen and i[0].equal(self.seen[m][1])))
            self.seen[m] = (i[0], o)

        with ExitStack() as hooks:
            for m in self.linear:
                hooks.enter_context(m.register_forward_hook(watch))
            return first(self.forward([x.clone() for x in xs], more))

    def _find_parts(self) -> None:
        """Which modules make q, k, v, or several: by their names, or else the order."""
        # The shape of what each gives, without the axes of x.
        self.natural = {m: (*o.shape[len(self.lead) :],) for m, (_, o) in self.seen.items()}
        self.parts: dict[str, list[Any]] = {}
        for m in self.natural:
            name = self.module_names[m].lower().replace("w_", "w")
            words = (re.fullmatch(WORD, word) for word in re.findall("[a-z]+", name))
            found = {part[1] for part in words if part}
            if fused := re.search(FUSED, name):
                found = {"kv" if "q" in self.parts or fused[0] == "kv" else "qkv"}
            if len(found) == 1:
                self.parts.setdefault(found.pop(), []).append(m)
        if not self.parts and len(self.natural) > 1:
            kinds = {2: ["qkv"], 3: ["q", "kv"]}.get(len(self.natural), list("qkv"))
            self.parts = {kind: [m] for kind, m in zip(kinds, self.natural, strict=False)}
        used = [m for part in self.parts.values() for m in part]
        self.last = next((m for m in reversed(self.natural) if m not in used), None)

    def _find_sizes(self) -> None:
        """Heads and their width, as the module calls them; without projections, identities."""
        width = {p: sum(int(np.prod(self.natural[m])) for m in ms) for p, ms in self.parts.items()}
        if not self.parts:
            self.direct, self.tied = True, "qkv" * (not self.cross)
            width = dict.fromkeys("qkv", self.sizes["D"])
            with self.torch.no_grad():
                for p in self.f.parameters():
                    eye = self.torch.eye(p.shape[-1]).repeat(p.shape[0], 1)[: p.shape[0]]
                    p.copy_(eye if p.ndim > 1 else 0 * p)
        lengths = ({}, {"q": self.sizes["k"]})[bool(self.tied) :]
        self.others = [sizes | n for sizes in self._head_sizes(width) for n in lengths]
        self.sizes |= self.others[0]

    def _head_sizes(self, width: dict[str, int]) -> list[dict[str, int]]:
        """Heads of queries (H) and keys (G) and their width d, likeliest first."""
        known: dict[str, int] = {}
        for holder in filter(None, (self.f, getattr(self.f, "config", None))):
            ours = holder.sizes_of_axes if isinstance(holder, Config) else vars(holder)
            for name, value in ours.items():
                if type(value) is int and value > 0:
                    known.setdefault(role(name), value)
        several = [(p, width[p]) for p in ("q", "qkv", "k", "v", "kv") if p in width]
        q = next((w // len(p) for p, w in several), 1)
        guess = [*dict.fromkeys([1, self.sizes["H"], 3, 2, 4])]
        guess = [q // known["d"]] if q % known.get("d", q + 1) == 0 else guess
        guess = [known["H"]] if "H" in known else guess
        many, found = len(self.parts.get("q", "")), []
        for H in [many] if many > 1 else guess:
            k = width.get("k") or width.get("kv", 2 * q) // 2
            G, d = max(1, k * H // q), q // H
            if "qkv" in width:
                G = known.get("G", H)
                d = width["qkv"] // (H + 2 * G)
            found.append({"H": H, "G": G, "d": d, "e": d})
        return found

    def forward(self, xs: list, more: dict[str, Any]) -> Any:
        """Call it as it is; xs is passed for q, k and v, or the first of them for x."""
        usual, dtype = self.torch.get_default_dtype(), xs[0].dtype
        self.f.to(dtype)
        if self.cross:
            more = dict(zip("qkv", xs, strict=True)) | more
        else:
            more = {"x": xs[0]} | self._beside(xs[0]) | more
        if dtype == self.torch.float64:  # of layers, too, that it makes while it runs
            self.torch.set_default_dtype(dtype)
        try:
            return super().__call__(**more)
        finally:
            self.torch.set_default_dtype(usual)

    def _beside(self, x: Any) -> dict[str, Any]:
        """What goes with x: cosines and sines, in a shape that people use, that turn by nothing."""
        n, d, torch = x.shape[-2], self.sizes["d"], self.torch
        shapes = [(1, n, d), (n, d), (1, n, 1, d // 2), (1, 1, n, d // 2), (1, 1, 1, 1)]
        ones = torch.ones(shapes[self.turn], dtype=x.dtype)
        freqs = torch.ones(n, d // 2, dtype=torch.complex128)
        unnamed = dict.fromkeys(OTHERS, x) | dict.fromkeys(PAIRS, (ones, 0 * ones))
        for p in self.parameters:
            if p.name in unnamed and p.default in (p.empty, None):
                self.given[p.name] = unnamed[p.name]
        still = {"cos": ones, "sin": 0 * ones, "freqs": freqs}
        return {r: x for r, x in still.items() if r in self.names}

    def __call__(  # type: ignore[override]
        self, q: Any, k: Any, v: Any, order: str = ORDERS[0], **more: Any
    ) -> Any:
        if not self.cross and (q.shape[:-1] != k.shape[:-1] or (self.direct and not q.equal(k))):
            raise ValueError(OURS)
        caught: list[Any] = []
        zeros = [x.new_zeros(*x.shape[:-1], self.sizes["D"]) for x in (q, k, v)]
        with ExitStack() as hooks:
            for m, piece in self._pieces({"q": q, "k": k, "v": v}, order):
                hooks.enter_context(m.register_forward_hook(self._giving(m, piece)))
            if self.last is not None:
                catch = lambda m, i: caught.append(i[0])  # noqa: E731
                hooks.enter_context(self.last.register_forward_pre_hook(catch))
            for name, m in self.f.named_modules():
                if re.search("rope|rotary|norm", name.lower().split(".")[-1]):
                    hooks.enter_context(m.register_forward_hook(_as_it_came))
            out = self.forward([q, k, v] if self.direct else zeros, more)
        rest = out[1:] if isinstance(out, tuple | list) else []
        rest = [x for x in rest if self.torch.is_tensor(x)]
        return (caught[0].reshape(*q.shape[:-1], -1), *rest) if caught else out

    def _pieces(self, values: dict[str, Any], order: str) -> list[tuple[Any, Any]]:
        """Each projection, and what it should give."""
        found: list[tuple[Any, Any]] = []
        for part, modules in self.parts.items():
            if order in PER_HEAD and len(part) > 1:
                heads = [values[r].unflatten(-1, (self.sizes["H"], -1)) for r in part]
                whole = self.torch.stack(heads, dim=-2)
                whole = (whole if order == PER_HEAD[0] else whole.mT).flatten(-3)
            else:
                letters = [r for r in order.split(" | ") if r in part] if len(part) > 1 else part
                whole = self.torch.cat([values[r] for r in letters], dim=-1)
            found += zip(modules, whole.chunk(len(modules), dim=-1), strict=True)
        return found

    def _giving(self, m: Any, x: Any) -> Any:
        """A hook that gives x in the place of what m computed."""
        return lambda _, i, o: x.reshape(*x.shape[:-1], *self.natural[m]).to(o.dtype)

    def check(self, t: Any) -> None:
        """The projections of a layer whose core is right, and all of it."""
        layout = t.how.layout.partition("(")[0]
        xs = self._inputs(tuple(t.how.sizes[a] for a in layout.replace("n", "k")))
        try:
            y = self._watched(xs, {})
        except Exception:  # it ran with our numbers, and does not with its own
            return
        for m in self.twice[:1]:
            t.draft.add("projected twice", self.module_names[m])
        self._unused(t, y)
        if self.cross:
            self._fed(t, xs)
        if self.last is None and self.parts and t.how.sizes["H"] > 1 and not t.draft.keys():
            t.draft.add("no output projection")
        if not self.cross and "n" in layout and y.shape[:-1] == xs[0].shape[:-1]:
            self._whole(t, xs[0], y)

    def unused(self, t: Any) -> bool:
        """Whether projections do nothing, where its core is not right; adds them."""
        with suppress(Exception):
            self._unused(t, self._watched(self._inputs(self.lead), {}))
        return bool(t.draft.keys())

    def _unused(self, t: Any, y: Any) -> None:
        """Modules that were made and do nothing: no gradient reaches their weights."""
        if not y.requires_grad:
            return
        self.f.zero_grad()
        y.pow(2).sum().backward()
        like = {re.sub(r"\d", "", self.module_names[m]) for m in self.natural}
        for m in self.linear:
            name = self.module_names.get(m, "a projection")
            words = name.lower().replace("_", " ").replace(".", " ")
            if m in self.natural or (m.weight.grad is not None and m.weight.grad.any()):
                continue
            last = re.split(r"\d", words)[-1].strip()
            if last != words and re.fullmatch(PROJECTION, last) and re.sub(r"\d", "", name) in like:
                return t.draft.add("heads not used", name)
            if re.fullmatch(PROJECTION, words):
                t.draft.add("a projection not used", name)
            elif self.last is None and re.search(r"out|proj|\bw?o\b|fc", words):
                t.draft.add("W_O not used", name)

    def _fed(self, t: Any, xs: list) -> None:
        """Queries are made of the first input, keys and values of the others."""
        given = dict(zip("qkv", xs, strict=True))
        for part, m in ((part, m) for part, modules in self.parts.items() for m in modules):
            if part in given and m in self.seen and self.seen[m][0].shape == given[part].shape:
                fed = next((r for r, x in given.items() if self.seen[m][0].equal(x)), part)
                if fed != part:
                    ours, theirs = (f"the {ARRAYS[r]}' input" for r in (part, fed))
                    t.draft.add("wrong input", self.module_names[m], theirs, ours)

    def _whole(self, t: Any, x: Any, y: Any) -> None:
        """Texts stay apart, and no answer of a layer that hides the future depends on it."""
        axis, near = t.how.layout.index("n"), self.torch.allclose
        other, half = self._random(x.shape, 9), x.shape[axis] // 2

        def changed(along: int, at: int) -> Any:
            """What it gives if all from that place on is other."""
            z, length = x.clone(), x.shape[along] - at
            z.narrow(along, at, length).copy_(other.narrow(along, at, length))
            return first(self.forward([z], {})).narrow(along, 0, at)

        if "B" in t.how.layout:
            batch = t.how.layout.index("B")
            if not near(changed(batch, 1), y.narrow(batch, 0, 1)):
                t.draft.add("other mixing")
        if t.band.ahead != 0:
            return
        begins = y.narrow(axis, 0, half)
        if not near(changed(axis, half), begins):
            return t.draft.add("other leak", half - 1)
        with suppress(Exception):  # a layer for texts of one length
            if not near(first(self.forward([x.narrow(axis, 0, half)], {})), begins):
                t.draft.add("a cut text differs", half)


def _as_it_came(module: Any, inputs: tuple, output: Any) -> Any:
    """A hook that lets a rotation or a norm do nothing."""
    both = isinstance(output, tuple) and len(output) == 2 and len(inputs) > 1
    alike = getattr(output[0] if both else output, "shape", 0) == inputs[0].shape
    return output if not alike else inputs[:2] if both else inputs[0]
