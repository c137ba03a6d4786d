"""The caches: the contiguous one here, the others in files of their own. Import all from here."""

from jaxtyping import Float
from torch import Tensor

from attention_src.kvcache.cache_base import Cache, Growing
from attention_src.kvcache.cache_paged import OutOfPages, PagedKVCache
from attention_src.kvcache.cache_quantized import QuantizedKVCache
from attention_src.kvcache.cache_windowed import WindowedKVCache

__all__ = [
    "Cache",
    "KVCache",
    "OutOfPages",
    "PagedKVCache",
    "QuantizedKVCache",
    "WindowedKVCache",
]


class KVCache(Cache):
    """Everything, one token after the other.

    `read` gives views of the storage. The storage doubles when it is full, so appending a token
    costs a constant time on average; `nbytes` counts the tokens that are there, which is
    `costs.kv_cache_bytes`, and `allocated_nbytes` the storage, at most about twice as much.
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

    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """As `Cache.read`; views, no copy."""
        self._known_layout()
        return self._k.view(), self._v.view()

    @property
    def nbytes(self) -> int:
        """Bytes of the tokens that are there."""
        return self._k.nbytes + self._v.nbytes

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the storage."""
        return self._k.allocated_nbytes + self._v.allocated_nbytes
