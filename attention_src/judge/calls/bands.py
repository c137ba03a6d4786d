"""Which keys a function lets each query see by itself."""

import functools
from typing import NamedTuple

import numpy as np

INF = float("inf")


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


def window(seen: np.ndarray) -> Band | None:
    """The band that is seen, [n_q, n_k], if it is one."""
    if not seen.any(axis=1).all():
        return None
    for first in (False, True):
        away = np.arange(seen.shape[1]) - np.arange(seen.shape[0])[:, None]
        away -= 0 if first else seen.shape[1] - seen.shape[0]
        ahead, back = int(away[seen].max()), int(-away[seen].min())
        ahead_is_all, back_is_all = ahead == away.max(), back == -away.min()
        words = f"sees {'all' if back_is_all else back} keys before its own"
        words += f" and {'all' if ahead_is_all else ahead} behind"
        band = Band(words, INF if ahead_is_all else ahead, INF if back_is_all else back, first)
        if np.array_equal(band.seen(*seen.shape), seen):
            return band
    return None
