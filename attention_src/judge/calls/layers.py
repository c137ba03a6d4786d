"""A layer becomes a function of q, k and v: what its projections give is replaced by ours.

Hooks put our queries, keys and values in the place of what the projections computed, let rotations
and norms on the way do nothing, and catch the joined heads before the last projection. What is left
is attention. A layer without linear modules gets identities for weights.
"""

import re
from contextlib import ExitStack
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.frameworks import said
from attention_src.judge.calls.parts import find_parts, head_sizes, to_identities, to_random

OURS = "this layer makes q, k and v of one input"  # said of calls that it cannot take
PER_HEAD = ["per head q | k | v", "per head and number q | k | v"]
ORDERS = ["q | k | v", *PER_HEAD]
ORDERS += ["v | k | q", "k | q | v", "k | v | q", "q | v | k", "v | q | k"]
MASKS = [None, (2, 8, 8), (2, 1, 8, 8), (8, 8), (8, 8, 2)]
PAIRS = ("position_embeddings", "cos_sin", "rope", "freqs_cos_sin")  # of cosines and sines
OTHERS = ("y", "ctx", "context", "memory", "encoder_output", "enc_out")  # what keys are made of


class Layer(Callee):
    """A module, called with q [B, n_q, H·d], k and v in place of what its projections give."""

    natural: dict[Any, tuple]  # the shape of what each module gives, without the axes of x

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
        to_random(torch, self.f)
        self.module_names = {m: name for name, m in self.f.named_modules()}
        lower = {m: name.lower().replace("w_", "w") for m, name in self.module_names.items()}
        self.parts, self.last = find_parts(lower, list(self.natural))
        self._find_sizes()

    def _first_run(self) -> Exception | None:
        """Run it on anything, to see what it calls; what went wrong first if nothing works."""
        linear = [m for m in self.f.modules() if hasattr(m, "weight")]
        linear = [m for m in linear if not re.search("(?i)norm|drop|embed", str(type(m)))]
        self.linear = [m for m in linear if not list(m.children())]
        widths = {self.sizes["D"], *(getattr(m, "in_features", 1) for m in linear)}
        turned = {"cos", "sin", "freqs"} & {*self.names} or any(
            p.name in PAIRS for p in self.parameters
        )
        ways = product([(2, 8), (8,)], MASKS, (bool, float), range(5 if turned else 1))
        first: Exception | None = None
        for self.sizes["D"], way in product(sorted(widths, reverse=True), ways):
            try:
                self._run_once(*way)
                return None
            except Exception as error:
                first = first or error
        return first

    def _run_once(self, lead: tuple, shape: tuple | None, kind: type, turn: int) -> None:
        """Run it on noise; note what each module gives."""
        self.turn, self.natural, self.lead = turn, {}, lead
        mask = {} if shape is None else {"mask": self.torch.from_numpy(np.zeros(shape, kind))}
        xs = [self.torch.randn(*lead, self.sizes["D"]).double() for _ in "qkv"]
        note = lambda m, i, o: self.natural.update({m: (*o.shape[len(lead) :],)})  # noqa: E731
        with ExitStack() as hooks:
            for m in self.linear:
                hooks.enter_context(m.register_forward_hook(note))
            self.forward(xs, mask)

    def _find_sizes(self) -> None:
        """Heads and their width, as the module calls them; without projections, identities."""
        width = {p: sum(int(np.prod(self.natural[m])) for m in ms) for p, ms in self.parts.items()}
        if not self.parts:
            self.direct, self.tied = True, not self.cross
            width = dict.fromkeys("qkv", self.sizes["D"])
            to_identities(self.torch, self.f, self.sizes["D"])
        lengths = ({}, {"q": self.sizes["k"]})[self.tied :]
        found = head_sizes(self.f, width, len(self.parts.get("q", "")))
        self.others = [sizes | n for sizes in found for n in lengths]
        self.sizes |= self.others[0]

    def _rotations(self, x: Any) -> dict[str, Any]:
        """Cosines and sines that turn by nothing, in one of the shapes that people use."""
        n, d, torch = x.shape[-2], self.sizes["d"], self.torch
        shapes = [(1, n, d), (n, d), (1, n, 1, d // 2), (1, 1, n, d // 2), (1, 1, 1, 1)]
        ones = torch.ones(shapes[self.turn], dtype=x.dtype)
        freqs = torch.ones(n, d // 2, dtype=torch.complex128)
        return {"cos": ones, "sin": 0 * ones, "freqs": freqs}

    def forward(self, xs: list, more: dict[str, Any]) -> Any:
        """Call it as it is; xs is passed for q, k and v, or the first of them for x."""
        usual = self.torch.get_default_dtype()
        if xs[0].dtype == self.torch.float64:  # of layers, too, that it makes while it runs
            self.torch.set_default_dtype(xs[0].dtype)
        try:
            return self._forward(xs, more)
        finally:
            self.torch.set_default_dtype(usual)

    def _forward(self, xs: list, more: dict[str, Any]) -> Any:
        self.f.to(xs[0].dtype)
        if self.cross:
            return super().__call__(**dict(zip("qkv", xs, strict=True)), **more)
        still = self._rotations(xs[0])
        more = more | {r: x for r, x in still.items() if r in self.names}
        unnamed = dict.fromkeys(OTHERS, xs[0])
        unnamed |= dict.fromkeys(PAIRS, (still["cos"], still["sin"]))
        for p in self.parameters:
            if p.name in unnamed and p.default in (p.empty, None):
                self.given[p.name] = unnamed[p.name]
        return super().__call__(x=xs[0], **more)

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


def _as_it_came(module: Any, inputs: tuple, output: Any) -> Any:
    """A hook that lets a rotation or a norm do nothing."""
    both = isinstance(output, tuple) and len(output) == 2 and len(inputs) > 1
    alike = getattr(output[0] if both else output, "shape", 0) == inputs[0].shape
    return output if not alike else inputs[:2] if both else inputs[0]
