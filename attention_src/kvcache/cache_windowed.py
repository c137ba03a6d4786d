"""A cache of the last tokens and the first few: a ring of places."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_src.kvcache.cache_base import Cache, bytes_of
from attention_src.shapes import check_size


class WindowedKVCache(Cache):
    """The last `window` tokens and the first `sinks`: memory that does not grow.

        held = {j : j < sinks or n_seen - j <= window}

    That is what the newest token sees under `attention.masks.window_mask`. `len` counts the held
    tokens, `n_seen` all that were appended, and `positions` says where the held ones stood. The
    storage is a ring of `window` places behind `sinks` fixed ones: a new token overwrites the
    oldest one of the window.

    When several tokens are appended at once, `read` afterwards holds what the last of them sees;
    the others saw keys that may be gone. So a prefill attends first, to what was held before and to
    the new tokens, under `window_mask`, and appends then. StreamingLLM rotates keys by their place
    in the cache instead of in the text: append unrotated keys and rotate what `read` gives back, by
    `torch.arange(len(cache))`, or by `positions` for places in the text.

    Args:
        window: how many of the last tokens to hold, at least 1
        sinks: how many of the first tokens to hold for good
    Raises:
        ValueError: a window below 1, or negative or fractional sizes
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
        """How many tokens were appended, held or not: the position of the next one."""
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
        new, places = (positions - self.n_seen).to(k.device), self._place(positions).to(k.device)
        self._k[:, :, places] = k[:, :, new]
        self._v[:, :, places] = v[:, :, new]
        self._n_seen = n_seen

    def _place(self, positions: Int[Tensor, "n"]) -> Int[Tensor, "n"]:
        """Where tokens lie: sinks at their own places, the others round the ring."""
        ring = self.sinks + (positions - self.sinks) % self.window
        return torch.where(positions < self.sinks, positions, ring)

    @property
    def positions(self) -> Int[Tensor, "held"]:
        """int64 [len]  the 0-based positions of the held tokens, ascending."""
        device = self._known_layout().device
        sinks = torch.arange(min(self.sinks, self.n_seen), device=device)
        start = max(len(sinks), self.n_seen - self.window)
        return torch.cat([sinks, torch.arange(start, self.n_seen, device=device)])

    def stored(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """The held tokens in the order of their storage, as views: attention of one query does not
        ask for the order of its keys.

        Raises:
            ValueError: nothing was ever appended
        """
        self._known_layout()
        assert self._k is not None and self._v is not None
        return self._k[:, :, : len(self)], self._v[:, :, : len(self)]

    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """As `Cache.read`; copies, because the ring begins anywhere."""
        k, v = self.stored()
        places = self._place(self.positions)
        return k[:, :, places], v[:, :, places]

    @property
    def nbytes(self) -> int:
        """Bytes of the held tokens."""
        return 0 if self._k is None else bytes_of(*self.stored())

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the ring and the sinks, from the first append on."""
        return 0 if self._k is None or self._v is None else bytes_of(self._k, self._v)
