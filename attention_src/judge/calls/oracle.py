"""The right functions, and their mistakes: lines of them written otherwise (mistakes.txt)."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attention_src.exercises.engine.variants import Variant, variants

_TEXT = (Path(__file__).parent / "mistakes.txt").read_text(encoding="utf-8")
_TEXT = re.sub("(?m)^#.*\n", "", _TEXT)


def attend(q, k, v, visible):
    (n_q, d), n_k, group = q.shape[-2:], k.shape[-2], q.shape[1] // k.shape[1]  # noqa: F841
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scale = d**-0.5
    s = q @ k.swapaxes(-1, -2) * scale
    s = np.where(visible, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    p = e / np.where(l == 0, 1, l)
    return p @ v


def softmax(s, visible):
    s = np.where(visible, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l == 0, 1, l)


def on_rows(visible, s):  # a mask of keys, laid on the queries
    return np.broadcast_to(visible, s.shape)[..., :1, : s.shape[-2]].swapaxes(-1, -2)


def moved(visible, by):  # lengths that are off by one
    length = visible.sum(axis=-1, keepdims=True) + by
    return np.arange(visible.shape[-1]) < length


def padding(visible):  # what lengths hide
    if not np.array_equal(moved(visible, 0), visible):
        raise ValueError("no lengths")
    return ~visible


def other_text(visible, s):  # masks repeated head by head for scores that lie text by text
    B, H = s.shape[:2]
    return np.broadcast_to(visible, s.shape)[np.arange(B * H) % B, 0].reshape(s.shape)


def cut(x):  # heads cut from [B, n, H·d] by a reshape to [B, H, n, d]
    return x.swapaxes(1, 2).reshape(x.shape)


def joined(o):  # heads [B, H, n, e] joined by a reshape to [B, n, H·e]
    B, H, n, e = o.shape
    return o.reshape(B, n, H, e).swapaxes(1, 2)


def dealt(x):  # heads cut from [B, n, H·d] by a reshape to [B, n, d, H]
    B, H, n, d = x.shape
    return x.swapaxes(1, 2).reshape(B, n, d, H).transpose(0, 3, 1, 2)


@dataclass(frozen=True)
class Mistake:
    """A declared mistake: what is said, and lines of the right function, written otherwise."""

    name: str
    chapter: str
    message: str
    lines: tuple[str, ...]
    of_mask: bool  # whether it shows only where something is hidden


@functools.cache
def mistakes(right: Callable, width: int = 0) -> list[Mistake]:
    """The declared mistakes of attend or softmax, likeliest first; width is that of all heads."""
    of_both, of_attend, of_softmax, _ = _TEXT.replace("WIDTH", str(width)).split("----\n")
    found = []
    for name, f, message in variants(right, of_both + (of_attend, of_softmax)[right is softmax]):
        name, _, chapter = name.rstrip("]").partition(" [")
        lines: tuple[str, ...] = tuple(f.lines)  # type: ignore[attr-defined]
        of_mask = any("visible" in line or "np.where" in line[:15] for line in lines)
        found.append(Mistake(name, chapter, message, lines, of_mask))
    return found


@functools.cache
def tile_mistakes() -> list[tuple[str, Callable, str]]:
    """Those of tiles, each as a name, a function and what is said: the exercise's, and more."""
    from attention_src.exercises.flash import check_tiled_attention, my_tiled_attention

    declared = [(m.name, m.wrong, m.message) for m in check_tiled_attention.mistakes]
    return [*declared, *variants(my_tiled_attention, _TEXT.split("----\n")[-1])]


@functools.cache
def written(right: Callable, *lines: str) -> Callable:
    """The right function with lines written otherwise; it fails when called if they do not fit."""
    return Variant(inspect.unwrap(right), _source(right), *lines) if lines else right


@functools.cache
def _source(right: Callable) -> str:
    return textwrap.dedent(inspect.getsource(right))
