"""Which keys a tile of queries can see: causal and window as arithmetic, never as a whole matrix.

Query i stands at position t = i + n_k - n_q among the keys, so that the last query sees the last
key. Works on NumPy arrays and torch tensors alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attention_src.shapes import check_size


@dataclass(frozen=True)
class Rule:
    """Who may look at whom, asked tile by tile.

        visible[i, j] = j <= t and (t - j < window or j < sinks),  t = i + n_k - n_q

    Args:
        n_q, n_k: number of queries and of keys
        causal: False and no window = every key is visible to every query
        window: how many of the last keys are visible, counting one's own; it implies causal;
            None = all of them
        sinks: how many of the first keys stay visible outside the window
    Raises:
        ValueError: a window below 1, negative or fractional sizes, sinks without a window
    Source: sinks: Xiao et al. 2023, arXiv:2309.17453.
    """

    n_q: int
    n_k: int
    causal: bool = False
    window: int | None = None
    sinks: int = 0

    def __post_init__(self) -> None:
        if self.window is not None:
            check_size(self.window, "window", at_least=1)
        if check_size(self.sinks, "sinks") and self.window is None:
            raise ValueError(
                f"sinks is {self.sinks} but window is None: sinks are what stays visible outside "
                "a window, and without one every key before a query is visible anyway"
            )

    @property
    def looks_back_only(self) -> bool:
        """Whether anything is hidden at all."""
        return self.causal or self.window is not None

    def visible(self, i: Any, j: Any) -> Any:
        """Boolean [len(i), len(j)]: whether the queries i may look at the keys j."""
        t, j = i[:, None] + (self.n_k - self.n_q), j[None, :]
        if self.window is not None:
            return (j <= t) & ((t - j < self.window) | (j < self.sinks))
        return (j <= t) | (not self.causal)

    def key_blocks(self, i: slice, block_k: int) -> Iterator[slice]:
        """The blocks of keys that at least one query of a tile can see.

        Args:
            i: the queries of the tile, first and one behind the last
            block_k: keys in a block; the last block may be shorter
        Yields: slices of the keys, in order
        """
        stop, start = self.n_k, 0
        if self.looks_back_only:  # nothing behind the tile's last query
            stop = max(0, min(stop, i.stop + self.n_k - self.n_q))
        if self.window is not None:  # nothing before the window of its first query, except sinks
            start = i.start + self.n_k - self.n_q - self.window + 1
        for first in range(0, stop, block_k):
            last = min(first + block_k, stop)
            if last > start or first < self.sinks:
                yield slice(first, last)


def blocks(n: int, size: int) -> Iterator[slice]:
    """0 to n in steps of `size`; the last block may be shorter."""
    return (slice(first, min(first + size, n)) for first in range(0, n, size))
