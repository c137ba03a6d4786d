"""How a person's function wants to be called: its arguments by role, whatever their names are."""

import copy
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attention_src.exercises.engine.limits import within

_TEXT = (Path(__file__).parent / "names.txt").read_text(encoding="utf-8")
ROLES = dict(re.findall(r"(?m)^(\w+) +(.+)$", _TEXT))
SECONDS = 5.0  # of processor time for one call
FLAGS = "bias|flag|flash|norm|use_|window|rope|id$|idx|index|pos$|interleave"
PLAIN = f"{FLAGS}|device|dtype|cache|temperature|base|theta|eps"  # no arrays
CONFIGS = ("config", "args", "cfg", "conf", "model_args", "params")


def role(name: str) -> str:
    """What a parameter of this name probably is, as names.txt says; "" if nobody knows."""
    name = name.lower().strip("_")
    return next((r for r, pattern in ROLES.items() if re.fullmatch(pattern, name)), "")


class Config:
    """Anything that people call a config: it has every size, under whatever name they use."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self._sizes = sizes
        self.sizes_of_axes = {"num_heads": sizes["H"], "num_kv_heads": sizes["G"]}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "num_key_value_groups":
            return self._sizes["H"] // self._sizes["G"]
        if re.search("window|adjust|rope_scaling|layer_types", name):
            return None
        return "eager" if "implementation" in name else constant(name, self._sizes)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Rate(float):
    """No dropout, as a number and as a module."""

    def __call__(self, x: Any) -> Any:
        return x


def constant(name: str, sizes: dict[str, int]) -> Any:
    """A value for an argument that is no array, by its name and the sizes of axes."""
    if name.endswith("shape"):  # of a cache
        return (sizes["B"], sizes["G"], sizes["k"], sizes["d"])
    r, n, d = role(name), sizes.get("n", 256), sizes["d"]
    known = {"n": n, "block": n if name == "block_size" else 3, "scale": d**-0.5}
    known |= {"dropout": Rate(0.0), "causal": False, "training": False, "repeats": None}
    known |= dict.fromkeys("qkvx") | sizes
    if r == "module" or name in CONFIGS:
        return Config(sizes)
    if r in known or r in ("mask", "positions") or re.search("device|dtype|cache", name):
        return known.get(r)
    if re.fullmatch(r"(\w+_)?window(_size|_len(gth)?)?", name):
        return 3
    if re.search(FLAGS, name):
        return 0 if "id" in name else False
    return d**0.5 if name == "temperature" else 1e4 if re.search("base|theta", name) else sizes["D"]


class Callee:
    """A function, a module or a class, called by roles instead of names.

    A class is made into an object with `sizes` that we choose; `given` are values of arguments, by
    name, that the person says we should use.
    """

    eye: Any = None  # what is passed for matrices
    direct = False  # whether it takes q, k and v as they are though it is a layer
    tied = ""  # which of q, k and v are one input
    inside: Sequence[inspect.Parameter] = ()  # what a class is made with
    guessed = ""  # an argument of unknown name, behind q, k and v, that is tried as a mask

    def __init__(self, f: Any, sizes: dict[str, int], given: dict[str, Any]) -> None:
        self.sizes, self.given = sizes, given
        inner = None
        if inspect.isclass(f) and hasattr(f, "apply") and hasattr(f, "backward"):  # torch's
            inner, made = f.forward, f  # type: ignore[attr-defined]
            f = lambda **a: made.apply(*a.values())  # noqa: E731
        elif inspect.isclass(f):
            self.inside = parameters(f.__init__)[1:] if f.__init__ is not object.__init__ else ()
            f = self._make(f)
        self.is_module = hasattr(f, "parameters") and hasattr(f, "state_dict")
        f = self._with_units(f)
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
        self._name()

    def _make(self, made: Any) -> Any:
        """An object of a class, with sizes that we choose."""
        values = {
            p.name: self.given.get(p.name, constant(p.name, self.sizes))
            for p in parameters(made.__init__)[1:]
            if p.default is p.empty or p.name in self.given or role(p.name) == "H"
        }
        return within(SECONDS, lambda: made(**values))

    def _with_units(self, f: Any) -> Any:
        """The object with unit matrices for the weights of NumPy that it holds, if it holds any."""
        kept = {} if self.is_module or inspect.isroutine(f) else getattr(f, "__dict__", {})
        arrays = {name: x for name, x in kept.items() if isinstance(x, np.ndarray)}
        self.weights = {name: x for name, x in arrays.items() if _is_weight(name, x)}
        others = [
            x for x in kept.values() if not isinstance(x, int | float | str | np.ndarray | None)
        ]
        self.hides = bool(others or (arrays and not self.weights))  # weights that nobody finds
        self.holder = f = copy.copy(f) if self.weights else f
        for name, x in arrays.items() if self.weights else ():
            if name in self.weights:
                setattr(f, name, np.tile(np.eye(len(x)), (1, x.shape[1] // len(x))))
            elif x.ndim == 1 and name.lower().startswith("b"):
                setattr(f, name, np.zeros(x.shape))
        return f

    @property
    def matrices(self) -> dict[str, str]:
        """The names of matrices, arguments or attributes, by what they make: "q", "qkv" or "o"."""
        names = [*(p.name for p in self.parameters if role(p.name) == "eye"), *self.weights]
        found = {}
        for name in names:
            word = re.sub("^(w|weights?|omega)_?|_?(w|weights?)$", "", name.lower().strip("_"))
            wide = name in self.weights and np.ptp(self.weights[name].shape) > 0
            found["qkv" if wide else "o" if "proj" in word else word[:1]] = name
        return found

    def put(self, values: dict[str, Any]) -> None:
        """Use these values for arguments or attributes, by name."""
        self.given = self.given | {x: y for x, y in values.items() if x not in self.weights}
        for name in values.keys() & self.weights.keys():
            setattr(self.holder, name, values[name])

    def _name(self) -> None:
        """Which argument has which role, and which are masks."""
        self.names: dict[str, str] = {}
        for p in self.parameters:
            number = role(p.name) == "freqs" and isinstance(p.default, int | float)
            self.names.setdefault("" if number else role(p.name), p.name)
        self.masks = [p.name for p in self.parameters if role(p.name) == "mask"]
        if not self.masks and not self.is_module:
            biases = [p for p in self.parameters if re.fullmatch("(\\w+_)?bias", p.name.lower())]
            self.masks = [p.name for p in biases if p.default is None]
        self.masks.sort(key=lambda name: name != "attn_mask")  # before key_padding_mask
        if self.masks:
            self.names["mask"] = self.masks[0]

    def arrays(self, roles: str) -> None:
        """Take the first parameters for q, k and v, if nothing is called so."""
        if not all(r in self.names for r in roles):
            free = [p.name for p in self.parameters if role(p.name) not in ("mask", "module")]
            self.names |= dict(zip(roles, free, strict=False))
        if roles == "qkv" and not self.masks and not self.is_module:
            taken = [*(name for r, name in self.names.items() if r), *self.given]
            left = [p for p in self.parameters if p.default is None or p.default is p.empty]
            left = [p for p in left if p.name not in taken and self.nobody_knows(p.name)]
            if left:
                self.names["mask"] = self.guessed = left[0].name
                self.masks = [self.guessed]

    def value_of(self, p: inspect.Parameter) -> Any:
        """What an argument that is no array is, or is made."""
        made = constant(p.name, self.sizes) if p.default is p.empty else p.default
        return self.given.get(p.name, made)

    def nobody_knows(self, name: str) -> bool:
        """Whether an argument's name does not say what it is."""
        return not (role(name) or name in CONFIGS or re.search(PLAIN, name))

    def check(self, t: Any) -> None:
        """Look at what only a layer has."""

    def unused(self, t: Any) -> bool:
        """Whether it has projections that do nothing; adds them."""
        return False

    @property
    def unknown(self) -> list[str]:
        """The arguments that must be given and that nobody can guess."""
        taken = [*(name for r, name in self.names.items() if r), *self.given, *CONFIGS]
        needed = (p.name for p in self.parameters if p.default is p.empty)
        return [x for x in needed if x == self.guessed or not (role(x) or x in taken)]

    def __call__(self, **by_role: Any) -> Any:
        arguments = {self.names[r]: x for r, x in by_role.items() if r in self.names}
        arguments |= {name: x for name, x in by_role.items() if name in self.masks}
        for p in self.parameters:
            if p.name in self.given:
                arguments[p.name] = self.given[p.name]
            elif p.name not in arguments and p.default is p.empty:
                made = self.eye if role(p.name) == "eye" else constant(p.name, self.sizes)
                arguments[p.name] = made
        ordered = {p.name: arguments[p.name] for p in self.parameters if p.name in arguments}
        more = {"dim": by_role["dim"]} if "dim" in by_role else {}
        first = [p.name for p in self.parameters if p.kind is p.POSITIONAL_ONLY]
        args = [ordered.pop(name) for name in first if name in ordered]
        return within(SECONDS, lambda: self.f(*args, **ordered, **more))


def _is_weight(name: str, x: np.ndarray) -> bool:
    """Whether an array is the matrix of a projection."""
    named = role(name) == "eye" or re.search("qkv|attn|proj|^w", name.lower())
    return bool(named and x.ndim == 2 and x.dtype.kind == "f" and not x.shape[1] % len(x))


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
