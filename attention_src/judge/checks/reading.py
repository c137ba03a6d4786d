"""Read the scores of an attention off its answers: softcap, sinks, ALiBi, norms, windows, scale.

With the unit matrix for values the answer is the table of weights. Their logarithms are the scores
but for a number per row. f(s) is odd in q for all that is known here, so q and -q part the bias.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attention_src.judge.calls.oracle import attend
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ALL, CAUSAL, How, window

Array = np.ndarray
PLACES = ["np.arange(n_k)", "-abs(np.arange(n_k) - np.arange(n_q)[:, None])"]
PLACES += ["-abs(np.arange(n_k) - np.arange(n_q)[:, None] - n_k + n_q)"]
NORM = "np.linalg.norm({}, axis=-1, keepdims=True)"
CAPS = np.geomspace(0.1, 1000, 300)


@dataclass
class Scores:
    """What was read: lines of the right function, what is said of them, and the scale."""

    lines: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    scale: float = 1.0


def read(t: Trier, how: How) -> bool:
    """Whether it is an attention that is known here; `t` then knows its lines and band."""
    trial = t.answer(how, 0)[2]
    if trial is None or t.callee.tied or t.right is not attend:
        return False
    before = t.out, t.band, t.own
    t.out = trial.layout
    try:
        if (found := _scores(t, how)) and _as_read(t, how, found):
            return True
    except (ValueError, ZeroDivisionError, np.linalg.LinAlgError):
        pass
    t.out, t.band, t.own = before
    return False


def _as_read(t: Trier, how: How, found: Scores) -> bool:
    """Whether it does as was read; then it is said."""
    usual = t.asked["scale"] or how.sizes["d"] ** -0.5
    normed = any("norm" in line for line in found.lines)
    off = not np.isclose(found.scale, usual, rtol=1e-4)
    t.own = (*found.lines, *[f"scale = {found.scale!r}"] * (off or t.base != ()))
    if not t.fits(how) or (off and not normed and t.callee.unknown):
        return False
    if off and not normed:
        d = round(found.scale**-2, 6)
        written = f" Is a number written in? It is right only for d = {d:.0f}." * (
            d % 1 == 0 and d > 1
        )
        t.draft.add("scale", found.scale, usual, written)
    t.draft.convention["scale"] = f"{found.scale:.4g}" if off else "1/√d"
    sizes = [t.callee.value_of(p) for p in t.callee.parameters if "window" in p.name]
    if t.band.back in sizes:
        t.draft.add("window and one more", t.band.back + 1, t.band.back)
    if found.words:
        t.draft.convention["variant"] = "; ".join(found.words)
        t.draft.add("not plain attention", "; ".join(found.words))
    return True


def _scores(t: Trier, how: How) -> Scores | None:
    n = min(how.sizes["k"], how.sizes["e"])
    few = n if how.sizes["q"] == how.sizes["k"] else min(5, n)
    how = replace(how, sizes=how.sizes | {"q": few, "k": n})
    arrays = t.draw(how.sizes, 3)
    eye = np.broadcast_to(np.eye(n, how.sizes["e"]), arrays["v"].shape)

    def weights(q: Array, k: Array = arrays["k"]) -> Array:
        trial = t.run(how, {"q": q, "k": k, "v": eye})
        if trial is None or not np.isfinite(trial.o).all() or trial.o.min() < -1e-6:
            raise ValueError("no weights")
        return trial.o[..., :n]

    q, k = arrays["q"], arrays["k"]
    p = weights(q)
    seen = np.asarray((p > 1e-12).any(axis=(0, 1)))
    band = window(seen, any("window" in p.name for p in t.callee.parameters))
    if band is None or (p[..., seen] < 1e-12).any():
        return None
    t.band = next((x for x in (ALL, *CAUSAL) if np.array_equal(x.seen(*seen.shape), seen)), band)
    found = Scores()
    found.words += [f"a window: it {band.name}"] * (t.band == band)
    bias, odd = (_half(weights, q, seen, sign) for sign in (1, -1))
    s = _products(weights, found, p, q, np.repeat(k, q.shape[1] // k.shape[1], axis=1), k)
    found.scale, score = _curve(
        found, odd, s, seen, lambda: 100 * _half(weights, q / 100, seen, -1)
    )
    _sinks(found, p, np.where(seen, score + _alibi(found, bias, seen), -np.inf))
    return found


def _log(p: Array) -> Array:
    return np.log(np.where(p > 0, p, 1))


def _centred(x: Array, seen: Array) -> Array:
    """Minus the mean over the keys that are seen; 0 elsewhere."""
    x = np.where(seen, x, 0)
    return np.where(seen, x - x.sum(-1, keepdims=True) / seen.sum(-1, keepdims=True), 0)


def _half(weights: Any, q: Array, seen: Array, sign: int) -> Array:
    """The part of the scores that is even in q, or with the sign -1 the odd one."""
    return _centred((_log(weights(q)) + sign * _log(weights(-q))) / 2, seen)


def _products(weights: Any, found: Scores, p: Array, q: Array, k: Array, own: Array) -> Array:
    """q k^T, of q and k as they are normalised; notes how."""
    both = {}
    for name, x, scaled, moved in (
        ("q", q, lambda: weights(3 * q), lambda: weights(q + 1)),
        ("k", k, lambda: weights(q, 3 * own), lambda: weights(q, own + 1)),
    ):
        if np.allclose(scaled(), p, atol=1e-5):
            if np.allclose(moved(), p, atol=1e-5):
                found.lines.append(f"+ {name} = {name} - {name}.mean(axis=-1, keepdims=True)")
                x = x - x.mean(axis=-1, keepdims=True)
            found.lines.append(f"+ {name} = {name} / {NORM.format(name)}")
            x = x / np.linalg.norm(x, axis=-1, keepdims=True)
            found.words.append(f"{name} is normalised")
        both[name] = x
    return both["q"] @ both["k"].swapaxes(-1, -2)


def _slope(y: Array, x: Array) -> float:
    return float((x * y).sum() / (x * x).sum())


def _curve(found: Scores, odd: Array, s: Array, seen: Array, small: Any) -> tuple[float, Array]:
    """Scale and scores: proportional to q k^T, or capped by a tanh."""
    x = _centred(s, seen)
    a = _slope(odd, x)
    if np.allclose(odd, a * x, atol=1e-6 + 1e-5 * np.abs(odd).max()):
        a = _round(a)
        return a, a * s
    if found.lines:
        raise ValueError("normalised, and not proportional")
    a = _round(_slope(small(), x))

    def off(cap: float) -> float:
        return float(np.abs(_centred(cap * np.tanh(a * s / cap), seen) - odd).max())

    cap = min(CAPS, key=off)
    for step in (1e-3, 5e-5, 2e-6):
        cap = min((cap * (1 + i * step) for i in range(-40, 41)), key=off)
    cap = round(cap, 2) if abs(cap - round(cap, 2)) < 1e-2 * cap else cap
    found.lines.append(f"s = q @ k.swapaxes(-1, -2) * scale; s = {cap!r} * np.tanh(s / {cap!r})")
    found.words.append(f"softcapped with {cap:g}")
    return a, cap * np.tanh(a * s / cap)


def _round(a: float) -> float:
    """The number that was meant, if it is a plain one."""
    plain = [x**power for x in range(1, 257) for power in (-1, -0.5, 0.5, 1)]
    near = min(plain, key=lambda x: abs(x - a))
    return near if abs(near - a) < 1e-4 * abs(a) else a


def _alibi(found: Scores, bias: Array, seen: Array) -> Any:
    """A bias that falls with the distance, with a slope for each head."""
    if np.abs(bias).max() < 1e-6:
        return 0
    n_q, n_k = seen.shape
    for place in PLACES:
        x = np.broadcast_to(eval(place, {"np": np, "n_k": n_k, "n_q": n_q}), bias.shape)
        centred = _centred(x, seen)
        slopes = (bias * centred).sum((0, 2, 3)) / (centred**2).sum((0, 2, 3))
        slopes = slopes.reshape(-1, 1, 1)
        if np.allclose(bias, slopes * centred, atol=1e-5):
            line = next((x for x in found.lines if x.startswith("s = ")), "")
            line = line or "s = q @ k.swapaxes(-1, -2) * scale"
            found.lines = [x for x in found.lines if x != line]
            found.lines.append(f"{line}; s = s + np.array({slopes.tolist()}) * ({place})")
            found.words.append(f"ALiBi with slopes {np.round(slopes.ravel(), 4).tolist()}")
            return slopes * x
    raise ValueError("a bias that is not known")


def _sinks(found: Scores, p: Array, score: Array) -> None:
    """What else stands in the denominator."""
    rest = 1 - p.sum(axis=-1)
    if np.abs(rest).max() < 1e-5:
        return
    sink = np.log(np.exp(score).sum(axis=-1) * rest / (1 - rest)).mean(axis=(0, 2))
    sink = np.where(np.abs(sink) < 1e-4, 0, sink)[:, None, None]
    found.lines.append(
        f"l = e.sum(axis=-1, keepdims=True) + "
        f"np.exp(np.array({sink.tolist()}) - np.where(m == -np.inf, 0, m))"
    )
    plain = not sink.any()
    shown = np.round(sink.ravel(), 3).tolist()
    found.words.append("1 is added to the denominator" if plain else f"sinks of {shown}")
