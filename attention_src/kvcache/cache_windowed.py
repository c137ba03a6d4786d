"""A cache that keeps the last tokens and the first few, in a ring buffer."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_src.kvcache.cache_base import Cache, bytes_of
from attention_src.shapes import check_size


class WindowedKVCache(Cache):
    """The last `window` tokens and the first `sinks`, in constant memory.

        held = {j : j < sinks or n_seen - j <= window}

    These are the keys visible to the newest token under `attention.masks.window_mask`. `len` counts
    the held tokens, `n_seen` all tokens appended, and `positions` gives the positions of the held
    ones. The storage is `sinks` fixed slots and a ring of `window` slots: a new token overwrites
    the oldest one of the window.

    After an append of several tokens, `read` returns the keys visible to the last of them; keys
    visible only to the others may be gone. So a prefill first attends to the held and the new
    tokens under `window_mask`, and then appends. StreamingLLM rotates keys by their place in the
    cache, not in the text: append unrotated keys and rotate the result of `read` by
    `torch.arange(len(cache))`; to rotate by place in the text, use `positions`.

    Args:
        window: number of last tokens to hold, at least 1
        sinks: number of first tokens to hold for good
    Raises:
        ValueError: a window below 1; a negative or fractional size
    Source: Xiao et al. 2023 (StreamingLLM), arXiv:2309.17453, section 3.2.
    """

    def __init__(self, window: int, sinks: int = 0):
        self.window = check_size(window, "window", at_least=1)
        self.sinks = check_size(sinks, "sinks")
        self._n_seen = 0
        self._k: Tensor | None = None
        self._v: Tensor | None = None

    def __len__(self) -> int:
        return min(self._n_seen, self.sinks + self.window)

    @property
    def n_seen(self) -> int:
        """As `Cache.n_seen`."""
        return self._n_seen

    def append(self, k: Float[Tensor, "B H_kv n d_k"], v: Float[Tensor, "B H_kv n d_v"]) -> None:
        """As `Cache.append`."""
        k, v = self._admit(k, v)
        if self._k is None or self._v is None:
            shape = (*k.shape[:2], self.sinks + self.window)
            self._k, self._v = k.new_empty(*shape, k.shape[-1]), v.new_empty(*shape, v.shape[-1])
        n_seen = self.n_seen + k.shape[-2]
        positions = torch.arange(self.n_seen, n_seen)
        positions = positions[(positions < self.sinks) | (n_seen - positions <= self.window)]
        new, slots = (positions - self.n_seen).to(k.device), self._slots(positions).to(k.device)
        self._k[:, :, slots] = k[:, :, new]
        self._v[:, :, slots] = v[:, :, new]
        self._n_seen = n_seen

    def undo(self, n: int) -> Callable[[], None]:
        """As `Cache.undo`, with the tokens that the next n will overwrite."""
        restore = super().undo(n)
        if self._k is None or self._v is None:
            return restore
        k, v, n = self._k, self._v, min(n, self.sinks + self.window)
        slots = self._slots(torch.arange(self.n_seen, self.n_seen + n)).to(k.device)
        old_k, old_v = k[:, :, slots], v[:, :, slots]  # copies

        def restore_all() -> None:
            restore()
            k[:, :, slots], v[:, :, slots] = old_k, old_v

        return restore_all

    def _slots(self, positions: Int[Tensor, "n"]) -> Int[Tensor, "n"]:
        """Index in the storage: sinks first, the other tokens around the ring."""
        ring = self.sinks + (positions - self.sinks) % self.window
        return torch.where(positions < self.sinks, positions, ring)

    @property
    def positions(self) -> Int[Tensor, "held"]:
        """As `Cache.positions`."""
        device = self._known_layout().device
        sinks = torch.arange(min(self.sinks, self.n_seen), device=device)
        start = max(len(sinks), self.n_seen - self.window)
        return torch.cat([sinks, torch.arange(start, self.n_seen, device=device)])

    def stored(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """The held tokens in storage order, without a copy: one query can attend in any order.

        Returns: k [B, H_kv, len, d_k] and v [B, H_kv, len, d_v]; do not write to them
        Raises:
            ValueError: no append yet
        """
        self._known_layout()
        assert self._k is not None and self._v is not None
        return self._k[:, :, : len(self)], self._v[:, :, : len(self)]

    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """As `Cache.read`, as copies, because the ring starts anywhere."""
        k, v = self.stored()
        slots = self._slots(self.positions)
        return k[:, :, slots], v[:, :, slots]

    @property
    def nbytes(self) -> int:
        """Bytes of the held tokens."""
        return 0 if self._k is None else bytes_of(*self.stored())

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the sinks and the ring; 0 before the first append."""
        return 0 if self._k is None or self._v is None else bytes_of(self._k, self._v)
