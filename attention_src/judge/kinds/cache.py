"""Caches of keys and values: a text that comes in pieces must come out whole, and stay so."""

import functools
import re
import sys
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import encode, first, frameworks, in_words, running, said
from attention_src.judge.calls.calling import Callee, parameters, role
from attention_src.judge.calls.layers import Layer
from attention_src.judge.calls.ways import ARRAYS, OTHER_SIZES, SIZES, same
from attention_src.judge.kinds.attention import attention
from attention_src.judge.report import WORDS, Draft

ALIKE = SIZES | OTHER_SIZES["multihead"] | {"q": 8, "e": 4}
METHODS = ("update_and_fetch", "update", "append", "insert_kv", "insert", "forward", "__call__")
PIECES = (3, 1, 1, 2, 1)  # eight tokens


def cache(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; the arguments are those of `attention.attention`."""
    several = list(vars(f).values()) if isinstance(f, type) else []
    of_all = [x for x in several if isinstance(x, list | dict)]
    before = [len(x) for x in of_all]
    _of_its_kind(f, draft, asked)
    if [len(x) for x in of_all] != before:
        draft.findings, draft.why = [], ""
        draft.add("caches share a store")


def _of_its_kind(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    inner = getattr(f, "forward", None)
    if asked["cache"] or (inner and _slots(parameters(inner))):
        return _in_pieces(f, asked["cache"], draft, asked)
    methods = [x for x in METHODS if x in dir(f)]
    steps = [x for x in dir(f) if x[0] != "_" and _takes(getattr(f, x), "qkv")]
    if isinstance(f, type) and steps and not methods:
        return _step_by_step(f, steps[0], draft, asked)
    values = np.random.default_rng(0).normal(size=(2, 2, 3, 8, 4))
    whole = dict(zip("kv", values, strict=True))
    libraries = [asked["framework"]] if asked["framework"] else ["torch", "numpy"]
    layouts = [asked["layout"]] if asked["layout"] else ["BHnd", "BnHd", "nBHd"]
    ways = product(methods, libraries, layouts, (True, False))
    call = lambda *way: _fed(f, whole, asked, *way)  # noqa: E731
    for (name, _, layout, _), got in running(draft, ways, call):
        draft.convention |= {"method": f"{name}(k, v)", "layout": in_words(layout)}
        if not got:
            return draft.add("layers share a store")
        return _compare(draft, got, whole, layout)
    draft.why = draft.why or f"It has none of the methods {', '.join(METHODS)}."


def _takes(f: Any, roles: str) -> bool:
    """Whether a method has arguments of these roles."""
    try:
        return {*roles} <= {role(p.name) for p in parameters(f)}
    except (TypeError, ValueError):
        return False


def _step_by_step(f: Any, name: str, draft: Draft, asked: dict) -> None:
    """A cache that answers each token when it comes, as step(q, k, v): an attention of a text."""

    @functools.wraps(getattr(f(), name))
    def whole(**given: Any) -> Any:
        step, n = getattr(f(), name), next(iter(given.values())).shape[-2]
        o = [step(**{r: x[..., i, :] for r, x in given.items()}) for i in range(n)]
        numpy = isinstance(o[0], np.ndarray)
        return np.stack(o, axis=-2) if numpy else sys.modules["torch"].stack(o, dim=-2)

    draft.convention["method"] = f"{name}(q, k, v), a token at a time"
    attention(whole, draft, asked)
    if {*draft.keys()} & {*WORDS}:  # no mistake in the equation explains it
        draft.add("differs from what came")


def _slots(several: list) -> list[str]:
    """The arguments that are a cache."""
    return [p.name for p in several if re.search("cache|past", p.name)]


def _fed(
    f: Any, whole: dict, asked: dict, name: str, library: str, layout: str, many: bool
) -> list[tuple]:
    """What it gives back after each piece: tokens so far, copies, and what later calls may change.

    Zeros go meanwhile into a second cache and into a second layer of the first: neither may share
    its memory. `many` passes all positions of a piece, otherwise its first one.
    """
    (_, to, back), place = next(frameworks(None, library)), layout.replace("n", "k")
    sizes = ALIKE | asked["sizes"]
    caches = [Callee(f, sizes, asked["given"]).f for _ in "12"]
    one, two = (Callee(getattr(made, name), sizes, asked["given"]) for made in caches)
    for method in (one, two):
        method.arrays("kv")
    layers = any(p.name == "layer_idx" for p in one.parameters)
    got, start = [], 0
    for length in PIECES:
        pieces = {r: x[:, :, start : start + length] for r, x in whole.items()}
        new = {r: to(encode(x, "BHkd", place)) for r, x in pieces.items()}
        there = to(np.arange(start, start + length)) if many else start
        one.given = two.given = {"layer_idx": 0} | asked["given"]
        y = one(**new, positions=there)
        for other in (two, one) if layers else (two,):
            other.given = {"layer_idx": int(other is one)} | asked["given"]
            zeros = other(k=0 * new["k"], v=0 * new["v"], positions=there)
            if any(np.any(back(x)) for x in zeros[:2]) and other is one:
                return []
            if any(np.any(back(x)) for x in zeros[:2]):
                return [(start + length, [0 * np.array(back(x)) for x in y[:2]], (back, y[:2]))]
        start += length
        got.append((start, [np.array(back(x)) for x in y[:2]], (back, y[:2])))
    return got


def _compare(draft: Draft, got: list[tuple], whole: dict, layout: str) -> None:
    """Everything that went in comes out, in order."""
    axis, place = layout.index("n"), layout.replace("n", "k")
    for (start, pieces, (back, later)), (n, r) in product(got, enumerate("kv")):
        room = np.arange(min(start, pieces[n].shape[axis]))
        right = encode(whole[r][:, :, :start], "BHkd", place)
        newest = encode(whole["k"][:, :, start - 1 : start], "BHkd", place)
        if r == "v" and same(pieces[n].take(room[-1:], axis), newest):
            return draft.add("keys for values in a cache", start)
        if not same(pieces[n].take(room, axis), right):
            return draft.add("tokens lost or moved", start, ARRAYS[r])
        changed = not np.array_equal(pieces[n], back(later[n]))
        if changed and "older answers change" not in draft.keys("note"):
            draft.add("older answers change")


def _in_pieces(f: Any, make_cache: Any, draft: Draft, asked: dict) -> None:
    """A layer with a cache against itself without, fed token by token and in larger pieces.

    The cache is one that is made, or what the layer hands back beside its answer.
    """
    import torch

    layer = Layer(f, ALIKE | asked["sizes"], asked["given"])
    slots = _slots(layer.parameters)
    if not slots:
        draft.why = "No argument of the layer is called cache or past: nobody knows where it goes."
        return
    x = torch.randn(2, 8, layer.sizes["D"], dtype=torch.float64)
    for pieces, what in (([1] * 8, "token by token"), (list(PIECES), "in pieces")):
        answers: list[Any] = []
        store = make_cache() if make_cache else None
        with torch.no_grad():
            for part in x.split(pieces, dim=1):
                try:
                    y = layer.f(part, **{slots[0]: store})
                except Exception as error:
                    if make_cache or not isinstance(store, tuple) or len(store) != 2:
                        raise  # it may want another cache
                    return draft.add("fails token by token", len(answers), said(error))
                answers.append(first(y))
                if make_cache is None and isinstance(y, tuple | list) and len(y) == 2:
                    store = y[1]  # it hands back what it keeps
            off = torch.cat(answers, dim=1) - first(layer.f(x))
        wrong = off.abs().amax(dim=(0, 2)).gt(1e-6).nonzero()
        if len(wrong):
            draft.add(f"differs {what}", int(wrong[0]))
        else:
            draft.convention[what] = "the same as at once"
    if not draft.keys() and make_cache is None:
        attention(f, draft, asked)
