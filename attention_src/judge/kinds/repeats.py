"""Functions that repeat key heads for a group of query heads, such as `repeat_kv(x, n_rep)`."""

from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.frameworks import frameworks
from attention_src.judge.calls.layouts import encode, in_words
from attention_src.judge.report import Draft

SIZES = {"B": 2, "H": 6, "G": 3, "q": 5, "k": 7, "d": 4, "e": 4, "D": 12}


def repeater(f: Any) -> Callee | None:
    """How to call it, if it takes an array and how often its heads are repeated."""
    if isinstance(f, type) or hasattr(f, "parameters"):
        return None
    callee = Callee(f, SIZES, {})
    fits = "repeats" in callee.names and "q" not in callee.names
    return callee if fits else None


def repeats(callee: Callee, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it: each head beside itself, 0 0 1 1 2 2; the other arguments are `attention`'s."""
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 4))
    right, turns = np.repeat(x, 2, axis=1), np.tile(x, (1, 2, 1, 1))
    callee.given = {callee.names["repeats"]: 2} | asked["given"]
    callee.arrays("x")
    draft.why = "It never ran."
    layouts = [asked["layout"]] if asked["layout"] else ["BHnd", "BnHd", "Hnd"]
    seen: list[tuple[str, str]] = []
    for (name, to, back), layout in product(frameworks(callee.code, asked["framework"]), layouts):
        try:
            y = back(callee(x=to(encode(x, "BHnd", layout))))
        except Exception as error:
            draft.why = f"It never ran; for example {type(error).__name__}: {str(error)[:160]}"
            continue
        for table, key in ((right, ""), (turns, "keys shared in turns")):
            if np.array_equal(y, encode(table, "BHnd", layout)):
                draft.convention |= {"framework": name, "layout": in_words(layout)}
                draft.why = ""
                return draft.add(key) if key else None
        seen.append((layout, str(list(y.shape))))
    if seen:
        draft.why = ""
        case = f"with {in_words(seen[0][0])} = [2, 3, 7, 4] and 2 it returned {seen[0][1]}"
        draft.add("heads not repeated", case=case)
    return None
