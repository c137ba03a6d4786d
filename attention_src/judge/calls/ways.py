"""Ways to call a function: sizes, layouts, masks; what an answer is, and when two are the same."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attention_src.judge.calls.arrays import Array, Convert, Sizes

INF = float("inf")
SIZES = {
    "B": 2,
    "H": 3,
    "G": 3,
    "q": 5,
    "k": 8,
    "d": 4,
    "e": 11,
    "D": 4,
}  # all different, and n_k - n_q > 2
OTHER_SIZES = {"grouped": {"H": 6}, "tiled": {"q": 6, "k": 9}, "multihead": {"D": 12}}
QKV = {"q": "BHqd", "k": "BGkd", "v": "BGke"}  # axes, in our order
ARRAYS = {"q": "queries", "k": "keys", "v": "values"}
LAYOUTS = {
    "attention": [
        "BHnd",
        "BnHd",
        "Bnd",
        "nd",
        "Hnd",
        "nHd",
        "nBHd",
        "nBd",
        "Bn(Hd)",
        "n(Hd)",
        "dn",
    ],
    "multihead": ["Bn(Hd)", "nB(Hd)", "n(Hd)"],
    "grouped": ["BHnd", "BnHd", "Hnd", "nHd", "nBHd"],
    "softmax": ["BHqk", "Bqk", "qk", "Hqk"],
}
FORMATS: dict[str, Callable[[Array], Array]] = {  # of a mask, from "may see?" to what people pass
    "True = may attend": lambda see: see,
    "True hides": lambda see: ~see,
    "1 = may attend": lambda see: see.astype(float),
    "1 hides": lambda see: (~see).astype(float),
    "added to the scores, -inf hides": lambda see: np.where(see, 0.0, -np.inf),
    "added to the scores, -1e9 hides": lambda see: np.where(see, 0.0, -1e9),
    "lengths": lambda see: see.sum(axis=-1),
}
BIASES = FORMATS | {"1.5 more": lambda see: np.where(see, 0.0, 1.5)}
MASKS = ["qk", "Bqk", "B1qk", "BHqk", "11qk", "1qk", "Hqk"]  # axes of masks, likeliest first
MASKS += ["B11k", "B1k", "Bk", "k", "qkB", "qk1", "B", "Bq"]


@dataclass
class How:
    """One way to call the function: with which arrays, axes, mask (axes and format), and more."""

    framework: Convert
    layout: str
    sizes: Sizes
    mask: tuple[str, str] = ("", "")
    extra: dict[str, Any] = field(default_factory=dict)


class Trial(NamedTuple):
    """What it gave: the answer in our axes, its layout, what else, and which inputs changed."""

    o: Array
    layout: str
    others: list[Array]
    changed: list[str]


def see_some(how: How, seed: int) -> Array:
    """A random "may see", constant along the axes that the mask lacks; every query sees a key."""
    sizes, rng = how.sizes, np.random.default_rng(seed)
    shape = [sizes[a] if a in how.mask[0] else 1 for a in "BHqk"]
    see = rng.random(shape) < 0.6
    see[..., 0] |= ~see.any(axis=-1)
    if how.mask[1] == "lengths":
        see = np.arange(sizes["k"]) < rng.integers(2, sizes["k"], [*shape[:-1], 1])
    return np.broadcast_to(see, [sizes[a] for a in "BHqk"])


def same(trial: Any, right: Any, tolerance: float = 1e-5, nan: bool = False) -> bool:
    """Whether two answers are the same but for rounding."""
    a, b = (x.o if isinstance(x, Trial) else x for x in (trial, right))
    if a is None or b is None or a.shape != b.shape:
        return False
    with np.errstate(all="ignore"):
        near = (np.abs(a - b) <= tolerance * (1 + np.abs(b))) | (a == b)
        near = near | (np.isnan(a) & np.isnan(b)) if nan else near
    return bool(near.all()) and not np.isnan(a).all()


class Band(NamedTuple):
    """Query i sees key j if j lies at most `back` before its own place, and `ahead` behind it.

    -1 is not even its own place. Places are counted from the last token, or from the first.
    """

    name: str
    ahead: float = INF
    back: float = INF
    first: bool = False

    @functools.cache  # noqa: B019 - bands are few
    def seen(self, n_q: int, n_k: int) -> np.ndarray:
        """True where a query sees a key, [n_q, n_k]; read only."""
        away = np.arange(n_k) - np.arange(n_q)[:, None] - (0 if self.first else n_k - n_q)
        seen = (away <= self.ahead) & (away >= -self.back)
        seen.flags.writeable = False
        return seen


ALL = Band("")
CAUSAL = [
    Band("hides the future (the last query sees the last key)", 0),
    Band("hides the future (the first query sees the first key)", 0, first=True),
]
MISTAKEN = [
    band
    for first in (False, True)
    for band in (
        Band("own key hidden", -1, first=first),
        Band("one key ahead", 1, first=first),
        Band("upside down", INF, 0, first),
        Band("future alone", INF, -1, first),
    )
]
BANDS = [ALL, *CAUSAL, *MISTAKEN]
MORE = "with more keys than queries"
CORNERS = ("the last query sees the last key", "the first query sees the first key")


def window(seen: np.ndarray, causal: bool = False) -> Band | None:
    """The band that is seen, [n_q, n_k], if it is one; rather one that ends with its own place."""
    if not seen.any(axis=1).all():
        return None
    found = []
    for first in (False, True):
        away = np.arange(seen.shape[1]) - np.arange(seen.shape[0])[:, None]
        away -= 0 if first else seen.shape[1] - seen.shape[0]
        ahead, back = int(away[seen].max()), int(-away[seen].min())
        ahead_is_all, back_is_all = ahead == away.max(), back == -away.min()
        words = f"sees {'all' if back_is_all else back} keys before its own"
        words += f" and {'all' if ahead_is_all else ahead} behind"
        band = Band(words, INF if ahead_is_all else ahead, INF if back_is_all else back, first)
        if np.array_equal(band.seen(*seen.shape), seen):
            found.append(band)
    found.sort(key=lambda band: causal and band.ahead != 0)
    return found[0] if found else None
