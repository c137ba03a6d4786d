"""Rotary positions: unit vectors go in, and what comes back is each position's matrix."""

import functools
from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calls.arrays import (
    Array,
    Convert,
    decode,
    encode,
    first,
    frameworks,
    in_words,
    running,
)
from attention_src.judge.calls.calling import Callee
from attention_src.judge.calls.ways import SIZES
from attention_src.judge.report import Draft

N, D = 5, 8  # tokens and width
EYE = np.eye(D)


def rope(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Judge it; the arguments are those of `attention.attention`."""
    sizes = SIZES | {"q": N, "k": N, "d": D, "D": D} | asked["sizes"]
    callee = Callee(f, sizes, asked["given"])
    callee.arrays("" if "q" in callee.names else "x")
    layouts = [asked["layout"]] if asked["layout"] else ["BHnd", "BnHd", "nBHd", "Bnd", "nd"]
    known = frameworks(callee.code, "torch" if callee.is_module else asked["framework"])
    ways = product(known, layouts, _angles(callee))
    tried = list(running(draft, ways, functools.partial(_promises, callee)))
    if not tried:
        return
    (_, layout, _), (m, broken) = min(tried, key=lambda x: len(x[1][1]))
    draft.convention["layout"] = in_words(layout)
    if broken:
        shown = np.round(m[1][:, 0], 3).tolist()
        draft.add(broken[0], case=f"at position 1, [1, 0, 0, …] becomes {shown}")
    else:
        _describe(draft, m, bool({"cos", "freqs"} & callee.names.keys()), asked["pairs"])


def _promises(
    callee: Callee, framework: Convert, layout: str, forms: dict[str, Array]
) -> tuple[Array, list[str]]:
    """Its matrices, and which promises of rotations are not kept."""
    m, zero, alike = _matrices(callee, framework, layout, forms)
    steps = m[1:] @ np.linalg.pinv(m[:-1])
    keeps = {
        "not a rotation": bool(np.abs(zero).max() < 1e-6),
        "positions not used": not np.allclose(m[1:], m[:-1], atol=1e-6),
        "lengths change": np.allclose(m.swapaxes(1, 2) @ m, EYE, atol=0.02),
        "low precision": np.allclose(m.swapaxes(1, 2) @ m, EYE, atol=1e-5),
        "not relative": np.allclose(steps, steps[:1], atol=1e-4),
        "queries and keys differ": alike,
    }
    if "positions" in forms:
        turned = {"positions": forms["positions"][..., ::-1].copy()}
        back, *_ = _matrices(callee, framework, layout, turned)
        keeps["positions not obeyed"] = np.allclose(m[::-1], back, atol=1e-5)
    return m, [cause for cause, kept in keeps.items() if not kept]


def _angles(callee: Callee) -> list[dict[str, Array]]:
    """In which forms cosines, sines, angles or positions may be wanted."""
    there = np.arange(N)
    angle = there[:, None] * 10000.0 ** (-2 * np.arange(D // 2) / D)
    wide = [angle, np.concatenate([angle, angle], -1), np.repeat(angle, 2, -1)]
    shapes = [(N, -1), (1, N, -1), (1, N, 1, -1), (1, 1, N, -1), (N, 1, 1, -1)]
    if "cos" in callee.names:
        forms = [a.reshape(s) for a in wide for s in shapes]
        return [{"cos": np.cos(a), "sin": np.sin(a)} for a in forms]
    if "freqs" in callee.names:
        forms = [np.exp(1j * angle).reshape(s) for s in shapes]
        forms.append(np.stack([np.cos(angle), np.sin(angle)], axis=-1))
        return [{"freqs": a} for a in forms + [a.reshape(s) for a in wide for s in shapes]]
    if "positions" in callee.names:
        p = next(p for p in callee.parameters if p.name == callee.names["positions"])
        unsaid: list[dict] = [] if p.default is p.empty else [{}]
        return [{"positions": there}, {"positions": np.tile(there, (2, 1))}, *unsaid]
    return [{}]


def _matrices(
    callee: Callee, framework: Convert, layout: str, forms: dict[str, Array]
) -> tuple[Array, Array, bool]:
    """[n, d, d], whose column j is what e_j becomes at each position; and what 0 becomes.

    And whether keys, three times as large, become three times what queries become.
    """
    (_, to, back), place, columns = framework, layout.replace("n", "q"), []
    sizes, roles = callee.sizes, [r for r in ("q", "k", "x") if r in callee.names]
    alike, both = True, {"q", "k"} <= {*roles}
    for unit in [np.zeros(D), *EYE]:
        whole = np.broadcast_to(unit, [sizes["B"], sizes["H"], N, D])
        x = encode(whole, "BHqd", place)
        given = {r: to(3 * x if r == "k" else x) for r in roles}
        y = callee(**given, **{r: to(a) for r, a in forms.items()})
        if both and isinstance(y, tuple | list) and len(y) == 2:
            alike &= np.allclose(back(y[1]), 3 * back(y[0]), atol=1e-4)
        y, _ = decode(back(first(y)), "BHqd", sizes, layout, place)  # type: ignore[misc]
        columns.append(y[0, 0] + 1e3 * np.abs(y - y[:1, :1]).max())  # alike for texts and heads
    return np.stack(columns[1:], axis=-1) - columns[0][..., None], columns[0], alike


def _describe(draft: Draft, m: Array, angles_are_ours: bool, wanted: str | None) -> None:
    """Pairs, direction, frequencies and first position."""
    if not np.allclose(m[0], EYE) and np.allclose(np.sort(np.abs(m[0]), axis=0)[:-1], 0, atol=1e-6):
        draft.add("components reordered")
        m = m[0].T @ m
    step, i = m[2] @ m[1].T, np.arange(D)
    off = np.abs(step) * (1 - EYE)
    pairs = {"halves": (i + D // 2) % D, "neighbours": i ^ 1}
    words = {"halves": "halves, i with i + d/2", "neighbours": "neighbours, 2i with 2i + 1"}
    fits = [name for name, p in pairs.items() if np.allclose(off.sum(axis=0), off[p, i], atol=1e-7)]
    if not fits:
        return draft.add("odd pairs")
    name, partner = fits[0], pairs[fits[0]]
    turn = [np.arctan2(step[partner[j], j], step[j, j]) for j in range(D) if j < partner[j]]
    shown = ", ".join(f"{x:.4g}" for x in np.abs(turn))
    draft.convention |= {"pairs": words[name], "turns by": f"{shown} a position"}
    if wanted not in (None, *fits):
        draft.add("other pairs", words[name], words[wanted])  # type: ignore[index]
    if (np.array(turn) < 1e-12).all():
        draft.add("turns backwards")
    if not np.allclose(m[0], EYE, atol=1e-6):
        draft.add("does not begin at 0")
    if not angles_are_ours:
        _frequencies(draft, np.abs(turn)[np.abs(turn) > 1e-12])


def _frequencies(draft: Draft, turned: Array) -> None:
    """They fall from 1 by one factor, to a base that is used."""
    if len(turned) < 2:
        return
    ratio = turned[1:] / turned[:-1]
    base, as_if_all = (ratio[0] ** -n for n in (len(turned), D // 2))
    usual = [np.isclose(x, [1e4, 1e5, 5e5, 1e6], rtol=1e-2).any() for x in (base, as_if_all)]
    even = np.allclose(ratio, ratio[0], rtol=1e-3) and np.isclose(turned[0], 1, rtol=1e-3)
    if usual[0] and even:
        draft.convention["base"] = f"{base:,.0f}"
    elif usual[1] and even:
        draft.add("pairs not turned")
    else:
        draft.add("frequencies", base)
