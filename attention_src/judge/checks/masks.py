"""What a function's mask and its causal flag mean, or what is wrong with them."""

import re
from dataclasses import replace
from itertools import product

import numpy as np

from attention_src.judge.calls.arrays import absent, in_words
from attention_src.judge.calls.oracle import attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import (
    ALL,
    BANDS,
    CAUSAL,
    CORNERS,
    MORE,
    Band,
    How,
    same,
    see_some,
)
from attention_src.judge.checks.properties import smallest

# In names of what hides the future.
LOW = "added to the scores, -1e9 hides"
MASK = "mask|visible|allowed|keep|hid|pad|valid$|att$"
FUTURE = r"(?<!non)(?<!non_)(?<!not_)causal|future|subsequent|look_?ahead"


def find_causal_flag(t: Trier) -> None:
    """What causal=True hides; or what is hidden without, where the name says causal."""
    name, by_itself = t.callee.names.get("causal"), t.band
    if by_itself != ALL:
        return _without_the_flag(t, name)
    if not name and not t.callee.masks and re.search(FUTURE, t.draft.name.lower()):
        t.draft.add("not causal")
    how = replace(t.how, extra=t.how.extra | {"causal": True})
    hows = [how] if t.square else [how, replace(how, sizes=how.sizes | {"q": how.sizes["k"]})]
    for how, t.band in product(hows if name else (), BANDS):
        if t.fits(how):
            if t.band in CAUSAL:
                short = "hides the future, of as many queries as keys"
                t.draft.convention[f"{name}=True"] = t.band.name if how is hows[0] else short
                if how is hows[0]:
                    t.draft.convention[MORE] = CORNERS[t.band.first]
                t.flag = (how, t.band)
            else:
                about = f"With {name}=True: " if t.band.name else f"{name}"
                weak = how is hows[0] and not same(t.answer(how, 0)[2], t.answer(t.how, 0)[2], 0)
                key = "mask far too weak" if weak and not t.band.name else "causal not used"
                about += "=True" * (key == "mask far too weak")
                t.draft.add(t.band.name or key, about, case=smallest(t, how, CAUSAL[0]))
            break
    else:
        _causal_is_wrong(t, str(name), hows if name else [])
    t.band = by_itself


def _without_the_flag(t: Trier, name: str | None) -> None:
    """Where causal=True is the default, causal=False sees all."""
    if any(p.name == name and p.default is True for p in t.callee.parameters):
        how, band = replace(t.how, extra=t.how.extra | {"causal": False}), t.band
        t.band = ALL
        if t.answer(how, 0)[2] and not t.fits(how):
            t.draft.add("causal wrong", f"{name}=False", case=smallest(t, how))
        t.band = band


def _causal_is_wrong(t: Trier, name: str, hows: list[How]) -> None:
    """With causal=True it fails, or hides neither the future nor what is known to be mistaken."""
    ran = [how for how in hows if t.answer(how, 0)[2]]
    if hows and not ran:
        refused = any(mask in t.last for mask in t.callee.masks) or "NotImplemented" in t.last
        return t.draft.add("causal refused" if refused else "causal fails", name, t.last)
    known = t.mistakes
    for how, t.band, m in product(ran, CAUSAL, known):
        if t.fits(how, m.lines):
            says = f"With {name}=True: {m.message}"
            return t.draft.cause(m.name, says, m.chapter, smallest(t, how))
    for how in ran[:1]:
        nan = np.isnan(t.answer(how, 0)[2].o).any()  # type: ignore[union-attr]
        key = "NaN in a mask" if nan else "causal wrong"
        t.draft.add(key, f"{name}=True", case=smallest(t, how, CAUSAL[0]))
    return None


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
    if t.masked and t.flag:
        _with_the_flag(t, t.masked, t.flag[1])


def _with_the_flag(t: Trier, how: How, band: Band) -> None:
    """A mask and causal=True at once hide what either of them hides."""
    see, by_itself = see_some(how, 7), t.band
    see, name = see | (np.arange(see.shape[-1]) == 0), t.callee.names["mask"]  # no row is empty
    arrays = t.draw(how.sizes, 7)
    trial = t.run(replace(how, extra=how.extra | {"causal": True}), arrays, see)
    mask_alone, t.band = t.expected(arrays, see), band
    if trial and same(trial, mask_alone):
        t.draft.add("causal lost with a mask", name)
    elif trial and not same(trial, t.expected(arrays, see)):
        idle = same(trial, t.expected(arrays))
        names = [name] if idle else [name, f"{t.callee.names['causal']}=True"]
        t.draft.add("one of two masks" if idle else "two masks at once", *names)
    t.band = by_itself


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
        ran += [how for how in fits if not _is_meant(t, how)]
        fits = [how for how in fits if how not in ran]
        if fits:
            t.forms = [*{how.mask[1]: how for how in fits}.values()]
            return _told(t, name, fits)
    if not t.draft.keys():
        _explain(t, name, ran, max(set(errors), key=errors.count, default=""))
    return None


def _is_meant(t: Trier, how: How) -> bool:
    """Whether a mask that is right with 0 and -inf is meant to be added to the scores.

    One of 1 and 0 that is multiplied by 1e9, or by 1e-9 in error, takes -inf as well.
    """
    if not how.mask[1].startswith("added"):
        return True
    arrays, see, _ = t.answer(how, 0, True)
    see = see | (np.arange(see.shape[-1]) == 0)  # a causal query sees a key, too
    low, more = (replace(how, mask=(how.mask[0], form)) for form in (LOW, "1.5 more"))
    hidden, shown = t.expected(arrays, see), t.expected(arrays)
    trial = t.run(low, arrays, see)
    if trial and not (same(trial, hidden) or same(trial, shown)):
        return False  # -1e9 hides a little
    raised = ~see | see.all(axis=-1, keepdims=True)
    return not same(t.run(more, arrays, see), t.expected(arrays, raised))  # 1.5 is not everything


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
                t.draft.cause(m.name, m.message, m.chapter, smallest(t, how) or read)
                return True
    return False


def _explain(t: Trier, name: str, ran: list[How], error: str) -> None:
    """The mistake that explains what it does with its mask."""
    by_itself = t.band

    def ignored(how: How) -> bool:
        """Whether it gives what it gives without a mask, in the band that is tried."""
        return same(t.answer(how, 0, True)[2], t.right_of(how, 0))

    if name == t.callee.guessed:
        if not _by_a_mistake(t, ran):
            t.callee.masks, _ = [], t.callee.names.pop("mask")
        return None
    tables = [how for how in ran if how.mask[1] != "lengths"]
    if idle := [how for how in tables or ran if ignored(how)]:
        known = t.band != ALL or name != t.callee.masks[0]
        weak = any(not same(t.answer(h, 0, True)[2], t.run(h, t.answer(h, 0)[0]), 0) for h in idle)
        key = "mask far too weak" if weak else "mask without effect" if known else "mask not used"
        return t.draft.add(key, name)
    if _by_a_mistake(t, ran):
        return None
    if ran and all(np.isnan(t.answer(how, 0, True)[2].o).any() for how in ran):  # type: ignore
        return t.draft.add("NaN in a mask", case=smallest(t, ran[0]))
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
    sure = t.band == ALL and not t.layer and re.search(MASK, name) and not t.asked["mask"]
    if (sure and len(tables) > 3) or ("len" in name and any("lengths" in h.mask for h in ran)):
        return t.draft.add("mask wrong", name)
    return t.draft.add("mask not understood", name, "" if ran else f"; {error}")
