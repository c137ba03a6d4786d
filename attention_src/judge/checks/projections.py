"""A layer as a whole, its own projections included: what feeds what, W_O, and later tokens.

The hooks of `layers` pass the projections by; here it runs as it is.
"""

import re
from contextlib import ExitStack, suppress
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.bands import ALL
from attention_src.judge.calls.calling import role
from attention_src.judge.calls.frameworks import first
from attention_src.judge.calls.layers import Layer
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ARRAYS, How, same

# A projection by its plain name: another, as k_cross, may be for what was not asked here.
PROJECTION = r"((w|to|fc|lin\w*|proj\w*) )*(w?[qkv]|query|queries|keys?|values?)( (lin|proj)\w*)*"


def of_modules(t: Trier) -> None:
    """The projections of a layer whose core is right, and all of it."""
    layer = t.callee
    if not isinstance(layer, Layer):
        return None
    xs = _inputs_for(layer, t.how)
    try:
        seen, twice, y = _watched(layer, xs)
    except Exception:  # it ran with our numbers, and does not with its own
        return None
    if twice:
        return t.draft.add("projected twice", layer.module_names[twice[0]])
    _unused(t, layer, y)
    if layer.cross:
        _fed(t, layer, xs, seen)
    if layer.last is None and layer.parts and t.how.sizes["H"] > 1 and not t.draft.keys():
        t.draft.add("no output projection")
    if not layer.cross and "n" in t.how.layout and y.shape[:-1] == xs[0].shape[:-1]:
        _whole(t, layer, xs[0], y)
    return None


def unused(t: Trier) -> bool:
    """Whether a layer whose core is not right has projections that do nothing; adds them."""
    layer = t.callee
    if isinstance(layer, Layer):
        with suppress(Exception):
            xs = [_random(layer, [*layer.lead], seed) for seed in range(3)]
            _unused(t, layer, _watched(layer, xs)[-1])
    return bool(t.draft.keys())


def _inputs_for(layer: Layer, how: How) -> list:
    lead = [how.sizes[a] for a in how.layout.partition("(")[0].replace("n", "k")]
    return [_random(layer, lead, seed) for seed in range(3)]


def _random(layer: Layer, lead: list[int], seed: int) -> Any:
    made = layer.torch.Generator().manual_seed(seed)
    shape = (*lead, layer.sizes["D"])
    return layer.torch.randn(shape, generator=made, dtype=layer.torch.float64)


def _watched(layer: Layer, xs: list) -> tuple[dict[Any, tuple], list, Any]:
    """What went into and came out of each module, which took its own answer, and the answer."""
    seen: dict[Any, tuple] = {}
    twice: list[Any] = []

    def watch(m: Any, i: tuple, o: Any) -> None:
        twice.extend([m] * (m in seen and i[0].equal(seen[m][1])))
        seen[m] = (i[0], o)

    with ExitStack() as hooks:
        for m in layer.natural:
            hooks.enter_context(m.register_forward_hook(watch))
        return seen, twice, first(layer.forward([x.clone() for x in xs], {}))


def _unused(t: Trier, layer: Layer, y: Any) -> None:
    """Modules that were made and do nothing: no gradient reaches their weights."""
    if not y.requires_grad:
        return None
    layer.f.zero_grad()
    y.pow(2).sum().backward()
    idle = [m for m in layer.linear if m.weight.grad is None or not m.weight.grad.any()]
    like = {re.sub(r"\d", "", layer.module_names[m]) for m in layer.natural}
    for m in (m for m in idle if m not in layer.natural):
        name = layer.module_names.get(m, "a projection")
        words = name.lower().replace("_", " ").replace(".", " ")
        if re.search(r"\d", name) and re.sub(r"\d", "", name) in like:
            return t.draft.add("heads not used", name)
        if re.fullmatch(PROJECTION, words):
            t.draft.add("a projection not used", name)
        elif layer.last is None and re.search(r"out|proj|\bw?o\b|fc", words):
            t.draft.add("W_O not used", name)
    return None


def _fed(t: Trier, layer: Layer, xs: list, seen: dict) -> None:
    """Queries are made of the first input, keys and values of the others."""
    given = dict(zip("qkv", xs, strict=True))
    for part, m in ((part, m) for part, modules in layer.parts.items() for m in modules):
        if part in given and m in seen and seen[m][0].shape == given[part].shape:
            fed = next((r for r, x in given.items() if seen[m][0].equal(x)), part)
            if fed != part:
                ours, theirs = (f"the {ARRAYS[r]}' input" for r in (part, fed))
                t.draft.add("wrong input", layer.module_names[m], theirs, ours)


def _whole(t: Trier, layer: Layer, x: Any, y: Any) -> None:
    """Texts stay apart, and no answer of a layer that hides the future depends on it."""
    axis, near = t.how.layout.index("n"), layer.torch.allclose
    other, n = _random(layer, list(x.shape[:-1]), 9), x.shape[axis]

    def changed(along: int, at: int) -> Any:
        """What it gives if all from that place on is other."""
        z, length = x.clone(), x.shape[along] - at
        z.narrow(along, at, length).copy_(other.narrow(along, at, length))
        return first(layer.forward([z], {})).narrow(along, 0, at)

    if "B" in t.how.layout:
        batch = t.how.layout.index("B")
        if not near(changed(batch, 1), y.narrow(batch, 0, 1)):
            t.draft.add("other mixing")
    if t.band == ALL or t.band.ahead != 0:
        return None
    begins = y.narrow(axis, 0, n // 2)
    if not near(changed(axis, n // 2), begins):
        return t.draft.add("other leak", n // 2 - 1)
    with suppress(Exception):  # a layer for texts of one length
        alone = first(layer.forward([x.narrow(axis, 0, n // 2)], {}))
        if not near(alone, begins):
            t.draft.add("a cut text differs", n // 2)
    return None


def of_arguments(t: Trier) -> None:
    """Matrices that are arguments, W_q to W_o: each is multiplied by what it is for."""
    matrices = [p.name for p in t.callee.parameters if role(p.name) == "eye"]
    names = {name.lower().removeprefix("w").strip("_")[0]: name for name in matrices}
    if len(names) != 4 or not t.callee.tied or "(Hd)" not in t.how.layout:
        return
    H, D, x = t.how.sizes["H"], t.how.sizes["H"] * t.how.sizes["d"], t.draw(t.how.sizes)["q"]
    w = {r: np.random.default_rng(i).normal(size=(D, D)) / D**0.5 for i, r in enumerate("qkvo")}
    given = t.callee.given
    t.callee.given = given | {names[r]: t.how.framework[1](w[r]) for r in w}
    trial = t.run(t.how, dict.fromkeys("qkv", x))
    t.callee.given = given
    joined = lambda o: o.swapaxes(1, 2).reshape(len(o), o.shape[2], D)  # noqa: E731
    cut = lambda y: y.reshape(*y.shape[:2], H, -1).swapaxes(1, 2)  # noqa: E731
    ends = {"": w["o"], "W_O not used": np.eye(D), "W_O transposed": w["o"].T}
    for made, (key, out), turned in product(product("qkv", repeat=3), ends.items(), (False, True)):
        heads = [cut(joined(x) @ (w[r].T if turned else w[r])) for r in made]
        o: Any = t.expected(dict(zip("qkv", heads, strict=True)))
        if not same(trial, cut(joined(o) @ (out.T if turned else out))):
            continue
        wrong = next((pair for pair in zip("qkv", made, strict=True) if len({*pair}) > 1), None)
        if key:
            t.draft.add(key, names["o"])
        elif wrong:
            t.draft.add("wrong projection", names[wrong[1]], ARRAYS[wrong[0]], names[wrong[0]])
        return


CHECKS = [of_modules, of_arguments]
