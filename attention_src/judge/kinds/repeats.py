"""Functions that repeat key heads for a group of query heads, such as `repeat_kv(x, n_rep)`."""

from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.frameworks import frameworks, running
from attention_src.judge.calls.layouts import encode, in_words
from attention_src.judge.calls.ways import OTHER_SIZES, SIZES
from attention_src.judge.report import Draft


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
    wrong = ""
    for (framework, layout), y in running(draft, ways, call):
        for key, table in tables.items():
            if np.array_equal(y, encode(table, "BHnd", layout)):
                draft.convention |= {"framework": framework[0], "layout": in_words(layout)}
                return draft.add(key) if key else None
        wrong = wrong or f"with {in_words(layout)} = [2, 3, 8, 4] and 2 it returned {[*y.shape]}"
    if wrong:
        draft.add("heads not repeated", case=wrong)
    return None
