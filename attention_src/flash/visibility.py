"""Which keys a tile of queries can see: causal and window as arithmetic, never as a whole matrix.

Query i is at position t = i + n_k - n_q among the keys, so that the last query sees the last key.
Where sequences have key lengths of their own, t = i + length - n_q: the last query sees the last
key of its sequence. Works on NumPy arrays and torch tensors alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attention_src.shapes import check_flags, check_size


@dataclass(frozen=True)
class Visibility:
    """Which query sees which key, computed tile by tile.

        visible[t, j] = j <= t + lookahead and (t - j < window or j < sinks)

    Args:
        n_q, n_k: number of queries and of keys
        causal: False and no window = every query sees every key
        window: number of most recent keys visible, including the query's own; implies causal
            unless lookahead says otherwise; None = all
        sinks: number of first keys that stay visible outside the window
        lookahead: number of later keys visible, with a window
    Raises:
        ValueError: a window below 1, negative or fractional sizes, sinks or lookahead without a
            window; causal is neither True nor False
    Source: sinks: Xiao et al. 2023, arXiv:2309.17453. Two-sided windows: Beltagy et al. 2020,
        arXiv:2004.05150, section 3.1.
    """

    n_q: int
    n_k: int
    causal: bool = False
    window: int | None = None
    sinks: int = 0
    lookahead: int = 0

    def __post_init__(self) -> None:
        check_flags(causal=self.causal)
        if self.window is not None:
            check_size(self.window, "window", at_least=1)
        if check_size(self.sinks, "sinks") and self.window is None:
            raise ValueError(
                f"sinks is {self.sinks} but window is None: sinks are what stays visible outside "
                "a window, and without one every key before a query is visible anyway"
            )
        if check_size(self.lookahead, "lookahead") and (self.window is None or self.causal):
            raise ValueError(
                f"lookahead is {self.lookahead} but window is {self.window} and causal is "
                f"{self.causal}; a lookahead is the other side of a window, and not causal"
            )

    @property
    def restricts(self) -> bool:
        """Whether any key can be hidden: causal or windowed."""
        return self.causal or self.window is not None

    def positions(self, i: Any, key_lengths: Any = None) -> Any:
        """Where queries stand among the keys.

        Args:
            i: [rows]  indices of queries
            key_lengths: [B], one number of keys for each sequence; None = n_k
        Returns: [rows], or [B, rows] with key_lengths
        """
        return i - self.n_q + (self.n_k if key_lengths is None else key_lengths[:, None])

    def visible(self, t: Any, j: Any) -> Any:
        """Whether queries see keys.

        Args:
            t: [..., rows]  positions of queries, from `positions`
            j: [columns]  indices of keys
        Returns: bool [..., rows, columns]
        """
        t = t[..., None]
        if self.window is not None:
            return (j <= t + self.lookahead) & ((t - j < self.window) | (j < self.sinks))
        return (j <= t) | (not self.causal)

    def key_blocks(self, i: slice, block_k: int, *, padded: bool = False) -> Iterator[slice]:
        """The blocks of keys that at least one query of a tile sees.

        Args:
            i: the tile's queries
            block_k: keys in a block; the last block may be shorter
            padded: whether sequences have key lengths of their own, so that a tile's window may
                begin anywhere before the place that it has in the longest sequence
        Yields: slices of the keys, in order
        """
        stop, start = self.n_k, 0
        if self.restricts:  # no key after what the tile's last query sees
            stop = max(0, min(stop, i.stop + self.n_k - self.n_q + self.lookahead))
        if self.window is not None and not padded:  # none before the first window, except sinks
            start = i.start + self.n_k - self.n_q - self.window + 1
        for first in range(0, stop, block_k):
            last = min(first + block_k, stop)
            if last > start or first < self.sinks:
                yield slice(first, last)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Cut 0 to n into slices.

    Args:
        n: number of rows
        size: rows in a slice; the last may have fewer
    Returns: the slices, in order
    """
    return (slice(first, min(first + size, n)) for first in range(0, n, size))
