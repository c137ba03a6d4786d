"""Call a function in one way after another, and compare what it gives with what is right."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.bands import ALL, Band
from attention_src.judge.calls.calling import Callee, role
from attention_src.judge.calls.frameworks import frameworks
from attention_src.judge.calls.layers import ORDERS, Layer
from attention_src.judge.calls.layouts import Array, Sizes, absent, decode, encode, in_words, placed
from attention_src.judge.calls.oracle import Mistake, attend, mistakes, softmax, written
from attention_src.judge.calls.ways import (
    FORMATS,
    LAYOUTS,
    MASKS,
    OTHER_SIZES,
    QKV,
    SIZES,
    How,
    Trial,
    is_layer,
    same,
    see_some,
)
from attention_src.judge.report import Draft


class Trier:
    """A function, and how far we are with it.

    Args:
        f, kind: as `judge` takes them
        draft: where things are noted
        asked: the options of `judge`
    """

    def __init__(self, f: Any, kind: str, draft: Draft, asked: dict[str, Any]) -> None:
        self.kind, self.draft, self.asked = kind, draft, asked
        self.right: Callable = attend
        self.axes, self.out_axes = QKV, "BHqe"
        if kind == "softmax":
            self.right, self.axes, self.out_axes = softmax, {"x": "BHqk"}, "BHqk"
        self.layer = is_layer(f, kind)
        wide = OTHER_SIZES["multihead"] if self.layer else {}
        self.sizes = SIZES | OTHER_SIZES.get(kind, {}) | wide | asked["sizes"]
        known = LAYOUTS.get("multihead" if self.layer else kind, LAYOUTS["attention"])
        self.layouts = [asked["layout"]] if asked["layout"] else known
        self.callee = (Layer if self.layer else Callee)(f, self.sizes, asked["given"])
        names = self.callee.names
        if kind == "multihead" and not self.layer and "x" in names and "q" not in names:
            names["q"], self.callee.tied = names["x"], True
        elif not self.layer:
            self.callee.arrays("".join(self.axes))
        if kind == "tiled":
            tiles = {p.name: 3 for p in self.callee.parameters if role(p.name) == "block"}
            self.callee.given = tiles | asked["given"]
        self.band, self.out, self.last = ALL, "", ""
        scale = asked["scale"]
        self.base: tuple[str, ...] = (
            (f"scale = {scale!r}",) if scale is not None and self.right is attend else ()
        )
        self.own: tuple[str, ...] = self.base  # lines that are known to differ
        self.lines: tuple[str, ...] = self.own  # and those that are tried
        self.kept: dict[tuple, tuple] = {}
        self.kept_right: dict[tuple, Any] = {}
        self.errors: list[str] = []
        self.how: How
        self.masked: How | None = None  # a way to call it with a mask
        self.flag: tuple[How, Band] | None = None  # a way to call it causal, and what that hides

    @property
    def mistakes(self) -> list[Mistake]:
        """The mistakes that it may hold."""
        return mistakes(self.right, self.sizes["D"] * self.layer)

    @property
    def square(self) -> bool:
        """Whether it takes as many queries as keys only."""
        return self.right is attend and self.how.sizes["q"] == self.how.sizes["k"]

    def draw(self, sizes: Sizes, seed: int) -> dict[str, Array]:
        """Random arrays, by role, in our axes."""
        rng = np.random.default_rng(seed)
        arrays = {r: rng.normal(size=[sizes[a] for a in axes]) for r, axes in self.axes.items()}
        return dict.fromkeys(arrays, arrays["q"]) if self.callee.tied else arrays

    def given(self, how: How, arrays: dict[str, Array], see: Any = True) -> dict[str, Any]:
        """What is passed, by role."""
        axes = {r: (self.axes[r], placed(how.layout, self.axes[r])) for r in arrays}
        given = {r: encode(x, *axes[r]) for r, x in arrays.items()}
        if how.mask[0]:
            made = FORMATS[how.mask[1]](np.broadcast_to(see, [how.sizes[a] for a in "BHqk"]))
            given["mask"] = encode(made, "BHqk"[: made.ndim], how.mask[0])
        if "eye" in self.callee.names:
            self.callee.eye = how.framework[1](np.eye(how.sizes["H"] * how.sizes["d"]))
        return {r: how.framework[1](x) for r, x in given.items()}

    def run(
        self, how: How, arrays: dict[str, Array], see: Any = True, cast: Callable = lambda x: x
    ) -> Trial | None:
        """Call it once.

        Args:
            how: the way
            arrays: by role, in our axes
            see: what the mask lets see, [B, H, n_q, n_k]
            cast: is applied to each array that is passed
        Returns: None if it fails, or if its answer has no shape that we know
        """
        back = how.framework[2]
        given = {r: cast(x) for r, x in self.given(how, arrays, see).items()}
        kept = {r: np.array(back(x)) for r, x in given.items()}
        try:
            if "eye" in self.callee.names:
                self.callee.eye = cast(self.callee.eye)
            y = self.callee(**given, **how.extra)
            y = y if isinstance(y, tuple | list) else [y]
            if strange := [type(x).__name__ for x in y if isinstance(x, str | bytes | dict | set)]:
                raise ValueError(f"it returned a {strange[0]}")
            outputs = [np.asarray(back(x)) for x in y if x is not None]
            changed = [r for r, x in kept.items() if not np.array_equal(x, back(given[r]), True)]
            found = [decode(x, self.out_axes, how.sizes, how.layout, self.out) for x in outputs]
            which = next((i for i, x in enumerate(found) if x), -1)
            if which < 0:
                shapes = " and ".join(str(list(x.shape)) for x in outputs) or "nothing"
                passed = ", ".join(f"{r} {list(x.shape)}" for r, x in kept.items())
                raise ValueError(f"it returned {shapes} for {passed}")
            o, layout = found[which]  # type: ignore[misc]
            return Trial(o.astype(float), layout, outputs[:which] + outputs[which + 1 :], changed)
        except Exception as error:
            self.last = f"{type(error).__name__}: {str(error)[:160]}"
            self.errors.append(f"with {in_words(placed(how.layout, self.out_axes))}: {self.last}")
            return None

    def case(
        self,
        how: How,
        see: Any = True,
        seed: int = 0,
        sizes: Sizes | None = None,
        scale: float = 1.0,
        cast: Callable = lambda x: x,
    ) -> tuple[Trial | None, Array | None]:
        """What it gives, and what is right, or wrong in the same way.

        Args:
            how, see, cast: as in `run`
            seed: of the arrays
            sizes: other than how's
            scale: if not 1, queries are so much larger, and rows far apart: one's scores are all
                high, the next one's all low
        """
        how = replace(how, sizes=how.sizes | (sizes or {}))
        arrays = self.draw(how.sizes, seed)
        if scale != 1:
            first = next(iter(arrays))
            arrays = {r: np.abs(x) for r, x in arrays.items()}
            signs = 1 - 2 * (np.arange(how.sizes["q"]) % 2)
            arrays[first] = arrays[first] * scale * signs[:, None]
            arrays = dict.fromkeys(arrays, arrays[first]) if self.callee.tied else arrays
        trial = self.run(how, arrays, see, cast)
        return trial, self.expected(arrays, see & self.seen(how.sizes))

    def fits(self, how: How, made: Sequence[Mistake] = (), masked: bool = False) -> bool:
        """Whether it does as the right function with these mistakes, in three cases."""
        self.lines = (*self.own, *(line for mistake in made for line in mistake.lines))
        name = self.callee.names.get("mask")
        for seed in range(3):
            key = (id(how), seed, masked, name)
            if key not in self.kept:
                see = see_some(how, seed) if masked else True
                arrays = self.draw(how.sizes, seed)
                self.kept[key] = (arrays, see, self.run(how, arrays, see), how)
            arrays, see, trial, _ = self.kept[key]
            if trial is None:
                return False
            right, rows = (
                self.right_of(how, arrays, see, seed, masked),
                self.seen(how.sizes).any(-1),
            )
            if right is None or not same(trial.o[:, :, rows], right[:, :, rows], nan=masked):
                return False
        return True

    def right_of(self, how: How, arrays: dict, see: Any, seed: int, masked: bool) -> Any:
        """`expected`, kept for the next way of calling with the same sizes."""
        mask = (how.mask[0], how.mask[1] == "lengths") if masked else ()
        key = (*how.sizes.values(), seed, self.band, self.lines, *mask)
        if key not in self.kept_right:
            self.kept_right[key] = self.expected(arrays, see & self.seen(how.sizes))
        return self.kept_right[key]

    def expected(self, arrays: dict[str, Array], see: Array) -> Array | None:
        """What the right function gives, with the lines that are known to differ."""
        try:
            return written(self.right, *self.lines)(*arrays.values(), see)
        except Exception:  # a mistake that cannot be made with these shapes
            return None

    def seen(self, sizes: Sizes) -> Array:
        """What a query sees without a mask."""
        return self.band.seen(sizes["q"], sizes["k"])

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
        others = getattr(self.callee, "others", others)
        only = "torch" if self.callee.is_module else self.asked["framework"]
        for framework in frameworks(self.callee.code, only):
            for other, layout, extra in product(others, self.layouts, extras):
                base = How(framework, layout, self.sizes | other | absent(layout), extra=extra)
                yield base
                yield from self.mask_ways(base) if masked else ()

    def mask_ways(self, base: How) -> Iterator[How]:
        """Every kind of mask that may go with a way of calling."""
        forms = [self.asked["mask"]] if self.asked["mask"] else FORMATS
        if re.fullmatch("(position_)?bias", self.callee.names["mask"].lower()):
            forms = [form for form in forms if form.startswith("added")]
        for form, axes in product(forms, MASKS):
            there = all(a in base.layout for a in axes if a in "BH")
            if (form == "lengths") == ("k" not in axes) and there:
                yield replace(base, mask=(axes, form))
