"""What can be said of a function whose numbers nothing explains: what mixes that should not."""

import random
import sys
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.oracle import attend, softmax, written
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ALL, MISTAKEN, Band, How, same

UNUSED = {"q": "queries not used", "k": "keys not used", "v": "values not used"}
MADE = (
    "It makes new weights in each call (a layer is made inside it), so no two calls agree. "
    "Make them once, in __init__, or pass them."
)


def not_the_same_twice(t: Trier, how: How) -> str:
    """Whether a second call gives another answer; adds the finding.

    Returns: why it cannot be judged, if it makes new weights in each call
    """
    before = _drawn()
    one, made = _makes_weights(lambda: t.case(how)[0])
    drawn, two = _drawn() != before, t.case(how)[0]
    if one and two and same(one, two, 1e-12, nan=True):
        return ""
    if not made:
        t.draft.add("random" if drawn else "not the same twice")
    return MADE * made


def _drawn() -> tuple:
    """Where the generators stand that everyone shares: a call that draws from one moves it."""
    torch: Any = sys.modules.get("torch")
    state: Any = np.random.get_state()
    ours = torch.get_rng_state().tolist() if torch else []
    return random.getstate(), state[1].tolist(), state[2], ours


def _makes_weights(call: Any) -> tuple[Any, bool]:
    """What a call returns, and whether it drew weights of a torch layer."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return call(), False
    made: list[bool] = []
    was = torch.nn.Module.__init__

    def watch(module: Any, *args: Any, **options: Any) -> None:
        made.extend([True] * hasattr(type(module), "reset_parameters"))
        was(module, *args, **options)

    torch.nn.Module.__init__ = watch
    try:
        return call(), bool(made)
    finally:
        torch.nn.Module.__init__ = was


def explain(t: Trier, how: How) -> bool:
    """Add the first promise of every attention that it breaks; False if it breaks none."""
    before = len(t.draft.findings)
    if t.right is softmax:
        if trial := t.case(how)[0]:
            _sums(t, trial.o.sum(axis=-1), "its rows sum to")
    elif not t.callee.tied:
        arrays, _, first = t.answer(how, 0)
        if first and np.isfinite(first.o).all():
            _mixing(t, how, arrays, first.o)
            if len(t.draft.findings) == before:
                _not_an_average(t, how, arrays, first.o)
    return len(t.draft.findings) > before


def _sums(t: Trier, sums: np.ndarray, said: str) -> None:
    if not same(sums, np.ones_like(sums)):
        shown = np.round(sums.ravel()[:4], 4).tolist()
        t.draft.add("weights do not sum to 1", case=f"{said} {shown} …")


def _mixing(t: Trier, how: How, arrays: dict, o: np.ndarray) -> None:
    """What changes an answer that should not, or does not though it should."""
    other = t.draw(how.sizes, 1)

    def moved(part: tuple, roles: str = "qkv") -> Any:
        """Where the answer changes, [B, H, n_q], if that part of some arrays is another."""
        changed = {r: x.copy() for r, x in arrays.items()}
        for r in roles:
            changed[r][part] = other[r][part]
        trial = t.run(how, changed)
        now = o if trial is None else trial.o
        return np.any(np.abs(now - o) > 1e-5 * (1 + np.abs(o)), axis=-1)

    B, H, G = (how.sizes[a] for a in "BHG")
    every = slice(None)
    for r in "qkv":
        if not moved((every,), r).any():
            return t.draft.add(UNUSED[r], case=smallest(t, how))
    if B > 1 and (moved((0,))[1].any() or moved((1,))[0].any()):
        return t.draft.add("texts mix")
    used = [moved((every, g), "kv").any(axis=(0, 2)) for g in range(G)]
    found = [[g for g in range(G) if used[g][h]] for h in range(H)]
    if H > 1 and found != [[h * G // H] for h in range(H)]:
        if H != G:
            return t.draft.add("other key heads", found, [h * G // H for h in range(H)])
        return t.draft.add("heads mix")
    if not t.layer and moved((every, every, 1), "q")[:, :, 0].any():
        return t.draft.add("queries mix", case=smallest(t, how))


def _not_an_average(t: Trier, how: How, arrays: dict, o: np.ndarray) -> None:
    if ones := t.run(how, arrays | {"v": np.ones_like(arrays["v"])}):
        _sums(t, ones.o, "with values of 1 it gives")
        eye = np.broadcast_to(np.eye(*arrays["v"].shape[-2:]), arrays["v"].shape)
        table = t.run(how, arrays | {"v": eye})
        if not t.draft.keys() and table and table.o.min() < -1e-6:
            t.draft.add("not exponentiated, negative weights")


def smallest(t: Trier, how: How | None = None, wanted: Band | None = None) -> str:
    """The smallest case of whole numbers in which it is wrong; a mask hides the last key."""
    how = how or t.how
    if t.right is softmax or t.layer or t.callee.tied:
        return ""
    known, t.out = t.out, getattr(t.answer(how, 0, bool(how.mask[0]))[2], "layout", "")
    wanted = wanted or (t.band if t.band not in MISTAKEN else ALL)
    said = ""
    cases = [(1, 2, 1, 1), (2, 2, 1, 1), (1, 2, 1, 2), (2, 2, 1, 2), (1, 3, 2, 2), (3, 3, 3, 4)]
    for (n_q, n_k, H, d), seed in product(cases, (3, 4, 5)):
        H = H if "H" in how.layout else 1
        sizes = how.sizes | {"B": 1, "H": H, "G": H, "q": n_q, "k": n_k, "d": d, "e": 1}
        arrays = {r: np.round(2 * x) for r, x in t.draw(sizes, seed).items()}
        see = np.arange(n_k) < n_k - 1 if how.mask[0] else True
        small = replace(how, sizes=sizes)
        trial = t.run(small, arrays, see)
        right = written(attend, *t.base)(*arrays.values(), see & wanted.seen(n_q, n_k))
        if trial and not same(trial, right, 1e-2):
            shown = arrays | {"right": right, "yours": trial.o}
            shown = {r: np.round(x[0] if H > 1 else x[0, 0], 4) + 0 for r, x in shown.items()}
            if how.mask[0]:
                mask = how.framework[2](t.given(small, arrays, see)["mask"])
                shown = {"mask": mask, **shown}
            said = "\n".join(f"{r:5} = {x.tolist()}" for r, x in shown.items())
            break
    t.out = known
    return said
