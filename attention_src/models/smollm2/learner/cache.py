"""Keys and values of one layer, in storage that the part append_and_read fills."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.models.smollm2.config import Config
from attention_src.models.smollm2.learner.dispatch import Parts


class OwnCache:
    """Storage for `capacity` tokens, made once, of which `n_seen` are filled.

    Args:
        parts: with an append_and_read
        shape: (B, H_kv, capacity, d_head)
    """

    def __init__(self, parts: Parts, shape: tuple[int, int, int, int]) -> None:
        self.keys, self.values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.parts, self.n_seen = parts, 0

    def append_and_read(self, k: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Append the next n tokens.

        Args:
            k, v: [B, H_kv, n, d_head]  k rotated
        Returns: all keys and values so far, twice [B, H_kv, n_seen, d_head]
        Raises:
            PartError: they do not fit, or are not what they should be
        """
        stored = self.keys, self.values
        keys, values = self.parts.append_and_read(*stored, self.n_seen, k, v)
        self.n_seen += k.shape[-2]
        return keys, values

    def undo(self, n: int) -> Callable[[], None]:
        """As `Cache.undo`: what is behind the first n_seen tokens may be anything.

        Args:
            n: not needed
        Returns: call it to take appended tokens back
        """
        n_seen = self.n_seen

        def restore() -> None:
            self.n_seen = n_seen

        return restore


def make_own_caches(
    cache: Any, parts: Parts, config: Config, batch: int, capacity: int
) -> list[OwnCache]:
    """Make empty storage, one per layer.

    Args:
        cache: "contiguous", the only kind that a part fills
        parts: of the model
        config: its sizes
        batch: B
        capacity: room for this many tokens
    Returns: one cache a layer
    Raises:
        ValueError: another cache
    """
    if cache != "contiguous":
        raise ValueError(
            f'cache is {cache!r}; a model on parts has "contiguous" storage or None, no cache'
        )
    shape = (batch, config.n_kv_heads, capacity, config.d_head)
    return [OwnCache(parts, shape) for _ in range(config.n_layers)]
