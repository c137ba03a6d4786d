"""Functions that make a mask: of the future, of a window, or what is wrong with them."""

import re
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.bands import CAUSAL, MISTAKEN, window
from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.frameworks import frameworks, said
from attention_src.judge.report import Draft

NUMBERS = ([5, 7], [7], [7, 3], [7, 7, 3, 0])  # n_q, n_k, window, sinks


def mask(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; the arguments are those of `attention.attention`."""
    sizes = {"B": 1, "H": 1, "G": 1, "q": 5, "k": 7, "d": 4, "D": 4} | asked["sizes"]
    callee = Callee(f, sizes, asked["given"])
    y = _made(callee, draft, asked)
    if y is None or y.ndim != 2:
        draft.why = draft.why or f"It returned {'nothing' if y is None else list(y.shape)}."
        return
    draft.why = "It is neither a causal mask nor a window, in any reading."
    added = y.dtype.kind == "f" and y.min() < -1
    readings = {"True = may attend": y == 1, "True hides": y == 0}
    if added:
        readings = {"added to the scores": y == 0}
    if asked["mask"]:
        readings = {k: v for k, v in readings.items() if asked["mask"].startswith(k[:9])}
    for wrong, (form, see) in product((False, True), readings.items()):
        bands = MISTAKEN if wrong else CAUSAL
        found = [band for band in bands if np.array_equal(band.seen(*y.shape), see)]
        near = window(see) if not wrong else None
        if near and see.diagonal().all() and 0 < near.back < len(y) - 1:
            found.append(near)
        if found:
            draft.why = ""
            if wrong:
                case = str(y.astype(float) + 0)
                draft.add(found[0].name, f"Read as “{form}”: ", case=case)
            else:
                shape = str(list(y.shape))
                name = found[0].name.partition(" (")[0] if see.shape[0] == see.shape[1] else ""
                pattern = name or found[0].name
                draft.convention |= {"gives": shape, "mask": form, "pattern": pattern}
            return
    if np.isnan(y.astype(float)).any():
        draft.add("NaN in a mask")
    elif re.search("causal|future|subsequent|look_?ahead|window", draft.name.lower()):
        draft.add("no such mask", case=str(y.astype(float) + 0))


def _made(callee: Callee, draft: Draft, asked: dict[str, Any]) -> Any:
    """What it gives for the first numbers that it takes; a table if there is one."""
    required = [p for p in callee.parameters if p.default is p.empty]
    names = [p.name for p in required if p.name not in ("device", "dtype", *asked["given"])]
    y = None
    numbers: list[Any] = [*NUMBERS, [np.ones((1, 7), int)]]
    for (_, to, back), values in product(frameworks(callee.code, asked["framework"]), numbers):
        if len(values) != len(names) or (y is not None and y.shape[-1:] == (7,)):
            continue
        made = [x if type(x) is int else to(x) for x in values]
        callee.given = asked["given"] | dict(zip(names, made, strict=True))
        try:
            y = np.squeeze(back(callee()))
            draft.why = ""
        except Exception as error:
            draft.why = f"It never ran; the last time: {said(error)}"
    return y
