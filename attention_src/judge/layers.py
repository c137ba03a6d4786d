"""A layer becomes a function of q, k and v: what its projections give is replaced by ours.

Hooks put our queries, keys and values in the place of what the projections computed, let rotations
and norms on the way do nothing, and catch the joined heads before the last projection. What is left
is attention, and `values` judges it. A layer without linear modules gets identities for weights.
"""

import re
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calling import Callee, Sizes, role

PART = r"w?([qkv])(s|lin|uery|ueries|ey|eys|alue|alues)?"  # a word in the name of a projection
ORDERS = ["q | k | v", "per head q | k | v", "per head and number q | k | v", "v | k | q"]
MASKS = [None, (2, 7, 7), (2, 1, 7, 7), (7, 7), (7, 7, 2)]


class Layer(Callee):
    """A module, called with q [B, n_q, H·d], k and v in place of what its projections give."""

    def __init__(self, f: Any, sizes: Sizes, given: dict[str, Any]) -> None:
        import torch

        self.torch, errors = torch, []
        for sizes["n"] in (256, 7):  # the longest text, for who makes a mask of it once and for all
            super().__init__(f, sizes, given)
            self.cross = all(r in self.names for r in "qkv")
            self.names.setdefault("x", self.parameters[0].name)
            errors.append(self._first_run())
            if not errors[-1]:
                break
        else:
            raise ValueError(f"it does not run: {errors[0]}")
        with torch.no_grad():  # some weights are 0, or tiny, at first: then nothing can be seen
            for p in self.f.parameters():
                p.copy_(
                    torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel()))
                    / p.shape[-1] ** 0.5
                )
        self._find_parts({m: name.lower().replace("w_", "w") for name, m in self.f.named_modules()})
        self._find_sizes()

    def _first_run(self) -> Exception | None:
        """Run it on anything, to see what it calls; what went wrong first if nothing works."""
        calls: list[tuple[Any, tuple]] = []
        hook = lambda m, i, o: calls.append((m, tuple(o.shape[len(lead) :])))  # noqa: E731
        linear = [m for m in self.f.modules() if hasattr(m, "weight")]
        linear = [m for m in linear if not re.search("(?i)norm|drop|embed", str(type(m)))]
        hooks = [m.register_forward_hook(hook) for m in linear]
        widths = {self.sizes["D"], *(getattr(m, "in_features", 1) for m in linear)}
        first: Exception | None = None
        ways = product(sorted(widths, reverse=True), [(2, 7), (7,)], MASKS, (bool, float), (3, 2))
        for self.sizes["D"], lead, shape, kind, self.rank in ways:
            mask = {} if shape is None else {"mask": self.torch.from_numpy(np.zeros(shape, kind))}
            try:
                calls.clear()
                self._forward(
                    [self.torch.randn(*lead, self.sizes["D"]).double() for _ in "qkv"], mask
                )
                first = None
                break
            except Exception as error:
                first = first or error
        for h in hooks:
            h.remove()
        self.f.double()
        self.natural = dict(calls)  # the shape of what each gives, without the axes of x
        return first

    def _find_parts(self, names: dict[Any, str]) -> None:
        """Which modules make q, k and v, by name or else by the order in which they run."""
        self.parts: dict[str, list[Any]] = {}
        modules = list(self.natural)
        for m in modules:
            found = {
                part[1]
                for token in re.findall("[a-z]+", names[m])
                if (part := re.fullmatch(PART, token))
            }
            if fused := re.search("qkv|kqv|c_attn|in_proj|query_key|kv", names[m]):
                found = {"kv" if "q" in self.parts or fused[0] == "kv" else "qkv"}
            if len(found) == 1:
                self.parts.setdefault(found.pop(), []).append(m)
        if not self.parts and len(modules) > 1:
            kinds = {2: ["qkv"], 3: ["q", "kv"]}.get(len(modules), list("qkv"))
            self.parts = {kind: [m] for kind, m in zip(kinds, modules, strict=False)}
        used = [m for part in self.parts.values() for m in part]
        self.last = next((m for m in reversed(modules) if m not in used), None)

    def _find_sizes(self) -> None:
        """Heads and their width, as the module calls them; without projections, identities."""
        known: dict[str, int] = {}
        for holder in filter(None, (self.f, getattr(self.f, "config", None))):
            for name, value in vars(holder).items():
                if type(value) is int and value > 0:
                    known.setdefault(role(name), value)
        width = {
            part: sum(int(np.prod(self.natural[m])) for m in ms) for part, ms in self.parts.items()
        }
        if not self.parts:
            self.direct, self.tied, D = True, not self.cross, self.sizes["D"]
            width = dict.fromkeys("qkv", D)
            with self.torch.no_grad():
                for p in self.f.parameters():
                    eye = self.torch.eye(p.shape[-1]).repeat(p.shape[0], 1)[: p.shape[0]]
                    if p.ndim == 3 and p.shape[1] == D:
                        eye = self.torch.eye(D).reshape(D, p.shape[0], -1).transpose(0, 1)
                    p.copy_(eye if p.ndim > 1 else 0 * p)
        many, q = len(self.parts.get("q", "")), width.get("q") or width["qkv"] // 3
        guess = [q // known["d"]] if q % known.get("d", q + 1) == 0 else [1, 3, 2, 4]
        self.others = []
        for H in [many] if many > 1 else [known["H"]] if "H" in known else guess:
            G = (
                known.get("G", H)
                if "qkv" in width
                else max(1, (width.get("k") or width["kv"] // 2) * H // q)
            )
            d = width["qkv"] // (H + 2 * G) if "qkv" in width else q // H
            self.others += [
                {"H": H, "G": G, "d": d, "e": d} | n
                for n in ({}, {"q": self.sizes["k"]})[self.tied :]
            ]
        self.sizes |= self.others[0]

    def _forward(self, xs: list, more: dict[str, Any]) -> Any:
        self.f.to(xs[0].dtype)
        if self.cross:
            return super().__call__(**dict(zip("qkv", xs, strict=True)), **more)
        n, d = xs[0].shape[-2], self.sizes["d"]
        ones = self.torch.ones(
            *(1, n, d)[3 - self.rank :], dtype=xs[0].dtype
        )  # rotations by nothing
        still = {
            "cos": ones,
            "sin": 0 * ones,
            "freqs": self.torch.ones(n, d // 2, dtype=self.torch.complex128),
        }
        more |= {r: x for r, x in still.items() if r in self.names}
        unnamed = dict.fromkeys(("y", "ctx", "context", "memory"), xs[0])
        unnamed |= dict.fromkeys(("position_embeddings", "cos_sin"), (ones, 0 * ones))
        wanted = [
            p.name for p in self.parameters if p.name in unnamed and p.default in (p.empty, None)
        ]
        self.given |= {name: unnamed[name] for name in wanted}
        return super().__call__(x=xs[0], **more)

    def __call__(self, q: Any, k: Any, v: Any, order: str = ORDERS[0], **more: Any) -> Any:
        if not self.cross and (q.shape[:-1] != k.shape[:-1] or (self.direct and not q.equal(k))):
            raise ValueError("this layer makes q, k and v of one input")
        values, caught, hooks = {"q": q, "k": k, "v": v}, [], []
        for part, modules in self.parts.items():
            whole = self._fuse([values[r] for r in part], order)
            for m, piece in zip(modules, whole.chunk(len(modules), dim=-1), strict=True):
                put = lambda m, i, o, x=piece: x.reshape(*x.shape[:-1], *self.natural[m]).to(
                    o.dtype
                )
                hooks.append(m.register_forward_hook(put))
        if self.last is not None:
            hooks.append(self.last.register_forward_pre_hook(lambda m, i: caught.append(i[0])))
        for name, m in self.f.named_modules():
            if re.search("rope|rotary|norm", name.lower().split(".")[-1]):
                hooks.append(m.register_forward_hook(_as_it_came))
        try:
            zeros = [
                self.torch.zeros(*x.shape[:-1], self.sizes["D"], dtype=x.dtype) for x in (q, k, v)
            ]
            out = self._forward([q, k, v] if self.direct else zeros, more)
        finally:
            for hook in hooks:
                hook.remove()
        rest = (
            [x for x in out[1:] if self.torch.is_tensor(x)] if isinstance(out, tuple | list) else []
        )
        return (caught[-1].reshape(*q.shape[:-1], -1), *rest) if caught else out

    def _fuse(self, pieces: list, order: str) -> Any:
        """q, k and v as one projection would give them."""
        if not order.startswith("per head") or len(pieces) == 1:
            return self.torch.cat(pieces[::-1] if order == "v | k | q" else pieces, dim=-1)
        heads = self.torch.stack([x.unflatten(-1, (self.sizes["H"], -1)) for x in pieces], dim=-2)
        return (heads if order == ORDERS[1] else heads.mT).flatten(-3)


def _as_it_came(module: Any, inputs: tuple, output: Any) -> Any:
    """Let a rotation or a norm do nothing."""
    both = isinstance(output, tuple) and len(output) == 2 and len(inputs) > 1
    alike = getattr(output[0] if both else output, "shape", 0) == inputs[0].shape
    return output if not alike else inputs[:2] if both else inputs[0]
