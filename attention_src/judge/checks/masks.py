"""What a function's mask and its causal flag mean, or what is wrong with them."""

from dataclasses import replace
from itertools import product

from attention_src.judge.calls.bands import ALL, BANDS, CAUSAL
from attention_src.judge.calls.layouts import absent, in_words
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import How, same, see_some


def find_causal_flag(t: Trier) -> None:
    """What causal=True hides."""
    name, by_itself = t.callee.names.get("causal"), t.band
    how = replace(t.how, extra=t.how.extra | {"causal": True})
    for t.band in BANDS if name and by_itself == ALL else ():
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
        how = _find_mask(t, name)
        if how:
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
        if ran and square and layout == t.how.layout and _by_a_mistake(t, name, ran, sure=True):
            return None
        more = {"q": t.how.sizes["k"]} if square else {}
        base = replace(
            t.how, layout=layout, sizes=t.how.sizes | absent(layout) | more, mask=("", "")
        )
        t.out = t.out if layout == t.how.layout else ""
        if layout != t.how.layout and not t.fits(base):
            continue
        fits: dict[str, list[How]] = {}
        for how in t.mask_ways(base):
            if t.fits(how, masked=True):
                fits.setdefault(how.mask[1], []).append(how)
            elif t.kept[id(how), 0, True, name][2]:
                ran.append(how)
            else:
                errors.append(t.last)
        if fits:
            form, hows = next(iter(fits.items()))
            also = "".join(f"; or {f}" for f in fits if f.split()[0] != form.split()[0])
            shapes = ", ".join(in_words(how.mask[0]) for how in hows[:3])
            key = "mask" if name == t.callee.masks[0] else name
            t.draft.convention[key] = f"{name}: {form}, as {shapes}{also}"
            return hows[0]
    if not t.draft.keys():
        _explain(t, name, ran, max(set(errors), key=errors.count, default=""))
    return None


def _both_at_once(t: Trier, one: How, two: How) -> None:
    """Two masks hide what either of them hides."""
    second = t.callee.masks[1]
    arrays, see = t.draw(one.sizes, 7), [see_some(how, 7 + i) for i, how in enumerate((one, two))]
    see = [_with_first(x) for x in see]  # no row is empty
    t.callee.names["mask"] = second
    other = t.given(two, arrays, see[1])["mask"]
    t.callee.names["mask"] = t.callee.masks[0]
    both = replace(one, extra=one.extra | {second: other})
    t.lines = t.own
    trial = t.run(both, arrays, see[0])
    if trial is None:
        t.draft.add("fails with both masks", *t.callee.masks, t.last)
    elif not same(trial, t.expected(arrays, see[0] & see[1] & t.seen(one.sizes))):
        for used, name in zip(see, t.callee.masks[::-1], strict=True):
            if same(trial, t.expected(arrays, used & t.seen(one.sizes))):
                return t.draft.add("one of two masks", name)
        return t.draft.add("two masks at once", *t.callee.masks)
    return None


def _with_first(see):  # type: ignore[no-untyped-def]
    see = see.copy()
    see[..., 0] = True
    return see


MISLAID = ("mask transposed", "mask on the queries", "mask of another text")


def _by_a_mistake(t: Trier, name: str, ran: list[How], sure: bool) -> bool:
    """Add the declared mistake that explains what it does with its mask.

    Args:
        t, name: a function and its mask
        ran: ways of passing one that ran
        sure: only mistakes that no other shape of a mask can look like
    """
    if t.draft.keys():
        return False
    for m in (m for m in t.mistakes if m.of_mask and m.name != "mask not used"):
        for how in () if sure and m.name in MISLAID else ran:
            if t.fits(how, [m], masked=True):
                read = f"read as: {how.mask[1]}, {in_words(how.mask[0])}"
                t.draft.cause(m.name, m.message, m.chapter, read)
                return True
    t.lines = t.own
    return False


def _explain(t: Trier, name: str, ran: list[How], error: str) -> None:
    """The mistake that explains what it does with its mask."""
    t.lines, by_itself = t.own, t.band
    given = {id(how): t.kept[id(how), 0, True, name] for how in ran}

    def ignored(how: How) -> bool:
        """Whether it gives what it gives without a mask, in the band that is tried."""
        arrays, _, trial, _ = given[id(how)]
        return same(trial, t.right_of(how, arrays, True, 0, False))

    if any(map(ignored, ran)):
        idle = t.band != ALL or name != t.callee.masks[0]
        return t.draft.add("mask without effect" if idle else "mask not used", name)
    if _by_a_mistake(t, name, ran, sure=False):
        return None
    t.lines = t.own
    for how, t.band in product(ran, CAUSAL):
        if ignored(how):
            t.draft.add("mask only as a switch", name, t.band.name)
            break
    else:
        if not ran and error.startswith(("AttributeError", "NameError", "UnboundLocalError")):
            t.draft.add("fails with a mask", name, error)
        else:
            tables = {h.mask[1] for h in ran if "qk" in h.mask[0] and "q" in h.mask[0]}
            plain = by_itself == ALL and not t.layer
            sure = plain and "mask" in name and len(tables) > 3 and not t.asked["mask"]
            if sure or ("len" in name and any(h.mask[1] == "lengths" for h in ran)):
                t.draft.add("mask wrong", name)
            else:
                t.draft.add("mask not understood", name, "" if ran else f"; {error}")
    t.band = by_itself
    return None
