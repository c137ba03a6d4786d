"""Rotary positions, masks and caches: what they do is read off, so nobody need say how they do it."""

from itertools import product
from typing import Any

import numpy as np

from attention_src.judge.calling import Array, Callee, decode, encode, frameworks, in_words
from attention_src.judge.report import Draft
from attention_src.judge.values import MISTAKEN, patterns, same

N, D = 5, 8  # tokens and width, for rotations
EYE = np.eye(D)
NEVER = "It never ran; the last time: {}: {:.160}"


def rope(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Feed unit vectors: what comes back is the matrix that each position multiplies by."""
    sizes = {"B": 2, "H": 3, "G": 3, "q": N, "k": N, "d": D, "D": D} | asked["sizes"]
    callee, best = Callee(f, sizes, asked["given"]), (-1, None, "", {})
    callee.arrays("" if "q" in callee.names else "x")
    layouts = [asked["layout"]] if asked["layout"] else ["BHnd", "BnHd", "nBHd", "Bnd", "nd"]
    known = frameworks(callee.code, "torch" * callee.is_module)
    for framework, layout, forms in product(known, layouts, _angles(callee)):
        try:
            m, zero = _matrices(callee, framework, layout, forms)
        except Exception as failure:
            draft.why = NEVER.format(type(failure).__name__, str(failure))
            continue
        steps = m[1:] @ np.linalg.pinv(m[:-1])
        keeps = {  # what is wrong if a promise of rotations is not kept
            "not a rotation": np.abs(zero).max() < 1e-6,
            "positions not used": not np.allclose(m[1:], m[:-1], atol=1e-6),
            "lengths change": np.allclose(m.swapaxes(1, 2) @ m, EYE, atol=1e-5),
            "not relative": np.allclose(steps, steps[:1], atol=1e-4),
        }
        if "positions" in forms:
            back, _ = _matrices(
                callee, framework, layout, {"positions": forms["positions"][..., ::-1].copy()}
            )
            keeps["positions not obeyed"] = np.allclose(m[::-1], back, atol=1e-5)
        best = max(best, (sum(keeps.values()), m, layout, keeps), key=lambda x: x[0])
    if best[1] is not None:
        draft.why = ""
        draft.convention["layout"] = in_words(best[2])
        broken = [cause for cause, kept in best[3].items() if not kept]
        if broken:
            draft.add(broken[0], case=f"at position 1, e_0 becomes {np.round(best[1][1][:, 0], 3)}")
        else:
            _describe(draft, best[1], bool({"cos", "freqs"} & callee.names.keys()))


def _angles(callee: Callee) -> list[dict[str, Array]]:
    """In which forms cosines, sines, angles or positions may be wanted."""
    angle, there = np.arange(N)[:, None] * 10000.0 ** (-2 * np.arange(D // 2) / D), np.arange(N)
    wide = [angle, np.concatenate([angle, angle], -1), np.repeat(angle, 2, -1)]
    shapes = [(N, -1), (1, N, -1), (1, N, 1, -1), (1, 1, N, -1), (N, 1, 1, -1)]
    if "cos" in callee.names:
        return [
            {"cos": np.cos(a).reshape(s), "sin": np.sin(a).reshape(s)} for a in wide for s in shapes
        ]
    if "freqs" in callee.names:
        forms = [np.exp(1j * angle).reshape(s) for s in shapes] + [
            np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        ]
        return [{"freqs": a} for a in forms + [a.reshape(s) for a in wide for s in shapes]]
    return (
        [{"positions": there}, {"positions": np.tile(there, (2, 1))}, {}]
        if "positions" in callee.names
        else [{}]
    )


def _matrices(
    callee: Callee, framework: tuple, layout: str, forms: dict[str, Array]
) -> tuple[Array, Array]:
    """[n, d, d], whose column j is what e_j becomes at each position; and what 0 becomes."""
    (_, to, back), place, columns, sizes = framework, layout.replace("n", "q"), [], callee.sizes
    for unit in [np.zeros(D), *EYE]:
        x = encode(np.broadcast_to(unit, [sizes["B"], sizes["H"], N, D]), "BHqd", place)
        y = callee(
            **{r: to(x) for r in ("q", "k", "x") if r in callee.names},
            **{r: to(a) for r, a in forms.items()},
        )
        y, _ = decode(
            back(y[0] if isinstance(y, tuple | list) else y), "BHqd", sizes, layout, place
        )  # type: ignore
        columns.append(y[0, 0] + 1e3 * np.abs(y - y[:1, :1]).max())  # alike for all texts and heads
    return np.stack(columns[1:], axis=-1) - columns[0][..., None], columns[0]


def _describe(draft: Draft, m: Array, angles_are_ours: bool) -> None:
    """Pairs, direction, frequencies and first position."""
    if np.allclose(np.sort(np.abs(m[0]), axis=0)[:-1], 0, atol=1e-6) and not np.allclose(m[0], EYE):
        draft.add("components reordered")
        m = m[0].T @ m
    step, i = m[2] @ m[1].T, np.arange(D)
    off = np.abs(step) * (1 - EYE)
    pairs = {"halves, i with i + d/2": (i + D // 2) % D, "neighbours, 2i with 2i + 1": i ^ 1}
    fits = [
        (name, p) for name, p in pairs.items() if np.allclose(off.sum(axis=0), off[p, i], atol=1e-7)
    ]
    if not fits:
        return draft.add("odd pairs")
    name, partner = fits[0]
    turn = np.array(
        [np.arctan2(step[partner[j], j], step[j, j]) for j in range(D) if j < partner[j]]
    )
    draft.convention |= {"pairs": name, "turns by": f"{np.round(np.abs(turn), 4)} a position"}
    if (turn < 1e-12).all():
        draft.add("turns backwards")
    if not np.allclose(m[0], EYE, atol=1e-6):
        draft.add("does not begin at 0")
    turned = np.abs(turn[np.abs(turn) > 1e-12])
    if not angles_are_ours and len(turned) > 1:
        ratio, base = turned[1:] / turned[:-1], (turned[1] / turned[0]) ** (-D / 2)
        usual = np.isclose(base, [1e4, 1e5, 5e5, 1e6], rtol=1e-2).any()
        if (
            not usual
            or not np.allclose(ratio, ratio[0], rtol=1e-3)
            or not np.isclose(turned[0], 1, rtol=1e-3)
        ):
            return draft.add("frequencies", base)
        draft.convention["base"] = f"{base:,.0f}"


def mask(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """Which keys a function's mask lets each query see: the future, a window, or what is wrong."""
    callee, y = (
        Callee(f, {"B": 1, "H": 1, "G": 1, "q": 5, "k": 7, "d": 4, "D": 4}, asked["given"]),
        np.zeros(0),
    )
    names = [
        p.name
        for p in callee.parameters
        if p.default is p.empty and p.name not in ("device", "dtype")
    ]
    numbers = (
        [5, 7],
        [7],
        [7, 3],
        [7, 7, 3, 0],
        [np.ones((1, 7), int)],
    )  # n_q, n_k, window, sinks; or tokens
    for (_, to, back), values in product(frameworks(callee.code), numbers):
        if len(values) == len(names) and y.shape[-1:] != (7,):
            made = [x if type(x) is int else to(x) for x in values]
            callee.given = asked["given"] | dict(zip(names, made, strict=True))
            try:
                y = np.squeeze(back(callee()))
            except Exception as error:
                draft.why = NEVER.format(type(error).__name__, str(error))
    if y.ndim != 2:
        draft.why = draft.why or f"It returned {list(y.shape)}."
        return
    draft.why, (i, j) = (
        "It is neither a causal mask nor a window, in any reading.",
        np.indices(y.shape),
    )
    added = y.dtype.kind == "f" and y.min() < -1
    readings = (
        {"added to the scores": y == 0}
        if added
        else {"True = may attend": y == 1, "True hides": y == 0}
    )
    for wanted, (form, see) in product((False, True), readings.items()):
        back, ahead = (int((x * see).max()) for x in (i - j, j - i))
        found = [
            name for name, see2 in patterns(*y.shape).items() if name and np.array_equal(see, see2)
        ]
        if (
            0 < back < len(y) - 1
            and np.array_equal(see, (i - j <= back) & (j - i <= ahead))
            and see.diagonal().all()
        ):
            found.append(f"a query sees {back} keys before its own, {ahead} after")
        for name in [name for name in found if (name in MISTAKEN) == wanted and draft.why]:
            draft.why = ""
            if wanted:
                draft.add(name, f"Read as “{form}”: ", case=str(y.astype(float) + 0))
            else:
                draft.convention |= {"gives": str(list(y.shape)), "mask": form, "pattern": name}


def cache(f: Any, draft: Draft, asked: dict[str, Any]) -> None:
    """A text that comes in pieces must come out whole, and stay so."""
    if asked["cache"]:
        return _in_pieces(f, asked["cache"], draft)
    sizes = {"B": 2, "H": 3, "G": 3, "q": 7, "k": 7, "d": 4, "D": 12} | asked["sizes"]
    whole = dict(zip("kv", np.random.default_rng(0).normal(size=(2, 2, 3, 7, 4)), strict=True))
    methods = ["update_and_fetch", "update", "append", "insert_kv", "insert", "forward", "__call__"]
    for name, library, layout in product(methods, ["torch", "numpy"], ["BHnd", "BnHd"]):
        place, got, start, axis = layout.replace("n", "k"), [], 0, layout.index("n")
        try:
            _, to, back = next(frameworks(None, library))
            caches = [Callee(f, sizes, asked["given"]).f for _ in "12"]
            one, two = (Callee(getattr(cache, name), sizes, asked["given"]) for cache in caches)
            for method in (one, two):
                method.arrays("kv")
                method.given = {"layer_idx": 0} | asked["given"]
            for length in (3, 1, 1, 2):
                new = {
                    r: to(encode(x[:, :, start : start + length], "BHkd", place))
                    for r, x in whole.items()
                }
                y = one(**new, positions=to(np.arange(start, start + length)))
                two(k=0 * new["k"], v=0 * new["v"], positions=to(np.arange(start, start + length)))
                got.append((start := start + length, [np.array(back(x)) for x in y[:2]], y[:2]))
        except Exception as failure:
            draft.why = NEVER.format(f"{name}: {type(failure).__name__}", str(failure))
            continue
        draft.why = ""
        draft.convention |= {"method": f"{name}(k, v)", "layout": in_words(layout)}
        for (start, pieces, later), (n, r) in product(got, enumerate("kv")):
            room = np.arange(min(start, pieces[n].shape[axis]))
            if not same(pieces[n].take(room, axis), encode(whole[r][:, :, :start], "BHkd", place)):
                return draft.add("tokens lost or moved", start, r)
            if not np.array_equal(
                pieces[n], back(later[n])
            ) and "older answers change" not in draft.keys("note"):
                draft.add("older answers change")
        whole_room = pieces[0].shape[axis] > 7
        if whole_room:
            draft.convention["returns"] = "its whole room: hide what is not filled"
        return


def _in_pieces(f: Any, make_cache: Any, draft: Draft) -> None:
    """A layer with a cache against itself without, fed token by token and in larger pieces."""
    import torch

    from attention_src.judge.layers import Layer

    layer = Layer(f, {"B": 2, "H": 3, "G": 3, "q": 7, "k": 7, "d": 4, "e": 4, "D": 12}, {})
    slot = next(p.name for p in layer.parameters if "cache" in p.name or "past" in p.name)
    x = torch.randn(2, 7, layer.sizes["D"], dtype=torch.float64)
    for pieces, what in (([1] * 7, "token by token"), ([3, 1, 1, 2], "in pieces")):
        store = make_cache()
        with torch.no_grad():
            y = torch.cat(
                [layer.f(part, **{slot: store}) for part in x.split(pieces, dim=1)], dim=1
            )
            wrong = (y - layer.f(x)).abs().amax(dim=(0, 2)).gt(1e-6).nonzero()
        if len(wrong):
            draft.add(f"differs {what}", int(wrong[0]))
        else:
            draft.convention[what] = "the same as at once"
