"""What a function must keep to that gives right values on ordinary input.

Each check takes a `Trier` that knows how the function is called, and adds what it finds.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import decode
from attention_src.judge.calls.calling import role
from attention_src.judge.calls.oracle import attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ALL, ARRAYS, CAUSAL, How, same, see_some
from attention_src.judge.checks.precise import (
    gradients,
    masked_gradients,
    masked_precision,
    precision,
)
from attention_src.judge.checks.tiles import memory, tile_mistake

VIEWS: dict[str, Callable] = {  # the same numbers, in another order in memory
    "numpy": np.asfortranarray,
    "torch": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1) if x.ndim else x,
}
LENGTHS = [(1, 1), (1, 6), (6, 1), (4, 4), (8, 8), (13, 13), (130, 130)]  # queries and keys
ASKED = r"(output|return|need)_(\w*_)?(weights|attentions?|attn|scores)"


def _hows(t: Trier, seed: int) -> Iterator[tuple[How, Any]]:
    """The function without a mask, and with one."""
    yield t.how, True
    if t.masked:
        yield t.masked, see_some(t.masked, seed)


def the_same_twice(t: Trier) -> None:
    """What it gave at first it gives again, after other arrays and masks."""
    for how in filter(None, (t.masked, t.how)):
        arrays, see, before = t.answer(how, 0, how is t.masked)
        if not same(t.run(how, arrays, see), before, nan=True):
            return t.draft.add("not the same twice")


def corner(t: Trier) -> None:
    """A causal function with more keys than queries: which key does the last query see?"""
    if not t.square and any(band.first for _, band in t.modes):
        t.draft.add("diagonal from the top left")


def other_axis(t: Trier) -> None:
    """A softmax obeys the axis that it is given."""
    name = next((x for x in ("axis", "dim") if x in t.how.extra), "")
    if t.kind == "softmax" and name:
        x = t.draw(t.how.sizes)["x"]
        trial = t.run(replace(t.how, extra={name: 0}), {"x": x})
        axis = "BHqk".index(t.how.layout[0])
        right = t.expected({"x": x.swapaxes(axis, -1)})
        if trial and right is not None and not same(trial, right.swapaxes(axis, -1)):
            t.draft.add("axis ignored", name)


def weights(t: Trier) -> None:
    """Weights that are returned beside the output are those that were used."""
    how, see = list(_hows(t, 1))[-1]
    arrays = t.draw(how.sizes)
    trial = t.run(how, arrays, see)
    for other in trial.others if trial and t.right is attend else []:
        if found := decode(other, "BHqk", how.sizes, how.layout):
            if not same(found[0], t.expected(arrays, see, "return p")):
                return t.draft.add("other weights")
            t.draft.convention["weights"] = "returned as they were used"
        elif found := decode(other[..., None], "BHq1", how.sizes | {"1": 1}, how.layout):
            lse: Any = t.expected(arrays, see, "return np.log(l) + m")
            if not same(found[0], lse):
                two = same(found[0], lse / np.log(2))
                t.draft.add("log-sum-exp in base 2" if two else "log-sum-exp")


def asked_for_weights(t: Trier) -> None:
    """Who asks for the weights gets the same output."""
    for p in t.callee.parameters:
        if re.fullmatch(ASKED, p.name) and p.default in (True, False):
            given = t.callee.given
            t.callee.given = given | {p.name: not p.default}
            if t.differs(t.how):
                t.draft.add("other output with weights", f"{p.name}={not p.default}")
            t.callee.given = given


def nothing_to_see(t: Trier) -> None:
    """A query that may see nothing: 0, and never a NaN that reaches others."""
    if not t.masked or "q" not in t.masked.mask[0] or "-1e9" in t.masked.mask[1]:
        return
    see = np.array(see_some(t.masked, 2))
    see[:, :, 1] = False
    trial, right = t.case(t.masked, see)
    if trial is None or right is None:
        return
    if not same(np.delete(trial.o, 1, axis=2), np.delete(right, 1, axis=2)):
        t.draft.add("an empty row spoils others")
        return
    row, nan = trial.o[:, :, 1], bool(np.isnan(trial.o[:, :, 1]).any())
    gives = "NaN" if nan else "an average" if row.any() else "0"
    t.draft.convention["an empty row gives"] = gives
    if gives != "0":
        t.draft.add("NaN in an empty row" if nan else "an empty row sees all")


def hidden_nan(t: Trier) -> None:
    """What a NaN does in keys and values that nobody may see: a choice, so it is only told."""
    if t.masked and t.right is attend and not t.callee.tied:
        see = np.array(see_some(t.masked, 3))
        see[..., -1], see[..., 0] = False, True
        arrays = t.draw(t.masked.sizes, 3)
        arrays["k"][:, :, -1] = arrays["v"][:, :, -1] = np.nan
        if trial := t.run(t.masked, arrays, see):
            hidden = np.isfinite(trial.o).all()
            said = "stays hidden" if hidden else "reaches the answer"
            t.draft.convention["NaN in a hidden value"] = said


def large_scores(t: Trier) -> None:
    """Scores of 10^4 and rows far apart: one's are all high, the next one's all low."""
    for how, see in _hows(t, 5):
        arrays = {r: np.abs(x) for r, x in t.draw(how.sizes, 5).items()}
        signs = 1 - 2 * (np.arange(how.sizes["q"]) % 2)
        first = next(iter(arrays))
        large = 3000 * signs[:, None] * arrays[first]
        arrays |= dict.fromkeys(arrays if "q" in t.callee.tied else [first], large)
        trial, right = t.run(how, arrays, see), t.expected(arrays, see)
        if trial is None and "OverflowError" in t.last:
            return t.draft.add("no maximum subtracted")
        if trial and right is not None and not same(trial, right, 1e-3):
            finite = np.isfinite(trial.o).all()
            return t.draft.add("large scores" if finite else "no maximum subtracted")


def side_effects(t: Trier) -> None:
    """Nothing is written into what was passed."""
    for how, see in _hows(t, 4):
        trial = t.case(how, see, 4)[0]
        if trial and trial.changed:
            names = " and ".join(t.callee.names[r] for r in sorted(trial.changed))
            return t.draft.add("in-place change", names)


def strides(t: Trier) -> None:
    """Arrays that are views, as a transposed projection is."""
    if view := VIEWS.get(t.how.framework[0]):
        if t.case(t.how, cast=view)[0] is None:
            t.draft.add("needs contiguous arrays", t.last)
        elif t.differs(t.how, cast=view):
            t.draft.add("ignores strides")


def lengths(t: Trier) -> None:
    """One query, one key, and lengths that no tile divides; causal too, if it can be."""
    by_itself = t.band
    modes = t.modes if t.right is attend else []
    for how, t.band in modes:
        for n_q, n_k in LENGTHS:
            if (t.square and n_q != n_k) or (t.band != ALL and n_q > n_k):
                continue
            trial, right = t.case(how, q=n_q, k=n_k)
            if trial is None:
                t.draft.add("fails at some lengths", n_q, n_k, t.last)
                break
            if right is not None and not same(trial, right):
                off = f"{np.abs(trial.o - right).max():.2g}"
                key = "some lengths" if how is t.how else "causal at some lengths"
                if t.kind == "tiled" and how is t.how:
                    key = "tiles not joined" if n_k > 8 else key
                    longer = how.sizes | {"q": max(n_q, 13), "k": max(n_k, 13)}
                    if tile_mistake(t, [replace(how, sizes=longer)]):
                        break
                t.draft.add(key, n_q, n_k, off)
                break
    t.band = by_itself


def layer(t: Trier) -> None:
    """A layer's own projections, and all of it."""
    t.callee.check(t)


def of_matrices(t: Trier) -> None:
    """Matrices W_q to W_o of its arguments or attributes: each is multiplied by what it is for."""
    names = t.callee.matrices
    if not names or t.layer:
        return None
    if {*names} - {*"qkvo", "qkv"}:
        t.draft.why = f"Nobody can guess what the matrices {', '.join(names.values())} are for."
        return None
    H, D, arrays = t.how.sizes["H"], t.how.sizes["H"] * t.how.sizes["d"], t.draw(t.how.sizes)
    w = {r: np.random.default_rng(i).normal(size=(D, D)) / D**0.5 for i, r in enumerate("qkvo")}
    w |= {r: np.eye(D) for r in "qkv" if r not in "".join(names)}
    values = {name: np.hstack([w[r] for r in part]) for part, name in names.items()}
    t.callee.put({name: t.how.framework[1](x) for name, x in values.items()})
    trial = t.run(t.how, arrays)
    joined = lambda o: o.swapaxes(1, 2).reshape(len(o), o.shape[2], D)  # noqa: E731
    cut = lambda y: y.reshape(*y.shape[:2], H, -1).swapaxes(1, 2)  # noqa: E731
    ends = {"": w["o"], "W_O not used": np.eye(D), "W_O transposed": w["o"].T}
    ends["projected twice"] = w["o"] @ w["o"]
    ends = ends if "o" in names else {"": np.eye(D)}
    ways = sorted(product("qkv", repeat=3), key=lambda made: made != ("q", "k", "v"))
    for made, (key, out), turned in product(ways, ends.items(), (False, True)):
        pairs = [*zip("qkv", made, strict=True)]
        heads = [cut(joined(arrays[r]) @ (w[m].T if turned else w[m])) for r, m in pairs]
        o: Any = t.expected(dict(zip("qkv", heads, strict=True)))
        if not same(trial, cut(joined(o) @ (out.T if turned else out))):
            continue
        wrong = next((pair for pair in pairs if len({*pair}) > 1), None)
        if key:
            t.draft.add(key, names["o"])
        elif wrong and "qkv" not in names:
            t.draft.add("wrong projection", names[wrong[1]], ARRAYS[wrong[0]], names[wrong[0]])
        elif len({*made}) < 3:
            t.draft.add("parts of one projection", names["qkv"])
        return None
    return t.draft.add("matrices", ", ".join(names.values())) if trial else None


def not_tried(t: Trier) -> None:
    """Arguments that keep their defaults, or got a number, because nobody knows them."""
    windows = t.band not in (ALL, *CAUSAL)
    known = [*(x for r, x in t.callee.names.items() if r), *t.callee.masks, *t.callee.given]
    left = [p.name for p in t.callee.parameters if p.name not in known and not role(p.name)]
    left = [
        x
        for x in left
        if not re.fullmatch(f"device|dtype|{ASKED}", x) and not (windows and "window" in x)
    ]
    if left:
        t.draft.add("not tried", " and ".join(left))


CHECKS = [the_same_twice, corner, other_axis, weights, asked_for_weights, nothing_to_see]
CHECKS += [hidden_nan, large_scores, side_effects, strides, lengths, memory]
CHECKS += [masked_precision, precision, gradients, masked_gradients, layer, of_matrices, not_tried]
