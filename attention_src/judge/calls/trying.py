"""Call a function in one way after another, and compare what it gives with what is right."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import (
    Array,
    Sizes,
    absent,
    decode,
    encode,
    frameworks,
    in_words,
    placed,
    said,
)
from attention_src.judge.calls.calling import CONFIGS, Callee, parameters, role
from attention_src.judge.calls.layers import ORDERS, OTHERS, Layer
from attention_src.judge.calls.oracle import Mistake, attend, mistakes, softmax, written
from attention_src.judge.calls.ways import (
    ALL,
    BIASES,
    FORMATS,
    LAYOUTS,
    MASKS,
    OTHER_SIZES,
    QKV,
    SIZES,
    Band,
    How,
    Trial,
    same,
    see_some,
)
from attention_src.judge.report import Draft


class Trier:
    """A function, how it is called as far as we know, and what it does otherwise than it should."""

    how: How
    masked: How | None = None  # a way to call it with a mask
    forms: Sequence[How] = ()  # with each meaning of its last mask in which it is right
    flag: tuple[How, Band] | None = None  # a way to call it causal, and what that hides
    band: Band = ALL  # what a query sees without a mask
    out = ""  # the layout of the answer, once it is known
    last = ""  # what went wrong the last time

    def __init__(self, f: Any, draft: Draft, asked: dict[str, Any]) -> None:
        self.kind, self.draft, self.asked = draft.kind, draft, asked
        self.right: Callable = attend
        self.axes, self.out_axes = QKV, "BHqe"
        if self.kind == "softmax":
            self.right, self.axes, self.out_axes = softmax, {"x": "BHqk"}, "BHqk"
        made = hasattr(f, "parameters")
        names = parameters(f.forward) if hasattr(f, "forward") else []
        direct = {"q", "k", "v"} <= {role(p.name) for p in names} and self.kind != "multihead"
        self.layer = made and self.kind != "softmax" and not direct
        kind = "multihead" if self.layer else self.kind
        self.sizes = SIZES | OTHER_SIZES.get(self.kind, {}) | OTHER_SIZES.get(kind, {})
        inside = parameters(f.__init__) if inspect.isclass(f) and self.layer else []
        if any(role(p.name) == "G" for p in inside):
            self.sizes |= OTHER_SIZES["grouped"]
        self.sizes |= asked["sizes"]
        known = LAYOUTS.get(kind, LAYOUTS["attention"])
        self.layouts = [asked["layout"]] if asked["layout"] else known
        self.callee = (Layer if self.layer else Callee)(f, self.sizes, asked["given"])
        self._name_arrays()
        scaled = asked["scale"] is not None and self.right is attend
        self.base = (f"scale = {asked['scale']!r}",) if scaled else ()
        self.own: tuple[str, ...] = self.base  # lines in which it differs from the right function
        self.kept: dict[tuple, tuple] = {}
        self.kept_right: dict[tuple, Any] = {}
        self.errors: list[str] = []

    def _name_arrays(self) -> None:
        """Which arguments are q, k and v, or x for all three; and small tiles."""
        callee, names = self.callee, self.callee.names
        unnamed = [p.name for p in callee.parameters if role(p.name) in ("", "x")]
        one = self.right is attend and not self.layer and "x" in names and "q" not in names
        if one and (other := [name for name in unnamed if name in OTHERS]):
            names["q"], names["k"], callee.tied = names["x"], other[0], "kv"
        elif one and (self.kind == "multihead" or len(unnamed) == 1):
            names["q"], callee.tied = names["x"], "qkv"
        elif not self.layer:
            callee.arrays("".join(self.axes))
        if self.kind == "tiled":
            tiles = {p.name: 3 for p in callee.parameters if role(p.name) == "block"}
            callee.given = tiles | callee.given

    @property
    def mistakes(self) -> list[Mistake]:
        """The mistakes that it may hold."""
        return mistakes(self.right, self.sizes["D"] * self.layer)

    @property
    def square(self) -> bool:
        """Whether it takes as many queries as keys only."""
        return self.right is attend and self.how.sizes["q"] == self.how.sizes["k"]

    @property
    def modes(self) -> list[tuple[How, Band]]:
        """How it is called, plain and causal, and what each hides."""
        return [(self.how, self.band), *([self.flag] if self.flag else [])]

    def ways(self, masked: bool) -> Iterator[How]:
        """Every way to call it, likeliest first; also with a mask that hides nothing."""
        extras: list[dict[str, Any]] = [{"axis": -1} if "axis" in self.callee.names else {}]
        extras += [{"dim": -1}] * self.callee.open
        if any(len(part) > 1 for part in getattr(self.callee, "parts", {})):
            extras = [{"order": order} for order in ORDERS]
        square = {"q": self.sizes["k"]}  # for who wants n_q = n_k, or d_v = d, or all alike
        others = [{}, {"e": 4}, square, {"e": 4} | square, {"e": 4, "q": 4, "k": 4}]
        if self.callee.tied or self.right is softmax:
            others = [{"e": 4} | square] if self.callee.tied else [{}]
            others += [{"e": 4}] * (self.callee.tied == "kv")
        if self.callee.tied and self.kind == "multihead" and not (self.layer or self.told_heads()):
            D = self.sizes["D"]
            others += [sizes | {"H": 1, "G": 1, "d": D, "e": D} for sizes in others]
        others = getattr(self.callee, "others", others)
        only = "torch" if self.callee.is_module else self.asked["framework"]
        for framework in frameworks(self.callee.code, only):
            for other, layout, extra in product(others, self.layouts, extras):
                base = How(framework, layout, self.sizes | other | absent(layout), extra=extra)
                yield base
                yield from self.mask_ways(base) if masked else ()

    def told_heads(self) -> bool:
        """Whether it is told how many heads there are."""
        told = [*self.callee.parameters, *self.callee.inside]
        return any(role(p.name) == "H" or p.name in CONFIGS for p in told)

    @property
    def means_it(self) -> bool:
        """Whether its name, or those of its arguments, say that it is an attention."""
        named = {"q", "k", "v"} <= {role(p.name) for p in self.callee.parameters}
        words = "att|head|dot_?prod|sdpa|tile|flash|group|soft"
        words_fit = re.search(words, self.draft.name.lower())
        return self.right is not attend or self.layer or named or bool(words_fit)

    def mask_ways(self, base: How) -> Iterator[How]:
        """Every kind of mask that may go with a way of calling."""
        forms = [self.asked["mask"]] if self.asked["mask"] else FORMATS
        if re.fullmatch("(position_)?bias", self.callee.names["mask"].lower()):
            forms = [form for form in forms if form.startswith("added")]
        for form, axes in product(forms, MASKS):
            there = all(a in base.layout for a in axes if a in "BH")
            if (form == "lengths") == ("k" not in axes) and there:
                yield replace(base, mask=(axes, form))

    def draw(self, sizes: Sizes, seed: int = 0) -> dict[str, Array]:
        """Random arrays, by role, in our axes."""
        rng = np.random.default_rng(seed)
        arrays = {r: rng.normal(size=[sizes[a] for a in axes]) for r, axes in self.axes.items()}
        return arrays | {r: arrays[self.callee.tied[0]] for r in self.callee.tied}

    def given(self, how: How, arrays: dict[str, Array], see: Any = True) -> dict[str, Any]:
        """What is passed, by role."""
        axes = {r: (self.axes[r], placed(how.layout, self.axes[r])) for r in arrays}
        given = {r: encode(x, *axes[r]) for r, x in arrays.items()}
        if how.mask[0]:
            made = BIASES[how.mask[1]](np.broadcast_to(see, [how.sizes[a] for a in "BHqk"]))
            given["mask"] = encode(made, "BHqk"[: made.ndim], how.mask[0])
        return {r: how.framework[1](x) for r, x in given.items()}

    def run(
        self, how: How, arrays: dict[str, Array], see: Any = True, cast: Callable = lambda x: x
    ) -> Trial | None:
        """Call it once; `see` is what a mask lets see, `cast` is applied to what is passed.

        Returns: None if it fails, or if its answer has no shape that we know
        """
        back = how.framework[2]
        given = {r: cast(x) for r, x in self.given(how, arrays, see).items()}
        kept = {r: np.array(back(x)) for r, x in given.items()}
        self.callee.eye = cast(how.framework[1](np.eye(how.sizes["H"] * how.sizes["d"])))
        try:
            y = self.callee(**given, **how.extra)
            trial = self._read(how, y if isinstance(y, tuple | list) else [y], kept)
            trial.changed.extend(
                r for r, x in kept.items() if not np.array_equal(x, back(given[r]), True)
            )
            return trial
        except Exception as error:
            self.last = said(error)
            self.errors.append(f"with {in_words(placed(how.layout, self.out_axes))}: {self.last}")
            return None

    def _read(self, how: How, y: Sequence, passed: dict[str, Array]) -> Trial:
        """What it returned, in our axes: the first whose shape we know is the answer."""
        if strange := [type(x).__name__ for x in y if isinstance(x, str | bytes | dict | set)]:
            raise ValueError(f"it returned a {strange[0]}")
        outputs = [np.asarray(how.framework[2](x)) for x in y if x is not None]
        for i, x in enumerate(outputs):
            if found := decode(x, self.out_axes, how.sizes, how.layout, self.out):
                others = outputs[:i] + outputs[i + 1 :]
                return Trial(found[0].astype(float), found[1], others, [])
        shapes = " and ".join(str(list(x.shape)) for x in outputs[:3]) or "nothing"
        shapes = f"a list of {len(y)}, {shapes} …" if len(outputs) > 3 else shapes
        given = ", ".join(f"{r} {list(x.shape)}" for r, x in passed.items())
        raise ValueError(f"it returned {shapes} for {given}")

    def case(
        self, how: How, see: Any = True, seed: int = 0, cast: Callable = lambda x: x, **sizes: int
    ) -> tuple[Trial | None, Array | None]:
        """What it gives, and what is right, or wrong in the same way."""
        how = replace(how, sizes=how.sizes | sizes)
        arrays = self.draw(how.sizes, seed)
        return self.run(how, arrays, see, cast), self.expected(arrays, see)

    def differs(self, how: How, see: Any = True, seed: int = 0, **more: Any) -> bool:
        """Whether it runs, and gives something else than `case` says is right."""
        trial, right = self.case(how, see, seed, **more)
        return trial is not None and right is not None and not same(trial, right)

    def answer(self, how: How, seed: int, masked: bool = False) -> tuple[dict, Any, Trial | None]:
        """Arrays, a mask, and what it gives for them; it is called once for each."""
        key = (id(how), seed, masked, self.callee.names.get("mask"))
        if key not in self.kept:
            see = see_some(how, seed) if masked else True
            arrays = self.draw(how.sizes, seed)
            self.kept[key] = (arrays, see, self.run(how, arrays, see), how)
        return self.kept[key][:3]

    def fits(self, how: How, lines: Sequence[str] = (), masked: bool = False) -> bool:
        """Whether it does as the right function with these lines, in three cases."""
        rows = self.band.seen(how.sizes["q"], how.sizes["k"]).any(-1)
        for seed in range(3):
            trial = self.answer(how, seed, masked)[2]
            right = self.right_of(how, seed, lines, masked)
            if trial is None or right is None:
                return False
            if lines and not masked:  # -inf for all of another axis gives NaN: see the other rows
                rows = rows & ~np.isnan(trial.o).any(axis=(0, 1, 3))
            if not rows.any() or not same(trial.o[:, :, rows], right[:, :, rows], nan=masked):
                return False
        return True

    def right_of(
        self, how: How, seed: int, lines: Sequence[str] = (), masked: bool = False
    ) -> Array | None:
        """`expected` for `answer`, kept for the next way of calling with the same sizes."""
        mask = (how.mask[0], how.mask[1] == "lengths") if masked else ()
        key = (*how.sizes.values(), seed, self.band, self.own, *lines, *mask)
        if key not in self.kept_right:
            arrays, see, _ = self.answer(how, seed, masked)
            self.kept_right[key] = self.expected(arrays, see, *lines)
        return self.kept_right[key]

    def expected(self, arrays: dict[str, Array], see: Any = True, *lines: str) -> Array | None:
        """What the right function gives, with the lines that are known to differ, and these."""
        last = list(arrays.values())[:2]
        n_q, n_k = last[0].shape[-2], last[-1].shape[-2 if self.right is attend else -1]
        try:
            right = written(self.right, *self.own, *lines)
            return right(*arrays.values(), see & self.band.seen(n_q, n_k))
        except Exception:  # a mistake that cannot be made with these shapes
            return None
