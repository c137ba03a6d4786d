"""A layer as a whole, its own projections included: what feeds what, W_O, and later tokens.

The hooks of `layers` pass the projections by; here it runs as it is.
"""

import re
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.bands import ALL
from attention_src.judge.calls.calling import role
from attention_src.judge.calls.layers import Layer
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import same

ROLE_NAMES = {"q": "queries", "k": "keys", "v": "values"}
ROLE_WORDS = {"q": "the queries' input", "k": "the keys' input", "v": "the values' input"}


def judge(t: Trier) -> None:
    """Add what is wrong with a layer whose core is right."""
    layer = t.callee
    assert isinstance(layer, Layer)
    lead = [t.how.sizes[a] for a in t.how.layout.partition("(")[0].replace("n", "k")]
    xs = [_random(layer, lead, seed) for seed in range(3)]
    try:
        seen, y = _watched(layer, xs)
    except Exception:  # it ran with our numbers, and does not with its own
        return
    _unused(t, layer, xs)
    if layer.cross:
        _inputs(t, layer, xs, seen)
    _last(t, layer, xs, seen, y)
    if not layer.cross and "n" in t.how.layout:
        _whole(t, layer, xs[0])


def _random(layer: Layer, lead: list[int], seed: int) -> Any:
    made = layer.torch.Generator().manual_seed(seed)
    shape = (*lead, layer.sizes["D"])
    return layer.torch.randn(shape, generator=made, dtype=layer.torch.float64)


def _first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple | list) else out


def _run(layer: Layer, xs: list) -> Any:
    with layer.torch.no_grad():
        return _first(layer.forward([x.clone() for x in xs], {}))


def _watched(layer: Layer, xs: list) -> tuple[dict[Any, tuple], Any]:
    """What went into and came out of each module, and the answer."""
    seen: dict[Any, tuple] = {}
    hooks = [
        m.register_forward_hook(lambda m, i, o: seen.update({m: (i[0], o)})) for m in layer.natural
    ]
    try:
        return seen, _run(layer, xs)
    finally:
        for hook in hooks:
            hook.remove()


def _unused(t: Trier, layer: Layer, xs: list) -> None:
    """Modules that were made and do nothing: no gradient reaches their weights."""
    layer.f.zero_grad()
    y = _first(layer.forward([x.clone() for x in xs], {}))
    if not y.requires_grad:
        return
    y.pow(2).sum().backward()
    used = {m for m in layer.linear if m.weight.grad is not None and m.weight.grad.any()}
    for m in layer.linear:
        if m not in used and m not in layer.natural:
            name = layer.module_names.get(m, "a projection")
            words = name.lower().replace("_", " ").replace(".", " ").split()
            if any(re.fullmatch("w?[qkv]|query|key|value", word) for word in words):
                t.draft.add("a projection not used", name)
            elif layer.last is None and re.search(r"out|proj|\bw?o\b|fc", " ".join(words)):
                t.draft.add("W_O not used", name)


def _inputs(t: Trier, layer: Layer, xs: list, seen: dict) -> None:
    """Queries are made of the first input, keys and values of the others."""
    given = dict(zip("qkv", xs, strict=True))
    for part, modules in layer.parts.items():
        for m in modules:
            if len(part) != 1 or m not in seen or seen[m][0].shape != given[part].shape:
                continue
            fed = next((r for r, x in given.items() if seen[m][0].equal(x)), part)
            if fed != part:
                name = layer.module_names[m]
                t.draft.add("wrong input", name, ROLE_WORDS[fed], ROLE_WORDS[part])


def _last(t: Trier, layer: Layer, xs: list, seen: dict, y: Any) -> None:
    """The answer is what the last projection gave."""
    if layer.last is None:
        if (
            layer.parts
            and t.how.sizes["H"] > 1
            and "W_O not used" not in [x.key for x in t.draft.findings]
        ):
            t.draft.add("no output projection")
        return
    out = seen.get(layer.last, (0, y))[1]
    near = layer.torch.allclose
    if out.shape == y.shape and not near(out, y):
        residual = any(near(out + x, y) for x in xs if x.shape == out.shape)
        t.draft.add("more behind W_O", "it adds its input" if residual else "something")


def _whole(t: Trier, layer: Layer, x: Any) -> None:
    """Texts stay apart, and no answer of a layer that hides the future depends on it."""
    axis, y, other = (
        t.how.layout.index("n"),
        _run(layer, [x]),
        _random(layer, list(x.shape[:-1]), 9),
    )
    near = layer.torch.allclose
    if y.shape[:-1] != x.shape[:-1]:
        return
    if "B" in t.how.layout and len(x.shape) == 3:
        batch = t.how.layout.index("B")
        changed = x.clone()
        changed.select(batch, 1).copy_(other.select(batch, 1))
        if not near(_run(layer, [changed]).select(batch, 0), y.select(batch, 0)):
            t.draft.add("other mixing")
    n = x.shape[axis]
    if t.band == ALL or t.band.ahead != 0:
        return
    changed, at = x.clone(), n // 2
    changed.narrow(axis, at, n - at).copy_(other.narrow(axis, at, n - at))
    if not near(_run(layer, [changed]).narrow(axis, 0, at), y.narrow(axis, 0, at)):
        t.draft.add("other leak", at - 1)
        return
    _cut(t, layer, x, y, axis)
    _by_gradient(t, layer, x, axis)


def _cut(t: Trier, layer: Layer, x: Any, y: Any, axis: int) -> None:
    """The first tokens alone give what they give in a longer text."""
    at = x.shape[axis] // 2
    try:
        alone = _run(layer, [x.narrow(axis, 0, at)])
    except Exception:  # texts of one length only: found elsewhere
        return
    if not layer.torch.allclose(alone, y.narrow(axis, 0, at)):
        t.draft.add("a cut text differs", at)


def _by_gradient(t: Trier, layer: Layer, x: Any, axis: int) -> None:
    """No gradient reaches later tokens, not even where the numbers happen to agree."""
    at = x.shape[axis] // 2
    x = x.clone().requires_grad_()
    y = _first(layer.forward([x], {}))
    if not y.requires_grad:
        return
    y.narrow(axis, 0, at).pow(2).sum().backward()
    later = x.grad.narrow(axis, at, x.shape[axis] - at)
    if bool(later.abs().max() > 1e-9):
        t.draft.add("other leak", at - 1)


def of_arguments(t: Trier) -> None:
    """Matrices that are arguments, W_q to W_o: each is multiplied by what it is for."""
    matrices = [p.name for p in t.callee.parameters if role(p.name) == "eye"]
    names = {name.lower().removeprefix("w").strip("_")[0]: name for name in matrices}
    D, arrays = t.how.sizes["H"] * t.how.sizes["d"], t.draw(t.how.sizes, 0)
    if len(names) != 4 or not t.callee.tied or "(Hd)" not in t.how.layout:
        return
    w = {r: np.random.default_rng(i).normal(size=(D, D)) / D**0.5 for i, r in enumerate("qkvo")}
    given = t.callee.given
    t.callee.given = given | {names[r]: t.how.framework[1](w[r]) for r in w}
    trial, x = t.run(t.how, arrays), arrays["q"]
    t.callee.given = given
    flat = x.swapaxes(1, 2).reshape(len(x), x.shape[2], D)

    def right(q: str, k: str, v: str, out: np.ndarray, turned: bool) -> np.ndarray:
        """The answer with these matrices, or with all of them transposed."""
        made = [flat @ (w[r].T if turned else w[r]) for r in (q, k, v)]
        heads = [y.reshape(*y.shape[:2], x.shape[1], -1).swapaxes(1, 2) for y in made]
        o = t.expected(dict(zip("qkv", heads, strict=True)), t.seen(t.how.sizes))
        o = o.swapaxes(1, 2).reshape(flat.shape) @ (out.T if turned else out)  # type: ignore[union-attr]
        return o.reshape(*o.shape[:2], x.shape[1], -1).swapaxes(1, 2)

    t.lines = t.own
    ends = {"": w["o"], "W_O not used": np.eye(D), "W_O transposed": w["o"].T}
    for (q, k, v), (key, out), turned in product(
        product("qkv", repeat=3), ends.items(), (False, True)
    ):
        if trial and same(trial, right(q, k, v, out, turned)):
            if key:
                t.draft.add(key, names["o"])
            elif (q, k, v) != ("q", "k", "v"):
                wrong = next(r for r, used in zip("qkv", (q, k, v), strict=True) if r != used)
                used = {"q": q, "k": k, "v": v}[wrong]
                t.draft.add("wrong projection", names[used], ROLE_NAMES[wrong], names[wrong])
            return
