"""Attention of arrays, one head or many, tiled or not, layers, and softmax: find out what it is.

Nothing is assumed that can be tried. The first way of calling in which the function is right is
taken for its convention. If there is none, single mistakes are tried in every way that runs; then
its scores are read off (`reading`); then several mistakes at once.
"""

import re
import time
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np

from attention_src.exercises.engine.limits import TooSlowError
from attention_src.judge.calls.bands import ALL, BANDS, CAUSAL, INF, MISTAKEN, Band
from attention_src.judge.calls.layers import OURS
from attention_src.judge.calls.layouts import in_words, placed
from attention_src.judge.calls.oracle import Mistake, attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import How, Trial
from attention_src.judge.checks import beyond, masks, precise, projections, properties, tiles
from attention_src.judge.checks.reading import read
from attention_src.judge.checks.smallest import smallest
from attention_src.judge.kinds.repeats import repeater, repeats
from attention_src.judge.report import Draft

FEW = 3  # ways of calling that are looked at first
PATIENCE = 0.6  # seconds that may go into several mistakes at once
MOST = (24, 24, 4, 1)  # in how many ways of calling no mistake, one, two and three are tried
CHECKS = [*beyond.CHECKS, *tiles.CHECKS, *precise.CHECKS, *projections.CHECKS]
Lucky = tuple[How, Trial, Band] | None  # right, though in a likelier way it ran and was wrong


def attention(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; `asked` are the options of `judge`."""
    if draft.kind == "grouped" and (callee := repeater(f)):
        return repeats(callee, draft, asked)
    t = Trier(f, draft, asked)
    ran, lucky = _right_way(t)
    dropout = t.callee.names.get("dropout")
    if dropout and not ran and "'float' object is not callable" in str(t.errors):  # a module
        t.callee.given = t.callee.given | {dropout: None}
        ran, lucky = (ran, lucky) if hasattr(t, "how") else _right_way(t)
    if not hasattr(t, "how"):
        _explain(t, ran, lucky)
    return None


def _right_way(t: Trier) -> tuple[list[How], Lucky]:
    """Look for a way of calling in which it is right; else all that ran, and one right by luck."""
    ran: list[How] = []
    lucky: Lucky = None
    plain = set()  # ways that ran without a mask: then none is needed
    name = t.callee.names.get("mask")
    needed = any(p.name == name and p.default is p.empty for p in t.callee.parameters)
    for masked in (True,) if needed else (False, True) if name else (False,):
        for how in t.ways(masked) if not ran else ():
            key = (how.framework[0], how.layout, str(how.extra), *how.sizes.values())
            trial = None if key in plain or (lucky and how.mask[0]) else t.answer(how, 0)[2]
            if trial is None:
                continue
            plain |= {key} if not how.mask[0] and not needed else set()
            fine = next((t.band for t.band in (ALL, *CAUSAL) if t.fits(how)), None)
            sizes = how.sizes  # were others wrong, though it ran?
            luck = any(replace(how, sizes=h.sizes | {"H": sizes["H"]}) == h for h in ran)
            if fine is not None and not luck:
                _taken(t, how, trial)
                return ran, None
            if fine is not None:
                lucky = lucky or (how, trial, fine)
            elif np.isfinite(trial.o).any():
                ran.append(how)
    t.band = ALL
    ran.sort(key=lambda how: how.mask[0] != "")
    return ran, lucky


def _explain(t: Trier, ran: list[How], lucky: Lucky) -> None:
    """It is right in no way: what is the cause?"""
    t.draft.why = properties.not_the_same_twice(t, ran[0]) if ran else _never_ran(t)
    if t.draft.why or (lucky and _by_width(t, ran, lucky)):
        return
    if t.draft.keys() or _mistaken(t, ran, 0) or _mistaken(t, ran[:FEW], 1):
        return
    if not lucky and any(_read(t, how) for how in ran[:FEW]):
        return
    if _mistaken(t, ran[FEW:], 1):
        return
    if lucky:
        how, trial, t.band = lucky
        inside = in_words(placed(ran[0].layout, t.out_axes))
        t.draft.add("right by luck", inside, ran[0].sizes["q"], ran[0].sizes["k"])
        _taken(t, how, trial)
        return
    if t.kind == "tiled" and (tiles.tile_mistake(t, ran) or tiles.right_in_one_tile(t, ran)):
        return
    until = time.monotonic() + PATIENCE
    if not (_mistaken(t, ran, 2, until) or _mistaken(t, ran, 3, until)):
        _without_a_cause(t, ran[0])


def _without_a_cause(t: Trier, how: How) -> None:
    """No mistake that is known explains it: say what it breaks, and by how much it is off."""
    t.band = ALL
    if t.callee.unknown:
        names = " and ".join(t.callee.unknown)
        t.draft.why = f"It gives other numbers, but nobody can guess {names}: pass values by name."
    elif not properties.explain(t, how):
        trial, right = t.case(how)
        off = np.abs(trial.o - right).max()  # type: ignore[union-attr]
        t.draft.add("cause unknown", case=f"it is off by up to {off:.2g}")


def _by_width(t: Trier, ran: list[How], lucky: tuple[How, Trial, Band]) -> bool:
    """Whether it divides by √d_v, which is right where values are as wide as keys."""
    m = next((m for m in t.mistakes if "values' width" in m.name), None)
    how, trial, band = lucky
    alike = [x for x in ran if x.layout == how.layout and x.sizes["e"] != x.sizes["d"]]
    for t.band, wrong in product((band, *BANDS), alike if m else ()):
        if m and t.fits(wrong, [m]):
            says = f"{m.message} It is right only where d_v = d."
            t.draft.cause(m.name, says, m.chapter, level="fragile")
            t.band = band
            _taken(t, how, trial)
            return True
    t.band = ALL
    return False


def _read(t: Trier, how: How) -> bool:
    """Whether its scores could be read off, and it does as they say."""
    trial = read(t, how) if t.right is attend else None
    if trial:
        _taken(t, how, trial)
    return trial is not None


def _mistaken(t: Trier, ran: list[How], at_once: int, until: float = INF) -> bool:
    """Look for so many declared mistakes that explain together what it gives."""
    known = [m for m in t.mistakes if at_once == 1 or not m.of_mask]
    bands = BANDS if at_once == 0 else (ALL, *CAUSAL)
    for how in ran[: MOST[at_once]]:
        for t.band, made in product(bands, combinations(known, at_once)):
            idle = t.band == ALL and any(m.of_mask for m in made)
            if len({m.changes for m in made}) == at_once and not idle and t.fits(how, made):
                _taken(t, how, t.answer(how, 0)[2], made)  # type: ignore[arg-type]
                return True
            if time.monotonic() > until:
                return False
    t.band = ALL
    return False


def _never_ran(t: Trier) -> str:
    """Why it never ran."""
    errors = [x for x in t.errors if OURS not in x] or t.errors
    own = [x for x in errors if re.search("TypeError|AttributeError|NameError", x)]
    said = f"It never ran; for example {(own + errors)[0]}" if errors else "It never ran."
    if t.callee.unknown:
        names = " and ".join(t.callee.unknown)
        said += f". Nobody can guess {names}: pass values, as judge(f, {t.callee.unknown[0]}=…)."
    return said


def _taken(t: Trier, how: How, trial: Trial, made: tuple[Mistake, ...] = ()) -> None:
    """What follows once we know how it is called: its mask, and everything beyond values."""
    t.how, t.out = how, trial.layout
    t.own = (*t.own, *(line for m in made for line in m.lines))
    _describe(t, bool(trial.others), bool(made))
    case = smallest(t) if made or t.band in MISTAKEN else ""
    for m in made:
        t.draft.cause(m.name, m.message, m.chapter, case * (m is made[0]))
    if t.band in MISTAKEN:
        t.draft.add(t.band.name, "", case=case)
    masks.find_causal_flag(t)
    masks.find_masks(t)
    if t.draft.keys():
        return
    for check in CHECKS:
        try:
            check(t)
        except TooSlowError:
            t.draft.convention[f"{check.__name__} not checked"] = "it took too long"


def _describe(t: Trier, more: bool, wrong: bool) -> None:
    """How it is called, in words."""
    said = t.draft.convention
    axes = t.how.layout if t.right is attend else placed(t.how.layout, t.out_axes)
    said |= {"framework": t.how.framework[0], "layout": in_words(axes)}
    said["returns"] = in_words(t.out) + " and more" * more
    if t.square:
        said["lengths"] = "as many queries as keys"
    if t.band != ALL and t.band not in MISTAKEN:
        said["by itself"] = t.band.name
        said["diagonal"] = "first" if t.band.first else "last"
    if t.right is attend and not wrong:
        said.setdefault("scale", "1/√d" if t.own == t.base == () else "as given")
