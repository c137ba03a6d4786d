"""What a function's mask and its causal flag mean, or what is wrong with them."""

import re
from dataclasses import replace
from itertools import product

import numpy as np

from attention_src.judge.calls.arrays import absent, in_words
from attention_src.judge.calls.oracle import attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ALL, BANDS, CAUSAL, How, same, see_some

# In names of what hides the future.
FUTURE = r"(?<!non)(?<!non_)(?<!not_)causal|future|subsequent|look_?ahead"


def find_causal_flag(t: Trier) -> None:
    """What causal=True hides; or what is hidden without, where the name says causal."""
    name, by_itself = t.callee.names.get("causal"), t.band
    if by_itself != ALL:
        return
    if not name and not t.callee.masks and re.search(FUTURE, t.draft.name.lower()):
        t.draft.add("not causal")
    how = replace(t.how, extra=t.how.extra | {"causal": True})
    for t.band in BANDS if name else ():
        if t.fits(how):
            if t.band in CAUSAL:
                t.draft.convention[f"{name}=True"] = t.band.name
                t.draft.convention["diagonal"] = "first" if t.band.first else "last"
                t.flag = (how, t.band)
            else:
                about = f"With {name}=True: " if t.band.name else name
                t.draft.add(t.band.name or "causal not used", about)
            break
    t.band = by_itself


def find_masks(t: Trier) -> None:
    """What each of its masks means, and whether two hold at once."""
    found: list[How] = []
    for name in t.callee.masks:
        t.callee.names["mask"] = name
        if how := _find_mask(t, name):
            found.append(how)
    if found:
        t.callee.names["mask"] = t.callee.masks[0]
        t.masked = found[0] if len(found) == len(t.callee.masks) else None
    if len(found) == len(t.callee.masks) == 2:
        _both_at_once(t, *found)


def _find_mask(t: Trier, name: str) -> How | None:
    ran: list[How] = []
    errors: list[str] = []
    layouts = dict.fromkeys([t.how.layout, *t.layouts])
    for layout, square in product(layouts, (False, True)):
        if ran and layout != t.how.layout and t.right is attend:
            break
        more = absent(layout) | ({"q": t.how.sizes["k"]} if square else {})
        base = replace(t.how, layout=layout, sizes=t.how.sizes | more, mask=("", ""))
        t.out = t.out if layout == t.how.layout else ""
        if layout != t.how.layout and not t.fits(base):
            continue
        fits: list[How] = []
        for how in t.mask_ways(base):
            if t.fits(how, masked=True):
                fits.append(how)
            elif t.answer(how, 0, True)[2]:
                ran.append(how)
            else:
                errors.append(t.last)
        if fits:
            return _told(t, name, fits)
    if not t.draft.keys():
        _explain(t, name, ran, max(set(errors), key=errors.count, default=""))
    return None


def _told(t: Trier, name: str, fits: list[How]) -> How:
    """Say what a mask means, and in which shapes; the first that fits is taken."""
    form = fits[0].mask[1]
    others = dict.fromkeys(how.mask[1] for how in fits)
    also = "".join(f"; or {x}" for x in others if x.split()[0] != form.split()[0])
    shapes = ", ".join(in_words(how.mask[0]) for how in [x for x in fits if form in x.mask][:3])
    key = "mask" if name == t.callee.masks[0] else name
    t.draft.convention[key] = f"{name}: {form}, as {shapes}{also}"
    return fits[0]


def _both_at_once(t: Trier, one: How, two: How) -> None:
    """Two masks hide what either of them hides."""
    first, second = t.callee.masks
    arrays, see = t.draw(one.sizes, 7), [see_some(how, 7 + i) for i, how in enumerate((one, two))]
    see = [x | (np.arange(x.shape[-1]) == 0) for x in see]  # no row is empty
    t.callee.names["mask"] = second
    other = t.given(two, arrays, see[1])["mask"]
    t.callee.names["mask"] = first
    trial = t.run(replace(one, extra=one.extra | {second: other}), arrays, see[0])
    if not same(trial, t.expected(arrays, see[0] & see[1])):
        used = zip((second, first), see, strict=True)
        idle = [name for name, seen in used if same(trial, t.expected(arrays, seen))]
        t.draft.add("one of two masks" if idle else "two masks at once", *idle or t.callee.masks)


def _by_a_mistake(t: Trier, ran: list[How]) -> bool:
    """Add the declared mistake that explains what it does with its mask, in a way that ran."""
    if t.draft.keys():
        return False
    for m in (m for m in t.mistakes if m.of_mask and m.name != "mask not used"):
        for how in ran:
            if t.fits(how, m.lines, masked=True):
                read = f"read as: {how.mask[1]}, {in_words(how.mask[0])}"
                t.draft.cause(m.name, m.message, m.chapter, read)
                return True
    return False


def _explain(t: Trier, name: str, ran: list[How], error: str) -> None:
    """The mistake that explains what it does with its mask."""
    by_itself = t.band

    def ignored(how: How) -> bool:
        """Whether it gives what it gives without a mask, in the band that is tried."""
        return same(t.answer(how, 0, True)[2], t.right_of(how, 0))

    if any(map(ignored, ran)):
        idle = t.band != ALL or name != t.callee.masks[0]
        return t.draft.add("mask without effect" if idle else "mask not used", name)
    if _by_a_mistake(t, ran):
        return None
    for t.band in CAUSAL if by_itself == ALL else ():
        if any(map(ignored, ran)):
            t.draft.add("mask only as a switch", name, t.band.name)
            t.band = by_itself
            return None
    t.band = ALL
    lost = by_itself != ALL and any(t.fits(how, masked=True) for how in ran)
    t.band = by_itself
    if lost:
        return t.draft.add("causal lost with a mask", name)
    return _not_understood(t, name, ran, error)


def _not_understood(t: Trier, name: str, ran: list[How], error: str) -> None:
    """Nothing explains it: wrong if every meaning of a mask was tried, else only told."""
    if not ran and error.startswith(("AttributeError", "NameError", "UnboundLocalError")):
        return t.draft.add("fails with a mask", name, error)
    tables = {h.mask[1] for h in ran if "qk" in h.mask[0]}
    sure = t.band == ALL and not t.layer and "mask" in name and not t.asked["mask"]
    if (sure and len(tables) > 3) or ("len" in name and any("lengths" in h.mask for h in ran)):
        return t.draft.add("mask wrong", name)
    return t.draft.add("mask not understood", name, "" if ran else f"; {error}")
