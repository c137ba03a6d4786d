"""What a function must keep to that gives right values on ordinary input.

Each check takes a `Trier` that knows how the function is called, and adds what it finds.
"""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np

from attention_src.exercises.engine.memory import warm_up, with_peak
from attention_src.judge.calls.bands import ALL
from attention_src.judge.calls.calling import role
from attention_src.judge.calls.layouts import decode
from attention_src.judge.calls.oracle import attend, written
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import Trial, same, see_some


def _cases(t: Trier, seed: int, scale: float = 1.0) -> list[tuple[Trial | None, Any]]:
    """What it gives and what is right, without a mask and with one."""
    masked = []
    if t.masked:
        masked = [t.case(t.masked, see_some(t.masked, seed), seed, scale=scale)]
    return [t.case(t.how, True, seed, scale=scale), *masked]


def weights(t: Trier) -> None:
    """Weights that are returned beside the output are those that were used."""
    how = t.masked or t.how
    see = see_some(how, 1) if t.masked else True
    (trial, _), arrays = t.case(how, see), t.draw(how.sizes, 0).values()
    for other in trial.others if trial and t.right is attend else []:
        if found := decode(other, "BHqk", how.sizes, how.layout):
            p = written(attend, *t.own, "return p")(*arrays, see & t.seen(how.sizes))
            if not same(found[0], p):
                return t.draft.add("other weights")
            t.draft.convention["weights"] = "returned as they were used"
        elif found := decode(other[..., None], "BHq1", how.sizes | {"1": 1}, how.layout):
            right = written(attend, *t.own, "return np.log(l) + m")
            lse = right(*arrays, see & t.seen(how.sizes))
            if not same(found[0], lse):
                two = same(found[0], lse / np.log(2))
                t.draft.add("log-sum-exp in base 2" if two else "log-sum-exp")
    return None


def nothing_to_see(t: Trier) -> None:
    """A query that may see nothing: 0, and never a NaN that reaches others."""
    if t.masked and "q" in t.masked.mask[0] and "-1e9" not in t.masked.mask[1]:
        see = np.array(see_some(t.masked, 2))
        see[:, :, 1] = False
        trial, right = t.case(t.masked, see)
        if trial is None or right is None:
            return
        if not same(np.delete(trial.o, 1, axis=2), np.delete(right, 1, axis=2)):
            t.draft.add("an empty row spoils others")
            return
        row, nan = trial.o[:, :, 1], bool(np.isnan(trial.o[:, :, 1]).any())
        t.draft.convention["an empty row gives"] = (
            "NaN" if nan else "0" if same(row, 0 * row) else "an average"
        )
        if not same(trial, right):
            t.draft.add("NaN in an empty row" if nan else "an empty row sees all")


def hidden_nan(t: Trier) -> None:
    """What a NaN does in keys and values that nobody may see: a choice, so it is only told."""
    how = t.masked if t.masked and "k" in t.masked.mask[0] else None
    if how is None or t.right is not attend or t.callee.tied:
        return
    see = np.array(see_some(how, 3))
    see[..., -1], see[..., 0] = False, True
    arrays = t.draw(how.sizes, 3)
    for r in "kv":
        arrays[r][:, :, -1] = np.nan
    trial = t.run(how, arrays, see)
    if trial:
        kept = bool(np.isfinite(trial.o).all())
        t.draft.convention["NaN behind a mask"] = "stays hidden" if kept else "spreads (0·NaN)"


def large_scores(t: Trier) -> None:
    """Scores of 10^4 and rows far apart."""
    for number, (trial, right) in enumerate(_cases(t, 5, scale=3000.0)):
        if trial and right is not None and not same(trial, right, 1e-3):
            if not np.isfinite(trial.o).all():
                return t.draft.add("no maximum subtracted")
            about = ": a hidden key's score is not below all visible ones" * number
            return t.draft.add("large scores", about)
    return None


def side_effects(t: Trier) -> None:
    """Nothing is written into what was passed; a second call gives the same."""
    pairs = zip(_cases(t, 4), _cases(t, 4), strict=True)
    trials = [(a, b) for (a, _), (b, _) in pairs if a]
    if not all(same(a, b, nan=True) for a, b in trials):
        return t.draft.add("not the same twice")
    if changed := {r for a, _ in trials for r in a.changed}:
        names = " and ".join(t.callee.names[r] for r in sorted(changed))
        return t.draft.add("in-place change", names)
    return None


def _turned(x: Any) -> Any:
    """The same tensor, its numbers in another order in memory."""
    return x.transpose(0, -1).contiguous().transpose(0, -1) if x.ndim else x


def strides(t: Trier) -> None:
    """Arrays that are views, as a transposed projection is."""
    turned: dict[str, Any] = {"numpy": np.asfortranarray, "torch": _turned}
    if t.how.framework[0] in turned:
        trial, right = t.case(t.how, cast=turned[t.how.framework[0]])
        if trial is None:
            t.draft.add("needs contiguous arrays", t.last)
        elif right is not None and not same(trial, right):
            t.draft.add("ignores strides")


def lengths(t: Trier) -> None:
    """One query, one key, and lengths that no tile divides."""
    for n_q, n_k in [(1, 1), (1, 6), (6, 1), (4, 4), (8, 8), (13, 13), (130, 130)]:
        skip = (t.square and n_q != n_k) or (t.band != ALL and n_q > n_k)
        if t.right is attend and not skip:
            trial, right = t.case(t.how, sizes={"q": n_q, "k": n_k})
            if trial is None:
                return t.draft.add("fails at some lengths", n_q, n_k, t.last)
            if right is not None and not same(trial, right):
                if t.kind == "tiled" and n_k > 8:
                    return t.draft.add("tiles not joined")
                return t.draft.add("some lengths", n_q, n_k, f"{np.abs(trial.o - right).max():.2g}")
    return None


def other_axis(t: Trier) -> None:
    """A softmax obeys the axis that it is given."""
    name = next((x for x in ("axis", "dim") if x in t.how.extra), "")
    if t.kind == "softmax" and name:
        x = t.draw(t.how.sizes, 0)["x"]
        how = replace(t.how, extra={name: 0})
        trial = t.run(how, {"x": x})
        axis = "BHqk".index(t.how.layout[0])
        right = written(t.right)(x.swapaxes(axis, -1), True).swapaxes(axis, -1)
        if trial is not None and not same(trial, right):
            t.draft.add("axis ignored", name)


def _peak(framework: str, call: Any) -> int:
    """The most bytes that a call holds at once; torch's own only if it computes with torch."""
    if framework == "torch":
        warm_up()
        return with_peak(call)[1]
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def memory(t: Trier) -> None:
    """Tiles never hold the whole table of n_q × n_k scores."""
    known = t.callee.given
    if t.kind != "tiled" or t.how.framework[0] not in ("numpy", "torch"):
        return
    blocks = {p.name: 64 for p in t.callee.parameters if role(p.name) == "block"}
    if any(known.get(name, 3) != 3 for name in blocks):
        return
    n = 1024 if blocks else 256  # tiles of its own may be small, and a loop of them slow
    sizes = t.how.sizes | {"B": 1, "H": 1, "G": 1, "q": n, "k": n, "d": 4, "e": 4}
    how, t.callee.given = replace(t.how, sizes=sizes), known | blocks
    given = t.given(how, t.draw(sizes, 0))
    try:
        peak = _peak(how.framework[0], lambda: t.callee(**given, **how.extra))
    except Exception:
        return
    finally:
        t.callee.given = known
    table = 8 * n * n
    if peak >= table:
        t.draft.add("the whole table", f"{peak / 2**20:.1f}", f"{n:,}", f"{table / 2**20:.1f}")
    else:
        t.draft.convention["memory"] = f"{peak / 2**20:.2g} MiB for {n} tokens, of {table >> 20}"


CHECKS = [
    other_axis,
    *(weights, nothing_to_see, hidden_nan, large_scores, side_effects, strides, lengths, memory),
]
