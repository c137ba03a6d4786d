"""Every way to call a function, likeliest first."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from attention_src.judge.calls.frameworks import frameworks
from attention_src.judge.calls.layers import ORDERS
from attention_src.judge.calls.layouts import absent
from attention_src.judge.calls.oracle import softmax
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import FORMATS, MASKS, How


def ways(t: Trier, masked: bool) -> Iterator[How]:
    """Every way to call it, likeliest first; also with a mask that hides nothing."""
    extras: list[dict[str, Any]] = [{"axis": -1} if "axis" in t.callee.names else {}]
    extras += [{"dim": -1}] * t.callee.open
    if any(len(part) > 1 for part in getattr(t.callee, "parts", {})):
        extras = [{"order": order} for order in ORDERS]
    square = {"q": t.sizes["k"]}  # for who wants n_q = n_k, or d_v = d, or all alike
    others = [{}, {"e": 4}, square, {"e": 4} | square, {"e": 4, "q": 4, "k": 4}]
    if t.callee.tied or t.right is softmax:
        others = [{"e": 4} | square] if t.callee.tied else [{}]
    others = getattr(t.callee, "others", others)
    only = "torch" if t.callee.is_module else t.asked["framework"]
    for framework in frameworks(t.callee.code, only):
        for other, layout, extra in product(others, t.layouts, extras):
            base = How(framework, layout, t.sizes | other | absent(layout), extra=extra)
            yield base
            yield from mask_ways(t, base) if masked else ()


def mask_ways(t: Trier, base: How) -> Iterator[How]:
    """Every kind of mask that may go with a way of calling."""
    forms = [t.asked["mask"]] if t.asked["mask"] else FORMATS
    if re.fullmatch("(position_)?bias", t.callee.names["mask"].lower()):
        forms = [form for form in forms if form.startswith("added")]
    for form, axes in product(forms, MASKS):
        there = all(a in base.layout for a in axes if a in "BH")
        if (form == "lengths") == ("k" not in axes) and there:
            yield replace(base, mask=(axes, form))
