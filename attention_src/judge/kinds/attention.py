"""Attention of arrays, one head or many, tiled or not, layers, and softmax: find out what it is.

Nothing is assumed that can be tried. The first way of calling in which the function is right is
taken for its convention. If there is none, mistakes are tried in every way that runs, one at a
time, and its scores are read off (`reading`).
"""

import functools
import re
import sys
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attention_src.exercises.engine.limits import TooSlowError
from attention_src.judge.calls.arrays import in_words, placed
from attention_src.judge.calls.layers import OURS
from attention_src.judge.calls.oracle import Mistake, attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ALL, BANDS, CAUSAL, CORNERS, MISTAKEN, MORE, Band, How
from attention_src.judge.checks import beyond, masks, properties, tiles
from attention_src.judge.checks.reading import read
from attention_src.judge.kinds.makers import repeater, repeats
from attention_src.judge.report import Draft

FEW = 3  # ways of calling that are looked at first
MOST = 24  # at all
MATRICES = ("nd", "n(Hd)")
Lucky = tuple[How, Band] | None  # right, though in a likelier way it ran and was wrong


def attention(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; `asked` are the options of `judge`."""
    if draft.kind == "grouped" and (callee := repeater(f)):
        return repeats(callee, draft, asked)
    found = _attention(f, draft, asked)
    plain = draft.kind == "multihead" and {"q", "k", "v"} <= found.callee.names.keys()
    if plain and not (hasattr(found, "how") or found.layer or found.told_heads()):
        other = Draft(draft.name, "attention")  # many heads may lie in the array, or be one
        if hasattr(_attention(f, other, asked), "how") and (draft.why or not other.keys()):
            vars(draft).update(vars(other))
    return None


def _attention(f: Any, draft: Draft, asked: dict[str, Any]) -> Trier:
    """Judge it, and tell how it was called."""
    t = Trier(f, draft, asked)
    if not t.callee.parameters:
        draft.why = "It takes no arguments: queries, keys and values must be three of them."
        return t
    ran, lucky = _right_way(t)
    if not (ran or hasattr(t, "how")) and draft.kind == "softmax":
        of_lists = Trier(_of_lists(f), draft, asked)
        ran, lucky = _right_way(of_lists)
        t = of_lists if ran or hasattr(of_lists, "how") else t
    alike = all(h.sizes["q"] == h.sizes["k"] == h.sizes["d"] for h in ran)
    if alike and not hasattr(t, "how") and draft.kind == "attention" and "v" in t.callee.names:
        one = _of_one_query(f, t.callee.names["q"])
        of_rows = Trier(one, draft, asked | {"layout": asked["layout"] or "nd"})
        _, lucky = _right_way(of_rows)
        if hasattr(of_rows, "how"):
            draft.convention["takes"] = "one query at a time"
            t = of_rows
    if not hasattr(t, "how"):
        _explain(t, ran, lucky)
    return t


def _of_lists(f: Any) -> Any:
    """A softmax of arrays, made of one that takes a row as a list."""

    @functools.wraps(f)
    def of_rows(*args: Any, **given: Any) -> Any:
        [x] = (*args, *given.values())
        return np.apply_along_axis(lambda row: np.array(f(row.tolist()), float), -1, x)

    return of_rows


def _of_one_query(f: Any, name: str) -> Any:
    """An attention of matrices, made of one that takes a single query as a vector."""

    @functools.wraps(f)
    def of_matrices(**given: Any) -> Any:
        o = [f(**given | {name: q}) for q in given[name]]
        return np.stack(o) if isinstance(o[0], np.ndarray) else sys.modules["torch"].stack(o)

    return of_matrices


def _right_way(t: Trier) -> tuple[list[How], Lucky]:
    """Look for a way of calling in which it is right; else all that ran, and one right by luck."""
    ran: list[How] = []
    lucky: Lucky = None
    name = t.callee.names.get("mask")
    needed = any(p.name == name and p.default is p.empty for p in t.callee.parameters)
    for masked in (True,) if needed else (False, True) if name else (False,):
        for how in t.ways(masked) if not ran else ():
            trial = None if lucky and how.mask[0] else t.answer(how, 0)[2]
            if trial is None:
                continue
            fine = next((t.band for t.band in (ALL, *CAUSAL) if t.fits(how)), None)
            # Alike with other lengths, or with more axes, it ran and was wrong.
            alike = [replace(how, sizes=h.sizes | {"H": how.sizes["H"]}) == h for h in ran]
            luck = any(alike) or (
                how.layout in MATRICES and any(h.layout != how.layout for h in ran)
            )
            if fine is not None and not luck:
                _taken(t, how)
                return ran, None
            if fine is not None:
                lucky = lucky or (how, fine)
            elif np.isfinite(trial.o).any():
                ran.append(how)
    t.band = ALL
    ran.sort(key=lambda how: how.mask[0] != "")
    return ran, lucky


def _explain(t: Trier, ran: list[How], lucky: Lucky) -> None:
    """It is right in no way: what is the cause?"""
    nan = any(np.isnan(trial.o).all() for _, _, trial, _ in t.kept.values() if trial)
    if nan and not (ran or t.callee.unknown):
        return t.draft.add("NaN in a mask")
    if ran or not t.callee.unused(t):
        t.draft.why = properties.not_the_same_twice(t, ran[0]) if ran else _never_ran(t)
    if t.draft.why or t.draft.keys() or (lucky and _lucky(t, ran, *lucky)):
        return
    bands = [ALL, *CAUSAL]
    if _mistaken(t, ran, MISTAKEN, [None]) or _mistaken(t, ran[:FEW], bands, t.mistakes):
        return
    windowed = any("window" in p.name for p in t.callee.parameters)
    if (windowed or not lucky) and any(read(t, how) and _taken(t, how) for how in ran[:FEW]):
        return
    if _mistaken(t, ran[FEW:], bands, t.mistakes):
        return
    if lucky:
        _by_luck(t, ran[0], *lucky)
    elif t.kind != "tiled" or not (tiles.tile_mistake(t, ran) or tiles.right_in_one_tile(t, ran)):
        _without_a_cause(t, ran[0])


def _without_a_cause(t: Trier, how: How) -> None:
    """No mistake that is known explains it: say what it breaks, and by how much it is off."""
    t.band = ALL
    if t.callee.unknown:
        t.draft.why = f"It gives other numbers. {_in_the_code(t)}"
        return
    if t.callee.hides and not t.callee.is_module:
        t.draft.why = "Weights that such an object holds cannot be judged yet: "
        t.draft.why += "paste its function of q, k and v."
        return
    trial, right = t.case(how)
    off = np.abs(trial.o - right).max()  # type: ignore[union-attr]
    if off < 1e-3:
        return t.draft.add("few digits", off)
    if not t.callee.unused(t) and not (t.means_it and properties.explain(t, how)):
        case = properties.smallest(t, how) or f"it is off by up to {off:.2g}"
        t.draft.add("cause unknown", case=case)


def _lucky(t: Trier, ran: list[How], how: How, band: Band) -> bool:
    """Whether it is fragile: it divides by √d_v, or is right for every matrix.

    Nobody may have meant the latter for arrays of more axes.
    """
    matrices = how.layout in MATRICES and not any(x.layout == how.layout for x in ran)
    alike = [x for x in ran if x.layout == how.layout and x.sizes["e"] != x.sizes["d"]]
    known = [m for m in t.mistakes if matrices or "values' width" in m.name]
    for t.band, wrong, m in product((band, *BANDS), ran[:FEW] if matrices else alike, known):
        if t.fits(wrong, m.lines):
            says = f"{m.message} It is right only {'of matrices' if matrices else 'where d_v = d'}."
            t.draft.cause(m.name, says, m.chapter, level="fragile")
            t.band = band
            return _taken(t, how)
    t.band = ALL
    return matrices and _by_luck(t, ran[0], how, band)


def _by_luck(t: Trier, wrong: How, how: How, band: Band) -> bool:
    """It is right as it was taken, and wrong as it is likelier meant."""
    inside = in_words(placed(wrong.layout, t.out_axes))
    t.draft.add("right by luck", inside, wrong.sizes["q"], wrong.sizes["k"])
    t.band = band
    return _taken(t, how)


def _mistaken(t: Trier, ran: list[How], bands: list[Band], known: list) -> bool:
    """Look for what it hides that it should not, or the declared mistake, that explains it."""
    for how, t.band, m in product(ran[:MOST], bands, known):
        of_mask = m is not None and m.of_mask and t.band == ALL
        if not of_mask and t.fits(how, m.lines if m else ()):
            return _taken(t, how, m)
    t.band = ALL
    return False


def _never_ran(t: Trier) -> str:
    """Why it never ran, by the attempt that came furthest, or the one with the simplest arrays."""
    errors = [x for x in t.errors if OURS not in x] or t.errors
    errors.sort(key=lambda x: not x.startswith("with [n"))
    kinds = ("it returned", "TypeError|AttributeError|NameError", "")
    best = next((x for kind in kinds for x in errors if re.search(kind, x)), "")
    said = f"It never ran; for example {best}".replace("'Config' object", "a stand-in for a config")
    said = said if best else "It never ran."
    return f"{said}. {_in_the_code(t)}" if t.callee.unknown else said


def _in_the_code(t: Trier) -> str:
    """What to do about arguments that nobody can guess."""
    names = t.callee.unknown
    which = f"argument{'s' * (len(names) > 1)} {' and '.join(names)}"
    return f"Nobody can guess the {which}. Give a value in the code: `{names[0]}=4`."


def _taken(t: Trier, how: How, made: Mistake | None = None) -> bool:
    """What follows once we know how it is called: its mask, and everything beyond values."""
    trial = t.answer(how, 0)[2]
    t.how, t.out = how, trial.layout if trial else ""
    _describe(t, bool(trial and trial.others), bool(made))
    if made:
        t.own = (*t.own, *made.lines)
        t.draft.cause(made.name, made.message, made.chapter, properties.smallest(t))
    if t.band in MISTAKEN:
        t.draft.add(t.band.name, "", case=properties.smallest(t))
    masks.find_causal_flag(t)
    masks.find_masks(t)
    for check in beyond.CHECKS:
        if t.draft.keys():
            break
        try:
            check(t)
        except TooSlowError:
            t.draft.convention[f"{check.__name__} not checked"] = "it took too long"
    return True


def _describe(t: Trier, more: bool, wrong: bool) -> None:
    """How it is called, in words."""
    said = t.draft.convention
    if t.kind == "multihead" and t.how.sizes["H"] == 1:
        t.draft.kind, said["heads"] = "attention", "one"
    axes = t.how.layout if t.right is attend else placed(t.how.layout, t.out_axes)
    said |= {"framework": t.how.framework[0], "layout": in_words(axes)}
    said["returns"] = in_words(t.out) + " and more" * more
    if t.square:
        said["lengths"] = "as many queries as keys"
    if t.band != ALL and t.band not in MISTAKEN:
        said["by itself"] = t.band.name
        said[MORE] = CORNERS[t.band.first]
    if t.right is attend and not wrong:
        said.setdefault("scale", "1/√d" if t.own == t.base == () else "as given")
