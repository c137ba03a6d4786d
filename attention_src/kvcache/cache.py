"""The contiguous cache. Import the other caches from here too."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int16, Shaped
from torch import Tensor

from attention_src.kvcache.cache_base import Cache, Growing
from attention_src.kvcache.cache_paged import OutOfPages, PagedKVCache
from attention_src.kvcache.cache_quantized import QuantizedKVCache
from attention_src.kvcache.cache_windowed import WindowedKVCache
from attention_src.shapes import check_size

__all__ = [
    "Cache",
    "KVCache",
    "OutOfPages",
    "PagedKVCache",
    "QuantizedKVCache",
    "WindowedKVCache",
]


class KVCache(Cache):
    """Every token, stored contiguously.

    `read` returns views of the storage. The storage doubles when it is full, so appending a token
    takes constant time on average. `nbytes` counts the held tokens, as `costs.kv_cache_bytes` does;
    `allocated_nbytes` counts the storage, about twice as much at most, or what `reserve` asked for.
    """

    def __init__(self) -> None:
        self._k, self._v = Growing(), Growing()
        self._viewed: tuple = (None, None)  # the storage that the bits belong to
        self._bits: tuple = ()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the bits: a copy has storage of its own."""
        return self.__dict__ | {"_viewed": (None, None), "_bits": ()}

    def __len__(self) -> int:
        return self._k.n

    def append(self, k: Float[Tensor, "B H_kv n d_k"], v: Float[Tensor, "B H_kv n d_v"]) -> None:
        """As `Cache.append`."""
        k, v = self._admit(k, v)
        self._viewed, self._bits = (None, None), ()  # a kept view would hold the old storage
        self._k.write(k)
        self._v.write(v)
        self._k.n += k.shape[2]  # only now, because writing v may fail too
        self._v.n += v.shape[2]

    def reserve(self, n: int) -> None:
        """Make room for n more tokens of every sequence, for a caller that writes them itself.

        A compiled loop writes a key straight into row len of `storage` or `storage_bits`.
        Then `extend` counts it.

        Args:
            n: number of tokens to come
        Raises:
            ValueError: no append yet; n is no whole number, or negative
        """
        self._known_layout()
        n = check_size(n, "n", at_least=0)
        self._k.reserve(n)
        self._v.reserve(n)

    def extend(self, n: int) -> None:
        """Count n more tokens of every sequence, which a caller wrote into the next n rows.

        Args:
            n: number of written tokens
        Raises:
            ValueError: no append yet; n is no whole number, negative, or beyond the reserved room
        """
        room = self.storage()[0].shape[2] - len(self)
        n = check_size(n, "n", at_least=0)
        if n > room:
            raise ValueError(f"n is {n}, but there is room for {room} more tokens; call reserve")
        self._k.n += n
        self._v.n += n

    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """As `Cache.read`, without a copy."""
        self._known_layout()
        return self._k.view(), self._v.view()

    def storage(
        self,
    ) -> tuple[Float[Tensor, "B H_kv room d_k"], Float[Tensor, "B H_kv room d_v"]]:
        """The storage of keys and values, without a copy. Its shape changes only when it doubles.

        Returns: k [B, H_kv, room, d_k] and v [B, H_kv, room, d_v]: the held tokens, and then
            numbers that may be anything
        Raises:
            ValueError: no append yet
        """
        self._known_layout()
        return self._k.storage, self._v.storage

    def storage_bits(
        self,
    ) -> tuple[Int16[np.ndarray, "B H_kv room d_k"], Int16[np.ndarray, "B H_kv room d_v"]]:
        """As `storage`, for numbers of 16 bits on a CPU: their bits, for code that is not torch's.

        Returns: k and v, int16, in the same memory
        Raises:
            ValueError: no append yet; another size of numbers, or another device
        """
        known = self._known_layout()
        if known.dtype.itemsize != 2 or known.device.type != "cpu":
            raise ValueError(
                f"the cache holds {known.dtype} on {known.device}; it should hold numbers of 16 "
                "bits on a CPU"
            )
        k, v = self.storage()
        if self._viewed[0] is not k or self._viewed[1] is not v:  # the first time, or it doubled
            self._viewed, self._bits = (k, v), (_bits(k), _bits(v))
        return self._bits

    def _parts(self) -> tuple[Growing, ...]:
        return self._k, self._v

    @property
    def nbytes(self) -> int:
        """Bytes of the held tokens."""
        return self._k.nbytes + self._v.nbytes

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the storage."""
        return self._k.allocated_nbytes + self._v.allocated_nbytes


def _bits(x: Shaped[Tensor, "*axes"]) -> Int16[np.ndarray, "*axes"]:
    return x.view(torch.int16).numpy()
