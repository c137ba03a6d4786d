"""The contiguous cache. Import the other caches from here too."""

import numpy as np
from jaxtyping import Float, Int16
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
    `allocated_nbytes` counts the storage, about twice as much at most.
    """

    def __init__(self) -> None:
        self._k, self._v = Growing(), Growing()

    def __len__(self) -> int:
        return self._k.n

    def append(self, k: Float[Tensor, "B H_kv n d_k"], v: Float[Tensor, "B H_kv n d_v"]) -> None:
        """As `Cache.append`."""
        k, v = self._admit(k, v)
        self._k.append(k)
        self._v.append(v)

    def extend(self, n: int) -> None:
        """Add the next n tokens of every sequence; the caller then writes their rows.

        So a compiled loop puts a key where it belongs, in rows len - n to len - 1 of `storage` or
        `storage_bits`, which may hold anything before.

        Args:
            n: number of new tokens
        Raises:
            ValueError: no append yet; n is no whole number, or negative
        """
        self._known_layout()
        n = check_size(n, "n", at_least=0)
        self._k.extend(n)
        self._v.extend(n)

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
        return self._k.bits, self._v.bits

    @property
    def nbytes(self) -> int:
        """Bytes of the held tokens."""
        return self._k.nbytes + self._v.nbytes

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the storage."""
        return self._k.allocated_nbytes + self._v.allocated_nbytes
