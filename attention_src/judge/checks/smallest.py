"""The smallest case that shows what is wrong."""

from dataclasses import replace

import numpy as np

from attention_src.judge.calls.bands import ALL, MISTAKEN
from attention_src.judge.calls.oracle import attend, softmax, written
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import same


def smallest(t: Trier) -> str:
    """The smallest case of whole numbers in which it is wrong."""
    if t.right is softmax or t.layer or t.callee.tied:
        return ""
    wanted = t.band if t.band not in MISTAKEN else ALL
    cases = [(1, 2, 1, 1), (2, 2, 1, 1), (1, 2, 1, 2), (2, 2, 1, 2), (1, 3, 2, 2), (3, 3, 3, 4)]
    for n_q, n_k, H, d in cases:
        H = H if "H" in t.how.layout else 1
        sizes = t.how.sizes | {"B": 1, "H": H, "G": H, "q": n_q, "k": n_k, "d": d, "e": 1}
        arrays = {r: np.round(2 * x) for r, x in t.draw(sizes, 3).items()}
        trial = t.run(replace(t.how, sizes=sizes), arrays)
        right = written(attend, *t.base)(*arrays.values(), wanted.seen(n_q, n_k))
        if trial and not same(trial, right, 1e-2):
            shown = arrays | {"right": right, "yours": trial.o}
            shown = {r: np.round(x[0] if H > 1 else x[0, 0], 4) + 0 for r, x in shown.items()}
            return "\n".join(f"{r:5} = {x.tolist()}" for r, x in shown.items())
    return ""
