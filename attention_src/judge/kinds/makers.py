"""Functions that make a mask, of the future, a window or padding, or that repeat key heads."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import Convert, encode, frameworks, in_words, running
from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.ways import CAUSAL, INF, MISTAKEN, OTHER_SIZES, SIZES, Band, window
from attention_src.judge.checks.masks import FUTURE
from attention_src.judge.report import Draft

WINDOW = 3
NUMBERS: list[list] = [[5, 7], [7], [7, WINDOW], [7, 7, WINDOW, 0]]  # n_q, n_k, window, sinks
NUMBERS += [[np.ones((1, 7), int)]]  # or tokens


def mask(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; the arguments are those of `attention.attention`."""
    callee = Callee(f, SIZES | {"B": 1, "H": 1, "G": 1} | asked["sizes"], asked["given"])
    made = list(_called(callee, draft, asked, NUMBERS))  # a table if there is one
    y = next((y for y in made if y.shape[-1:] == (7,)), made[-1] if made else None)
    if (y is None or y.ndim != 2) and _padding(callee, draft, asked):
        return
    if y is None or y.ndim != 2:
        draft.why = draft.why or f"It returned {'nothing' if y is None else list(y.shape)}."
        return
    readings = _readings(y)
    readings = {k: v for k, v in readings.items() if (asked["mask"] or k).startswith(k[:9])}
    for wrong, (form, see) in product((False, True), readings.items()):
        if band := _band(see, wrong):
            pattern = band.name.partition(" (")[0] if see.shape[0] == see.shape[1] else band.name
            if wrong:
                draft.add(band.name, f"Read as “{form}”: ", case=str(y.astype(float) + 0))
            else:
                draft.convention |= {"gives": str([*y.shape]), "mask": form, "pattern": pattern}
            if band.back == WINDOW:
                draft.add("window and one more", WINDOW + 1, WINDOW)
            return
    if np.isnan(y.astype(float)).any():
        draft.add("NaN in a mask")
    elif re.search(f"{FUTURE}|window", draft.name.lower()):
        nothing = bool((y == y.flat[0]).all())
        draft.add("not causal" if nothing else "no such mask", case=str(y.astype(float) + 0))
    else:
        draft.why = "It is neither a causal mask nor a window, in any reading."


def _readings(y: np.ndarray) -> dict[str, np.ndarray]:
    """What may be seen, in each convention in which a mask may be meant."""
    if y.dtype.kind == "f" and y.min() < -1:
        return {"added to the scores": y == 0}
    return {"True = may attend": y == 1, "True hides": y == 0}


def _band(see: np.ndarray, wrong: bool) -> Band | None:
    """The band that it is, right or wrong, or the window."""
    bands = MISTAKEN if wrong else CAUSAL
    if found := next((band for band in bands if np.array_equal(band.seen(*see.shape), see)), None):
        return found
    if wrong:  # a window, but for its own key, with one key more, or turned round
        away = np.arange(see.shape[1]) - np.arange(see.shape[0])[:, None]
        near = {0: see | (away == 0), 1: see & (away != 1), 2: see.T}
        alike = (i for i, x in near.items() if (see != x).any() and _band(x, False))
        return next((MISTAKEN[i] for i in alike), None)
    band = window(see)
    if band is None or band.ahead not in (0, INF, band.back) or not see.diagonal().all():
        return None
    return band if 0 < band.back < len(see) - 1 else None


def _padding(callee: Callee, draft: Draft, asked: dict[str, Any]) -> bool:
    """Judge what makes a mask of lengths or of tokens; False if it does not."""
    lengths = np.array([[4], [5]])
    see = np.arange(7) < lengths
    first = next((p.name for p in callee.parameters if p.default is p.empty), "")
    pads = [p for p in callee.parameters if "pad" in p.name]
    pad = next((p.default for p in pads if type(p.default) is int), 0)
    tokens = np.where(see, pad + 1 + np.arange(7), pad)
    numbers: list[list] = [[tokens], [tokens, pad]] if pads or "pad" in draft.name else []
    numbers = [[lengths[:, 0], 7], [lengths[:, 0]]] if "len" in first else numbers
    tables = {"": see, "one key more": np.arange(7) < lengths + 1}
    tables |= {"one key less": np.arange(7) < lengths - 1, "mask of the first text": see[[0, 0]]}
    for y in _called(callee, draft, asked, numbers):
        if y.shape != see.shape:
            continue
        for (form, seen), (key, table) in product(_readings(y).items(), tables.items()):
            if np.array_equal(seen, table):
                draft.convention |= {"gives": str([*y.shape]), "mask": form, "pattern": "padding"}
                if key:
                    draft.add(key)
                return True
        draft.add("hides other than padding", case=str(y.astype(float) + 0))
        return True
    return False


def _called(
    callee: Callee, draft: Draft, asked: dict[str, Any], numbers: list[list]
) -> Iterator[np.ndarray]:
    """What it gives for each row of arguments that is long enough, in each framework."""
    required = [p for p in callee.parameters if p.default is p.empty]
    names = [p.name for p in required if p.name not in ("device", "dtype", *asked["given"])]

    def call(framework: Convert, values: list) -> np.ndarray:
        made = [x if type(x) is int else framework[1](x) for x in values]
        callee.given = asked["given"] | dict(zip(names, made, strict=True))
        return np.squeeze(framework[2](callee()))

    fitting = [values for values in numbers if len(values) == len(names)]
    ways = product(frameworks(callee.code, asked["framework"]), fitting)
    yield from (y for _, y in running(draft, ways, call))


def repeater(f: Any) -> Callee | None:
    """How to call it, if it takes an array and how often its heads are repeated."""
    if isinstance(f, type) or hasattr(f, "parameters"):
        return None
    callee = Callee(f, SIZES | OTHER_SIZES["grouped"], {})
    return callee if "repeats" in callee.names and "q" not in callee.names else None


def repeats(callee: Callee, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it: each head beside itself, 0 0 1 1 2 2; the other arguments are `attention`'s."""
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 4))
    tables = {"": np.repeat(x, 2, axis=1), "keys shared in turns": np.tile(x, (1, 2, 1, 1))}
    callee.given = {callee.names["repeats"]: 2} | asked["given"]
    callee.arrays("x")
    layouts = [asked["layout"]] if asked["layout"] else ["BHnd", "BnHd", "Hnd"]
    ways = product(frameworks(callee.code, asked["framework"]), layouts)
    call = lambda to, layout: to[2](callee(x=to[1](encode(x, "BHnd", layout))))  # noqa: E731
    ran = list(running(draft, ways, call))
    for ((framework, layout), y), (key, table) in product(ran, tables.items()):
        if np.array_equal(y, encode(table, "BHnd", layout)):
            draft.convention |= {"framework": framework[0], "layout": in_words(layout)}
            return draft.add(key) if key else None
    if ran:
        draft.add("heads not repeated", case=f"[2, 3, 8, 4] and 2 give {[*ran[0][1].shape]}")
