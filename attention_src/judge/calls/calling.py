"""How a person's function wants to be called: its arguments by role, whatever their names are."""

import copy
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_src.exercises.engine.limits import within

_TEXT = (Path(__file__).parent / "names.txt").read_text(encoding="utf-8")
ROLES = dict(re.findall(r"(?m)^(\w+) +(.+)$", _TEXT))
SECONDS = 5.0  # of processor time for one call
CONFIGS = ("config", "args", "cfg", "conf", "model_args", "params")


def role(name: str) -> str:
    """What a parameter of this name probably is, as names.txt says; "" if nobody knows."""
    name = name.lower().strip("_")
    return next((r for r, pattern in ROLES.items() if re.fullmatch(pattern, name)), "")


class Config:
    """Anything that people call a config: it has every size, under whatever name they use."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self._sizes = sizes

    @property
    def sizes_of_axes(self) -> dict[str, int]:
        """Of heads and their width, under names that say so."""
        return {"num_heads": self._sizes["H"], "num_kv_heads": self._sizes["G"]}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "num_key_value_groups":
            return self._sizes["H"] // self._sizes["G"]
        if re.search("window|adjust|rope_scaling|layer_types", name):
            return None
        if re.search("n_elem|rotary_dim|rope_dim", name):
            return self._sizes["d"]
        return "eager" if "implementation" in name else constant(name, self._sizes)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, other: Any = None) -> Any:
        """As of a dict."""
        return getattr(self, name) if role(name) else other


def constant(name: str, sizes: dict[str, int], annotation: Any = "") -> Any:
    """A value for an argument that is no array.

    Args:
        name: of the argument
        sizes: of the axes, by letter
        annotation: of the argument
    """
    if name.endswith("shape"):  # of a cache
        return (sizes["B"], sizes["G"], sizes["k"], sizes["d"])
    r, n, d = role(name), sizes.get("n", 256), sizes["d"]
    rate = None if re.search("None|Dropout|Callable", str(annotation)) else 0.0  # or what drops
    known = {"n": n, "block": n if name == "block_size" else 3, "dropout": rate, "scale": d**-0.5}
    known |= {"module": Config(sizes), "causal": False, "training": False, "repeats": None}
    known |= dict.fromkeys("qkvx") | sizes
    if r in known or r in ("mask", "positions") or re.search("device|dtype|cache", name):
        return known.get(r)
    if name in CONFIGS:
        return Config(sizes)
    if name == "window_size":  # flash-attn's: all before, none behind
        return (-1, 0)
    if re.search("^ve$|value_emb|softcap|scalar|sinks?$|slopes|lora|latent|adapter", name):
        return None
    if re.search("bias|flag|flash|norm|use_|window|rope|id$|idx|index|pos$|interleave", name):
        return 0 if "id" in name else False
    return d**0.5 if name == "temperature" else 1e4 if re.search("base|theta", name) else sizes["D"]


class Callee:
    """A function, a module or a class, called by roles instead of names.

    Args:
        f: what the person wrote; a class is made into an object with sizes that we choose
        sizes: of the axes, by letter
        given: values of arguments, by name, that the person says we should use
    """

    def __init__(self, f: Any, sizes: dict[str, int], given: dict[str, Any]) -> None:
        self.sizes, self.given, self.eye, self.direct, self.tied = sizes, given, None, False, False
        inner = None
        if inspect.isclass(f) and hasattr(f, "apply") and hasattr(f, "backward"):  # torch's
            inner, made = getattr(f, "forward", None), f
            f = lambda **a: made.apply(*a.values())  # noqa: E731
        elif inspect.isclass(f):
            f = self._make(f)
        self.is_module = hasattr(f, "parameters") and hasattr(f, "state_dict")
        if self.is_module:
            f = copy.deepcopy(f).eval().double()
        self.f = f if callable(f) or not hasattr(f, "forward") else f.forward
        self.parameters = parameters(inner)[1:] if inner else []
        inner = inner or (f.forward if self.is_module else self.f)
        called = type(inner).__call__ if callable(inner) else None
        self.code = inner if inspect.isroutine(inner) else called
        self.parameters = self.parameters or (parameters(inner) if callable(inner) else [])
        flags = getattr(getattr(inner, "__code__", None), "co_flags", 0)
        self.open = bool(flags & inspect.CO_VARKEYWORDS)
        self.names: dict[str, str] = {}
        for p in self.parameters:
            number = role(p.name) == "freqs" and isinstance(p.default, int | float)
            self.names.setdefault("" if number else role(p.name), p.name)
        self.masks = [p.name for p in self.parameters if role(p.name) == "mask"]
        biases = [p.name for p in self.parameters if re.fullmatch("(\\w+_)?bias", p.name.lower())]
        if not self.masks and not self.is_module:
            self.masks = [p.name for p in self.parameters if p.name in biases and p.default is None]
        if "attn_mask" in self.masks:  # before key_padding_mask
            self.masks.sort(key=lambda name: name != "attn_mask")
        if self.masks:
            self.names["mask"] = self.masks[0]

    def _make(self, made: Any) -> Any:
        """An object of a class, with sizes that we choose."""
        needed = [
            p
            for p in parameters(made.__init__)[1:]
            if p.default is p.empty or p.name in self.given or role(p.name) == "H"
        ]
        values = {
            p.name: self.given.get(p.name, constant(p.name, self.sizes, p.annotation))
            for p in needed
        }
        return within(SECONDS, lambda: made(**values))

    def arrays(self, roles: str) -> None:
        """Take the first parameters for q, k and v, if nothing is called so."""
        if not all(r in self.names for r in roles):
            free = [p.name for p in self.parameters if role(p.name) not in ("mask", "module")]
            self.names |= dict(zip(roles, free, strict=False))

    @property
    def unknown(self) -> list[str]:
        """The arguments that must be given and that nobody can guess."""
        taken = [*(name for r, name in self.names.items() if r), *self.given, *CONFIGS]
        needed = (p.name for p in self.parameters if p.default is p.empty)
        return [name for name in needed if not role(name) and name not in taken]

    def __call__(self, **by_role: Any) -> Any:
        arguments = {self.names[r]: x for r, x in by_role.items() if r in self.names}
        arguments |= {name: x for name, x in by_role.items() if name in self.masks}
        for p in self.parameters:
            if p.name in self.given:
                arguments[p.name] = self.given[p.name]
            elif p.name not in arguments and p.default is p.empty:
                found = constant(p.name, self.sizes, p.annotation)
                arguments[p.name] = self.eye if role(p.name) == "eye" else found
        ordered = {p.name: arguments[p.name] for p in self.parameters if p.name in arguments}
        more = {"dim": by_role["dim"]} if "dim" in by_role else {}
        first = [p.name for p in self.parameters if p.kind is p.POSITIONAL_ONLY]
        args = [ordered.pop(name) for name in first if name in ordered]
        return within(SECONDS, lambda: self.f(*args, **ordered, **more))


def parameters(f: Callable) -> list[inspect.Parameter]:
    """Of its signature; of a built-in function, those in the first line of its documentation."""
    try:
        signature = inspect.signature(f)
    except ValueError:
        found = re.match(r"\s*\w+\((.*?)\)\s*(->|\n\n|$)", f.__doc__ or "", re.S)
        if found is None:
            raise
        made: dict[str, Any] = {}
        exec(f"from __future__ import annotations\ndef f({found[1]}): pass", made)
        signature = inspect.signature(made["f"])
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in signature.parameters.values() if p.kind not in several]
