"""How a person's function wants to be called: its arguments by role, its arrays, its layout."""

import copy
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

Array, Sizes = np.ndarray, dict[str, int]
ROLES = dict(re.findall(r"(?m)^(\w+) +(.+)$", (Path(__file__).parent / "names.txt").read_text()))


def role(name: str) -> str:
    """What a parameter of this name probably is, as names.txt says; "" if nobody knows."""
    name = name.lower().strip("_")
    return next((r for r, pattern in ROLES.items() if re.fullmatch(pattern, name)), "")


class Config:
    """Anything that people call a config: it has every size, under whatever name they use."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        groups = self._sizes["H"] // self._sizes["G"]
        return groups if name == "num_key_value_groups" else constant(name, self._sizes)


def constant(name: str, sizes: Sizes, annotation: Any = "") -> Any:
    """A value for an argument that is no array."""
    r, n, d = role(name), sizes.get("n", 256), sizes["d"]
    rate = None if re.search("None|Dropout|Callable", str(annotation)) else 0.0  # or what drops
    known = {"n": n, "block": n if name == "block_size" else 3, "dropout": rate, "scale": d**-0.5}
    known |= (
        {"module": Config(sizes), "causal": False, "training": False}
        | dict.fromkeys("qkvx")
        | sizes
    )
    if r in known or r in ("mask", "positions") or re.search("device|dtype|cache", name):
        return known.get(r)
    if name in ("config", "args", "cfg", "conf", "model_args"):
        return Config(sizes)
    if re.search("bias|flag|flash|norm|use_|window|rope|idx|index", name):
        return 0 if "id" in name else False
    return d**0.5 if name == "temperature" else 1e4 if re.search("base|theta", name) else sizes["D"]


class Callee:
    """A function, a module or a class, called by roles instead of names.

    Args:
        f: what the person wrote; a class is made into an object with sizes that we choose
        sizes: of the axes, by letter
        given: values of arguments, by name, that the person says we should use
    """

    def __init__(self, f: Any, sizes: Sizes, given: dict[str, Any]) -> None:
        self.sizes, self.given, self.eye, self.direct, self.tied = sizes, given, None, False, False
        inner, skip = None, 0
        if (
            inspect.isclass(f) and hasattr(f, "apply") and hasattr(f, "backward")
        ):  # torch's Function
            inner, skip, made = f.forward, 1, f
            f = lambda **a: made.apply(*a.values())  # noqa: E731
        elif inspect.isclass(f):
            needed = [
                p
                for p in _parameters(f.__init__)[1:]
                if p.default is p.empty or p.name in given or role(p.name) == "H"
            ]
            f = f(
                **{p.name: given.get(p.name, constant(p.name, sizes, p.annotation)) for p in needed}
            )
        self.is_module = hasattr(f, "parameters") and hasattr(f, "state_dict")
        if self.is_module:
            f = copy.deepcopy(f).eval().double()
        self.f = f if callable(f) or not hasattr(f, "forward") else f.forward
        inner = inner or (f.forward if self.is_module else self.f)
        self.code = inner if inspect.isroutine(inner) else getattr(type(inner), "__call__", None)
        self.parameters = _parameters(inner)[skip:] if callable(inner) else []
        self.open = bool(
            getattr(getattr(inner, "__code__", None), "co_flags", 0) & inspect.CO_VARKEYWORDS
        )
        self.names: dict[str, str] = {}
        for p in self.parameters:
            if self.names.setdefault(role(p.name), p.name) != p.name and p.name == "attn_mask":
                self.names["mask"] = p.name  # rather than key_padding_mask

    def arrays(self, roles: str) -> None:
        """Take the first parameters for q, k and v, if nothing is called so."""
        if not all(r in self.names for r in roles):
            free = [p.name for p in self.parameters if role(p.name) not in ("mask", "module")]
            self.names |= dict(zip(roles, free, strict=False))

    def __call__(self, **by_role: Any) -> Any:
        arguments = {self.names[r]: x for r, x in by_role.items() if r in self.names}
        for p in self.parameters:
            if p.name in self.given:
                arguments[p.name] = self.given[p.name]
            elif p.name not in arguments and p.default is p.empty:
                is_eye = role(p.name) == "eye"
                arguments[p.name] = (
                    self.eye if is_eye else constant(p.name, self.sizes, p.annotation)
                )
        ordered = {p.name: arguments[p.name] for p in self.parameters if p.name in arguments}
        return self.f(**ordered, **({"dim": by_role["dim"]} if "dim" in by_role else {}))


def _parameters(f: Callable) -> list[inspect.Parameter]:
    """Of its signature; of a built-in function, those in the first line of its documentation."""
    try:
        signature = inspect.signature(f)
    except ValueError:
        found = re.match(r"\s*\w+\((.*?)\)\s*(->|\n\n|$)", f.__doc__ or "", re.S)
        made: dict[str, Any] = {}
        exec(f"from __future__ import annotations\ndef f({found[1]}): pass", made)  # type: ignore
        signature = inspect.signature(made["f"])
    return [
        p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


Convert = tuple[str, Callable[[Array], Any], Callable[[Any], Array]]


def frameworks(code: Callable | None, only: str = "") -> Iterator[Convert]:
    """What arrays a function may want, likeliest first: what its file imports, then NumPy."""
    space = getattr(inspect.unwrap(code), "__globals__", {}) if code else {}
    roots = {
        str(getattr(x, "__module__", None) or getattr(x, "__name__", ""))
        for x in list(space.values())
    }
    used = [name for name in LIBRARIES if any(root.split(".")[0] == name for root in roots)]
    for name in dict.fromkeys([only] if only else [*used, *([] if space else LIBRARIES), "numpy"]):
        if name == "numpy" or name in sys.modules:
            yield (name, *LIBRARIES[name])
    if "torch" in (only, *used):  # for who makes float32 weights inside
        yield (
            "torch float32",
            lambda x: _tensor(x.astype("f4") if x.dtype == float else x),
            _numbers,
        )


def _tensor(x: Array) -> Any:
    return sys.modules["torch"].from_numpy(np.array(x))


def _numbers(y: Any) -> Array:
    return (y.double() if y.is_floating_point() else y).detach().cpu().numpy()


LIBRARIES: dict[str, tuple[Callable, Callable]] = {
    "torch": (_tensor, _numbers),
    "mlx": (
        lambda x: sys.modules["mlx.core"].array(x.astype("f4") if x.dtype == float else x),
        np.array,
    ),
    "jax": (lambda x: sys.modules["jax"].numpy.asarray(x), np.asarray),
    "numpy": (np.array, np.asarray),
}

# --- Layouts: B texts, H heads, n tokens (q of queries, k of keys), d numbers -----------------


def parts(layout: str) -> list[str]:
    """ "Bn(Hd)" -> B, n, Hd: the axes, each with the letters that were merged into it."""
    return [part.strip("()") for part in re.findall(r"\(\w+\)|\w", layout)]


def encode(x: Array, axes: str, layout: str) -> Array:
    """x, one axis for each letter of axes, in a layout; where it lacks an axis, its first entry."""
    sizes = dict(zip(axes, x.shape, strict=True)) | {"1": 1}
    for a in axes:
        if a not in layout:
            x, axes = x.take(0, axis=axes.index(a)), axes.replace(a, "")
    x = x.transpose([axes.index(a) for a in layout if a in axes])
    return np.array(
        x.reshape([int(np.prod([sizes[a] for a in part])) for part in parts(layout)]), order="C"
    )


def decode(
    y: Array, axes: str, sizes: Sizes, layout: str, known: str = ""
) -> tuple[Array, str] | None:
    """Find out in which layout an answer came, and bring it into ours.

    Args:
        y: an answer
        axes: ours, such as "BHqe"
        sizes: of each axis; they differ
        layout: of the arguments: B or H may be missing in both
        known: the answer's layout, if it is known already
    Returns: y with our axes, and its layout; None if no layout has this shape
    """
    absent = [a for a in "BH" if a not in layout]
    here = [a for a in axes if a not in absent]
    for order in map("".join, permutations(here)):
        for found in (order, order[:-2] + f"({order[-2:]})" if order[-2:-1] == "H" else order):
            shape = tuple(int(np.prod([sizes[a] for a in part])) for part in parts(found))
            if known in ("", found) and shape == y.shape:
                y = y.reshape([sizes[a] for a in order]).transpose([order.index(a) for a in here])
                return y.reshape([1 if a in absent else sizes[a] for a in axes]), found
    return None


def in_words(layout: str) -> str:
    """A layout as people write it: "[B, n_q, H·d]"."""
    names = {"q": "n_q", "k": "n_k", "e": "d", "G": "H_kv"}
    return "[" + ", ".join("·".join(names.get(a, a) for a in part) for part in parts(layout)) + "]"
