"""Functions of arrays: attention, one head or many, tiled or not, and softmax with or without mask.

Nothing is assumed that can be tried: layouts, what a mask means, whether the future is hidden. What
comes back is compared with `oracle`; the first way of calling in which the function is right is
taken for its convention. If there is none, the mistakes are tried in every way that runs.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from attention_src.judge.calling import (
    Array,
    Callee,
    Convert,
    Sizes,
    decode,
    encode,
    frameworks,
    in_words,
    role,
)
from attention_src.judge.layers import ORDERS, Layer
from attention_src.judge.oracle import MODEL, Mistake, attend, mistakes, softmax, written
from attention_src.judge.report import Draft

SIZES = {"B": 2, "H": 3, "G": 3, "q": 5, "k": 7, "d": 4, "e": 11, "D": 4}  # all different
OTHER_SIZES = {"grouped": {"H": 6}, "tiled": {"q": 6, "k": 9}, "multihead": {"D": 12}}
QKV = {"q": "BHqd", "k": "BGkd", "v": "BGke"}  # axes, in our order
LAYOUTS = {
    "attention": ["BHnd", "BnHd", "Bnd", "nd", "Hnd", "nHd", "nBHd", "nBd", "Bn(Hd)", "n(Hd)"],
    "multihead": ["Bn(Hd)", "nB(Hd)", "n(Hd)"],
    "grouped": ["BHnd", "BnHd", "Hnd", "nHd", "nBHd"],
    "softmax": ["BHqk", "Bqk", "qk", "Hqk"],
}
FORMATS: dict[str, Callable[[Array], Array]] = {  # of a mask, from "may see?" to what people pass
    "True = may attend": lambda see: see,
    "True hides": lambda see: ~see,
    "1 = may attend": lambda see: see.astype(float),
    "1 hides": lambda see: (~see).astype(float),
    "added to the scores, -inf hides": lambda see: np.where(see, 0.0, -np.inf),
    "added to the scores, -1e9 hides": lambda see: np.where(see, 0.0, -1e9),
    "lengths": lambda see: see.sum(axis=-1),
}
MASKS = [
    "qk",
    "Bqk",
    "B1qk",
    "BHqk",
    "11qk",
    "1qk",
    "Hqk",
    "B11k",
    "B1k",
    "Bk",
    "k",
    "qkB",
    "qk1",
    "B",
    "Bq",
]
MISTAKEN = ("own key hidden", "one key ahead", "upside down", "future alone")


def patterns(n_q: int, n_k: int) -> dict[str, Array]:
    """Which keys a function may let each query see by itself; some are mistakes."""
    tri = [np.tri(n_q, n_k, n_k - n_q + shift, bool) for shift in (-1, 0, 1)]
    see = {
        "": np.ones((n_q, n_k), bool),
        "hides the future (the last query sees the last key)": tri[1],
    }
    see["hides the future (the first query sees the first key)"] = np.tri(n_q, n_k, 0, bool)
    return see | dict(zip(MISTAKEN, [tri[0], tri[2], ~tri[0], ~tri[1]], strict=True))


@dataclass
class How:
    """One way to call the function: with which arrays, axes, mask (axes and format), and more."""

    framework: Convert
    layout: str
    sizes: Sizes
    mask: tuple[str, str] = ("", "")
    extra: dict[str, Any] = field(default_factory=dict)


class Trial(NamedTuple):
    """What it gave: the answer in our axes, its layout, what else, and which inputs changed."""

    o: Array
    layout: str
    others: list[Array]
    changed: list[str]


def see_some(how: How, seed: int) -> Array:
    """A random "may see", constant along the axes that the mask lacks; every query sees a key."""
    sizes, rng = how.sizes, np.random.default_rng(seed)
    shape = [sizes[a] if a in how.mask[0] else 1 for a in "BHqk"]
    see = rng.random(shape) < 0.6
    see[..., 0] |= ~see.any(axis=-1)
    if how.mask[1] == "lengths":
        see = np.arange(sizes["k"]) < rng.integers(1, sizes["k"], [*shape[:-1], 1])
    return np.broadcast_to(see, [sizes[a] for a in "BHqk"])


class Judge:
    """Tries one function; `draft` is what it found."""

    def __init__(self, f: Any, kind: str, draft: Draft, asked: dict[str, Any]) -> None:
        self.kind, self.draft, self.asked, self.right = kind, draft, asked, attend
        self.axes, self.out_axes = QKV, "BHqe"
        if kind == "softmax":
            self.right, self.axes, self.out_axes = softmax, {"x": "BHqk"}, "BHqk"
        self.sizes = SIZES | OTHER_SIZES.get(kind, {}) | asked["sizes"]
        self.layouts = (
            [asked["layout"]] if asked["layout"] else LAYOUTS.get(kind, LAYOUTS["attention"])
        )
        self.layer = kind == "multihead" and (hasattr(f, "parameters") or hasattr(f, "forward"))
        self.callee = (Layer if self.layer else Callee)(f, self.sizes, asked["given"])
        if (
            kind == "multihead"
            and not self.layer
            and "x" in self.callee.names
            and "q" not in self.callee.names
        ):
            self.callee.names["q"], self.callee.tied = self.callee.names["x"], True
        elif not self.layer:
            self.callee.arrays("".join(self.axes))
        if kind == "tiled":
            tiles = {p.name: 3 for p in self.callee.parameters if role(p.name) == "block"}
            self.callee.given = tiles | asked["given"]
        MODEL["width"] = self.sizes["D"] * self.layer
        self.pattern, self.out, self.last = "", "", ""
        self.own: tuple[str, ...] = ()  # lines that are known to be wrong
        self.lines: tuple[str, ...] = ()  # and those that are tried
        self.kept: dict[tuple, tuple] = {}
        self.errors: list[str] = []
        self.masked: How | None = None

    def draw(self, sizes: Sizes, seed: int) -> dict[str, Array]:
        rng = np.random.default_rng(seed)
        arrays = {r: rng.normal(size=[sizes[a] for a in axes]) for r, axes in self.axes.items()}
        return dict.fromkeys(arrays, arrays["q"]) if self.callee.tied else arrays

    def given(self, how: How, arrays: dict[str, Array], see: Any = True) -> dict[str, Any]:
        """What is passed, by role."""
        to = how.framework[1]
        given = {
            r: encode(x, self.axes[r], _place(how.layout, self.axes[r])) for r, x in arrays.items()
        }
        if how.mask[0]:
            made = FORMATS[how.mask[1]](np.broadcast_to(see, [how.sizes[a] for a in "BHqk"]))
            given["mask"] = encode(made, "BHqk"[: made.ndim], how.mask[0])
        self.callee.eye = to(np.eye(how.sizes["H"] * how.sizes["d"]))
        return {r: to(x) for r, x in given.items()}

    def run(
        self, how: How, arrays: dict[str, Array], see: Any = True, cast: Callable = lambda x: x
    ) -> Trial | None:
        """Call it once; None if it fails, or if its answer has no shape that we know."""
        back, sizes = how.framework[2], how.sizes
        given = {r: cast(x) for r, x in self.given(how, arrays, see).items()}
        kept = {r: np.array(back(x)) for r, x in given.items()}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.callee.eye = cast(self.callee.eye)
                y = self.callee(**given, **how.extra)
                outputs = [
                    np.asarray(back(x))
                    for x in (y if isinstance(y, tuple | list) else [y])
                    if x is not None
                ]
            changed = [r for r, x in kept.items() if not np.array_equal(x, back(given[r]), True)]
            found = [decode(x, self.out_axes, sizes, how.layout, self.out) for x in outputs]
            which = next((i for i, x in enumerate(found) if x), -1)
            if which < 0:
                raise ValueError(f"it returned {[list(x.shape) for x in outputs]}")
            o, layout = found[which]  # type: ignore
            return Trial(o.astype(float), layout, outputs[:which] + outputs[which + 1 :], changed)
        except Exception as error:
            self.last = f"{type(error).__name__}: {str(error)[:160]}"
            self.errors.append(f"with {in_words(_place(how.layout, self.out_axes))}: {self.last}")
            return None

    def case(
        self,
        how: How,
        see: Any = True,
        seed: int = 0,
        sizes: Sizes = {},
        scale: float = 1.0,
        cast: Callable = lambda x: x,
    ) -> tuple[Trial | None, Array | None]:
        """What it gives, and what is right, or wrong in the same way."""
        how = replace(how, sizes=how.sizes | sizes)
        arrays = self.draw(how.sizes, seed)
        if scale != 1:  # rows far apart: one's scores are all high, the next one's all low
            first = next(iter(arrays))
            arrays = {r: np.abs(x) for r, x in arrays.items()}
            arrays[first] = (
                arrays[first] * scale * (1 - 2 * (np.arange(how.sizes["q"]) % 2))[:, None]
            )
            arrays = dict.fromkeys(arrays, arrays[first]) if self.callee.tied else arrays
        return self.run(how, arrays, see, cast), self.expected(arrays, see & self.seen(how.sizes))

    def fits(self, how: How, made: Sequence[Mistake] = (), masked: bool = False) -> bool:
        """Whether it does as the right function with these mistakes, in three cases."""
        self.lines = (*self.own, *(line for mistake in made for line in mistake.lines))
        for seed in range(3):
            key = (id(how), seed, masked)
            if key not in self.kept:
                arrays, see = self.draw(how.sizes, seed), see_some(how, seed) if masked else True
                self.kept[key] = (arrays, see, self.run(how, arrays, see), how)
            arrays, see, trial, _ = self.kept[key]
            if not same(trial, self.expected(arrays, see & self.seen(how.sizes)), nan=masked):
                return False
        return True

    def expected(self, arrays: dict[str, Array], see: Array) -> Array | None:
        """What the right function gives, with the lines that are known to be wrong."""
        try:
            with np.errstate(all="ignore"):
                return written(self.right, *self.lines)(*arrays.values(), see)
        except Exception:  # a mistake that cannot be made with these shapes
            return None

    def seen(self, sizes: Sizes) -> Array:
        """What a query sees without a mask."""
        return patterns(sizes["q"], sizes["k"])[self.pattern]

    def ways(self, masked: bool) -> Iterator[How]:
        """Every way to call it, likeliest first; also with a mask that hides nothing."""
        extras: list[dict[str, Any]] = [{"axis": -1} if "axis" in self.callee.names else {}]
        extras += [{"dim": -1}] * self.callee.open
        if any(len(part) > 1 for part in getattr(self.callee, "parts", {})):
            extras = [{"order": order} for order in ORDERS]
        square = {"q": self.sizes["k"]}  # for who wants n_q = n_k, or d_v = d, or all of them alike
        others = [{}, {"e": 4}, square, {"e": 4} | square, {"e": 4, "q": 4, "k": 4}]
        others = (
            [{"e": 4} | square] if self.callee.tied else others if self.right is attend else [{}]
        )
        for framework in frameworks(
            self.callee.code, "torch" if self.callee.is_module else self.asked["framework"]
        ):
            for other, layout, extra in product(
                getattr(self.callee, "others", others), self.layouts, extras
            ):
                base = How(framework, layout, self.sizes | other | _absent(layout), extra=extra)
                yield base
                yield from self.mask_ways(base) if masked else ()

    def mask_ways(self, base: How) -> Iterator[How]:
        """Every kind of mask that may go with a way of calling."""
        for form, axes in product([self.asked["mask"]] if self.asked["mask"] else FORMATS, MASKS):
            if (form == "lengths") == ("k" not in axes) and all(
                a in base.layout for a in axes if a in "BH"
            ):
                yield replace(base, mask=(axes, form))

    # --- What is it? ----------------------------------------------------------------------

    def judge(self) -> None:
        """Find out how it is called, what it computes, and what is wrong with it."""
        ran: list[How] = []
        special: tuple[How, Trial, str] | None = None
        plain = set()  # ways that ran without a mask: then none is needed
        name = self.callee.names.get("mask")
        needed = any(p.name == name and p.default is p.empty for p in self.callee.parameters)
        for masked in (True,) if needed else (False, True) if name else (False,):
            for how in self.ways(masked) if not ran else ():
                key = (how.framework[0], how.layout, str(how.extra), *how.sizes.values())
                trial = None if key in plain else self.run(how, self.draw(how.sizes, 0))
                if trial is None:
                    continue
                plain |= {key} if not how.mask[0] and not needed else set()
                names = [p for p in patterns(how.sizes["q"], how.sizes["k"]) if p not in MISTAKEN]
                fine = next((self.pattern for self.pattern in names if self.fits(how)), None)
                sizes = how.sizes  # were others wrong, though it ran?
                luck = any(replace(how, sizes=h.sizes | {"H": sizes["H"]}) == h for h in ran)
                if fine is not None and not luck:
                    return self.taken(how, trial, [])
                if fine is not None:
                    special = special or (how, trial, fine)
                elif np.isfinite(trial.o).all():
                    ran.append(how)
        self.pattern = ""
        ran.sort(key=lambda how: how.mask[0] != "")
        if not ran:
            own = [
                error
                for error in self.errors
                if re.search("TypeError|AttributeError|NameError", error)
            ]
            self.draft.why = f"It never ran; for example {(own + self.errors)[0]}"
            return None
        first, second = self.case(ran[0])[0], self.case(ran[0])
        if not np.array_equal(first.o, second[0].o):  # type: ignore
            return self.draft.add("random")
        for at_once, how in [(n, h) for n, most in enumerate((24, 24, 4, 1)) for h in ran[:most]]:
            if at_once > 1 and special:
                self.pattern, self.own, self.lines = special[2], (), ()
                inside, sizes = in_words(_place(ran[0].layout, self.out_axes)), ran[0].sizes
                self.draft.add("right by luck", inside, sizes["q"], sizes["k"])
                return self.taken(*special[:2], [])
            known = [m for m in mistakes(self.right) if at_once == 1 or not m.of_mask]
            names = list(patterns(how.sizes["q"], how.sizes["k"]))[: 9 if at_once < 3 else 1]
            for self.pattern, made in product(names, combinations(known, at_once)):
                idle = not self.pattern and any(m.of_mask for m in made)
                if len({m.changes for m in made}) == at_once and not idle and self.fits(how, made):
                    self.own = self.lines
                    return self.taken(how, self.case(how)[0], list(made))  # type: ignore
        if self.kind == "tiled" and (mistake := self.tile_mistake(ran)):
            return self.draft.cause(mistake.name, mistake.message, "flash")
        off = np.abs(first.o - second[1]).max()  # type: ignore
        return self.draft.add("cause unknown", case=f"it is off by up to {off:.2g}")

    def tile_mistake(self, ran: list[How]) -> Any:
        """Of those that the exercise on tiles declares, the mistake that gives the same."""
        from attention_src.exercises.flash import check_tiled_attention as check

        for mistake, how in product(check.mistakes, ran):
            arrays, heads = (
                self.draw(how.sizes, 0),
                list(np.ndindex(how.sizes["B"], how.sizes["H"])),
            )
            try:
                made = [mistake.wrong(*(x[head] for x in arrays.values()), 3)[0] for head in heads]
            except Exception:
                continue
            trial = self.run(how, arrays)
            if trial and same(trial.o, np.reshape(made, trial.o.shape)):
                return mistake
        return None

    def taken(self, how: How, trial: Trial, made: list[Mistake]) -> None:
        """What follows once we know how it is called: its mask, and everything beyond values."""
        self.how, self.out, said = how, trial.layout, self.draft.convention
        square = how.sizes["q"] == how.sizes["k"] and self.right is attend
        inside = in_words(how.layout if self.right is attend else _place(how.layout, self.out_axes))
        more = " and more" * bool(trial.others)
        said |= {
            "framework": how.framework[0],
            "layout": inside,
            "returns": in_words(self.out) + more,
        }
        said |= {"lengths": "as many queries as keys"} if square else {}
        said |= {"by itself": self.pattern} if self.pattern.startswith("hides") else {}
        if any(len(shape) > 1 for shape in getattr(self.callee, "natural", {}).values()):
            self.draft.add("one small projection")
        evidence = self.smallest() if made or self.pattern in MISTAKEN else ""
        for m in made:
            self.draft.cause(m.name, m.message, m.chapter, evidence * (m is made[0]))
        if self.pattern in MISTAKEN:
            self.draft.add(self.pattern, "", case=evidence)
        self.causal_flag()
        self.masks()
        if not self.draft.keys():
            from attention_src.judge import beyond

            if not square and any("the first query" in line for line in said.values()):
                self.draft.add("diagonal from the top left")
            for check in beyond.CHECKS:
                check(self)

    def smallest(self) -> str:
        """The smallest case of whole numbers in which it is wrong."""
        wanted = self.pattern if self.pattern not in MISTAKEN else ""
        cases = [(1, 2, 1, 1), (2, 2, 1, 1), (1, 2, 1, 2), (2, 2, 1, 2), (1, 3, 2, 2), (3, 3, 3, 4)]
        for n_q, n_k, H, d in (
            [] if self.right is softmax or self.layer or self.callee.tied else cases
        ):
            H = H if "H" in self.how.layout else 1
            sizes = self.how.sizes | {"B": 1, "H": H, "G": H, "q": n_q, "k": n_k, "d": d, "e": 1}
            arrays = {r: np.round(2 * x) for r, x in self.draw(sizes, 3).items()}
            trial = self.run(replace(self.how, sizes=sizes), arrays)
            right = attend(*arrays.values(), patterns(n_q, n_k)[wanted])
            if trial and not same(trial, right, 1e-2):
                shown = arrays | {"right": right, "yours": trial.o}
                shown = {r: np.round(x[0] if H > 1 else x[0, 0], 4) + 0 for r, x in shown.items()}
                return "\n".join(f"{r:5} = {x.tolist()}" for r, x in shown.items())
        return ""

    # --- Masks ----------------------------------------------------------------------------

    def causal_flag(self) -> None:
        """What causal=True hides."""
        name, by_itself = self.callee.names.get("causal"), self.pattern
        how = replace(self.how, extra=self.how.extra | {"causal": True})
        for self.pattern in (
            patterns(how.sizes["q"], how.sizes["k"]) if name and not by_itself else ()
        ):
            if self.fits(how):
                if self.pattern.startswith("hides"):
                    self.draft.convention[f"{name}=True"] = self.pattern
                else:
                    about = f"With {name}=True: " if self.pattern else name
                    self.draft.add(self.pattern or "causal not used", about)
                break
        self.pattern = by_itself

    def masks(self) -> None:
        """What its mask means, or what is wrong with it."""
        name, ran, errors = self.callee.names.get("mask"), [], []
        for layout, square in product(
            dict.fromkeys([self.how.layout, *self.layouts]) if name else (), (False, True)
        ):
            sizes = (
                self.how.sizes | _absent(layout) | ({"q": self.how.sizes["k"]} if square else {})
            )
            base, fits = replace(self.how, layout=layout, sizes=sizes, mask=("", "")), {}
            self.out = self.out if layout == self.how.layout else ""
            if layout != self.how.layout and not self.fits(base):
                continue
            for how in self.mask_ways(base):
                if self.fits(how, masked=True):
                    fits.setdefault(how.mask[1], []).append(how.mask[0])
                    self.masked = self.masked or how
                elif self.kept[id(how), 0, True][2]:
                    ran.append(how)
                else:
                    errors.append(self.last)
            if fits:
                form, axes = next(iter(fits.items()))
                also = "".join(f"; or {f}" for f in fits if f.split()[0] != form.split()[0])
                shapes = ", ".join(map(in_words, axes[:3]))
                self.draft.convention["mask"] = f"{name}: {form}, as {shapes}{also}"
                return None
        if name:
            self.explain_mask(name, ran, max(set(errors), key=errors.count, default=""))

    def explain_mask(self, name: str, ran: list[How], error: str) -> None:
        """The mistake that explains what it does with its mask."""
        known = sorted(
            (m for m in mistakes(self.right) if m.of_mask), key=lambda m: m.name == "mask not used"
        )
        for m, how in product(known, ran):
            if self.fits(how, [m], masked=True):
                read = f"read as: {how.mask[1]}, {in_words(how.mask[0])}" * (
                    m.name != "mask not used"
                )
                return self.draft.cause(m.name, m.message, m.chapter, read)
        self.lines = self.own
        for how, pattern in product(ran, [p for p in patterns(1, 1) if p.startswith("hides")]):
            see = patterns(how.sizes["q"], how.sizes["k"])[pattern]
            if same(self.case(how, see_some(how, 0))[0], self.case(how, see)[1]):
                return self.draft.add("mask only as a switch", name, pattern)
        if not ran and error.startswith(("AttributeError", "NameError", "UnboundLocalError")):
            return self.draft.add("fails with a mask", name, error)
        return self.draft.add("mask not understood", name, "" if ran else f"; {error}")


def same(trial: Any, right: Any, tolerance: float = 1e-5, nan: bool = False) -> bool:
    """Whether two answers are the same but for rounding."""
    a, b = (x.o if isinstance(x, Trial) else x for x in (trial, right))
    fit = a is not None and b is not None and a.shape == b.shape and not np.isnan(a).all()
    return bool(fit and np.allclose(a, b, tolerance, tolerance, equal_nan=nan))


def _absent(layout: str) -> Sizes:
    """Axes that a layout lacks have length 1."""
    return {a: 1 for a in "BHG" if a.replace("G", "H") not in layout}


def _place(layout: str, axes: str) -> str:
    """A layout for one array: "BHnd" for keys is "BGkd"."""
    return layout.replace("n", axes[2]).replace("d", axes[3]).replace("H", axes[1])
