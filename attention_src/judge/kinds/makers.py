"""Functions that make a mask: of the future, of a window, or what is wrong with them."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.bands import CAUSAL, MISTAKEN, Band, window
from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.frameworks import Convert, frameworks, running
from attention_src.judge.calls.ways import SIZES
from attention_src.judge.checks.masks import FUTURE
from attention_src.judge.report import Draft

WINDOW = 3
NUMBERS: list[list] = [[5, 7], [7], [7, WINDOW], [7, 7, WINDOW, 0]]  # n_q, n_k, window, sinks
NUMBERS += [[np.ones((1, 7), int)]]  # or tokens


def mask(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; the arguments are those of `attention.attention`."""
    callee = Callee(f, SIZES | {"B": 1, "H": 1, "G": 1} | asked["sizes"], asked["given"])
    y = _made(callee, draft, asked)
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
    if wrong and not see.diagonal().any() and _band(see | np.eye(*see.shape, dtype=bool), False):
        return MISTAKEN[0]
    near = None if wrong else window(see)
    return near if near and see.diagonal().all() and 0 < near.back < len(see) - 1 else None


def _padding(callee: Callee, draft: Draft, asked: dict[str, Any]) -> bool:
    """Judge what makes a mask of lengths, or of tokens whose padding is 0; False if it does not."""
    lengths = np.array([[4], [5]])
    see = np.arange(7) < lengths
    required = [p.name for p in callee.parameters if p.default is p.empty]
    of_lengths = [lengths[:, 0], 7][: len(required)]
    numbers = of_lengths if "len" in required[0] else [np.where(see, np.arange(1, 8), 0)]
    tables = {"": see, "one key more": np.arange(7) < lengths + 1}
    tables |= {"one key less": np.arange(7) < lengths - 1, "mask of the first text": see[[0, 0]]}
    for y in _called(callee, draft, asked, [numbers] * (len(numbers) == len(required))):
        if y.shape != see.shape:
            continue
        for (form, seen), (key, table) in product(_readings(y).items(), tables.items()):
            if np.array_equal(seen, table):
                draft.convention |= {"gives": str([*y.shape]), "mask": form, "pattern": "padding"}
                if key:
                    draft.add(key)
                return True
        draft.add("hides more than padding", case=str(y.astype(float) + 0))
        return True
    return False


def _made(callee: Callee, draft: Draft, asked: dict[str, Any]) -> Any:
    """What it gives for the first numbers that it takes; a table if there is one."""
    required = [p for p in callee.parameters if p.default is p.empty]
    names = [p.name for p in required if p.name not in ("device", "dtype", *asked["given"])]
    numbers = [values for values in NUMBERS if len(values) == len(names)]
    made = list(_called(callee, draft, asked, numbers))
    return next((y for y in made if y.shape[-1:] == (7,)), made[-1] if made else None)


def _called(
    callee: Callee, draft: Draft, asked: dict[str, Any], numbers: list[list]
) -> Iterator[np.ndarray]:
    """What it gives for each row of arguments, in each framework, where it runs."""
    required = [p for p in callee.parameters if p.default is p.empty]
    names = [p.name for p in required if p.name not in ("device", "dtype", *asked["given"])]

    def call(framework: Convert, values: list) -> np.ndarray:
        made = [x if type(x) is int else framework[1](x) for x in values]
        callee.given = asked["given"] | dict(zip(names, made, strict=True))
        return np.squeeze(framework[2](callee()))

    ways = product(frameworks(callee.code, asked["framework"]), numbers)
    yield from (y for _, y in running(draft, ways, call))
