"""What all caches share: the interface, the checks of appended tensors, and a growing tensor."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Int32, Shaped
from torch import Tensor

from attention_src.shapes import check_shape, shape
from attention_src.tensors import check_tensors


@dataclass(frozen=True)
class Layout:
    """What the first append fixes for all later ones."""

    H_kv: int
    d_k: int
    d_v: int
    dtype: torch.dtype
    device: torch.device


class Cache(ABC):
    """Keys and values of earlier tokens, for one layer of a model.

        cache.append(k, v)     add the next n tokens of every sequence
        k, v = cache.read()    all held tokens, in order of position, in the appended dtype

    The first append fixes batch size, heads, widths, dtype and device; n = 0 is enough for that.
    Appended tensors are copied and detached: a cache is for inference and keeps no autograd graph.
    `len(cache)` is the number of tokens that `read` returns, that of the longest sequence if they
    differ. An empty cache is falsy, like an empty list: test `cache is None`, not `not cache`.
    """

    batch: int | None = None
    layout: Layout | None = None

    @abstractmethod
    def append(self, k: Float[Tensor, "B H_kv n d_k"], v: Float[Tensor, "B H_kv n d_v"]) -> None:
        """Add the next n tokens of every sequence.

        Args:
            k: [B, H_kv, n, d_k]  keys, already rotated if the model rotates them by position
            v: [B, H_kv, n, d_v]  values
        Raises:
            ValueError: a shape, dtype or device of k and v that does not fit the other or an
                earlier append
        """

    @abstractmethod
    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """All held tokens, in order of position.

        Returns: k [B, H_kv, len, d_k] and v [B, H_kv, len, d_v]; do not write to them
        Raises:
            ValueError: no append yet, so the shapes are unknown
        """

    @abstractmethod
    def __len__(self) -> int:
        """Number of held tokens, of the longest sequence."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes in use for keys and values, with scales and tables."""

    @property
    @abstractmethod
    def allocated_nbytes(self) -> int:
        """Bytes of the storage, including room for the next tokens."""

    @property
    def n_seen(self) -> int:
        """Number of tokens appended so far, held or not: the position of the next one."""
        return len(self)

    @property
    def positions(self) -> Int[Tensor, "held"]:
        """int64 [len]  the 0-based positions of the held tokens, ascending."""
        return torch.arange(len(self), device=self._known_layout().device)

    @property
    def lengths(self) -> Int32[Tensor, "B"]:
        """int32 [B]  the number of held tokens of each sequence."""
        device = self._known_layout().device
        return torch.full((self.batch or 0,), len(self), dtype=torch.int32, device=device)

    def undo(self, n: int) -> Callable[[], None]:
        """What makes the cache again what it is now, after an append.

        Args:
            n: the most tokens that will be appended to a sequence
        Returns: call it to take them back
        """
        before = dict(self.__dict__)
        parts = [(part, dict(part.__dict__)) for part in self._parts()]  # rows behind n may change

        def restore() -> None:
            self.__dict__.clear()
            self.__dict__.update(before)
            for part, its in parts:
                part.__dict__.update(its)

        return restore

    def _parts(self) -> "tuple[Growing, ...]":
        """The growing tensors that an append writes to."""
        return ()

    def _known_layout(self) -> Layout:
        if self.layout is None:
            raise ValueError(
                "the cache has seen no append yet, so it does not know its shapes; append first "
                "(0 tokens will do)"
            )
        return self.layout

    def _admit(self, k: Any, v: Any) -> tuple[Tensor, Tensor]:
        """Check k and v, fix the layout, and return both detached."""
        if not self._fits(k, v):
            self.batch, self.layout = self._check(k, v, self.layout)
        if k.requires_grad or v.requires_grad:
            return k.detach(), v.detach()
        return k, v

    def _fits(self, k: Any, v: Any) -> bool:
        """Whether k and v are as before: a quick test, as every layer runs it for every token."""
        known = self.layout
        if known is None or not (type(k) is type(v) is Tensor and k.ndim == 4):
            return False
        rows = self.batch, known.H_kv, k.shape[2]
        return (
            k.shape == (*rows, known.d_k)
            and v.shape == (*rows, known.d_v)
            and k.dtype == v.dtype == known.dtype
            and k.device == v.device == known.device
            and k.layout is v.layout is torch.strided
        )

    def _check(self, k: Any, v: Any, known: Layout | None) -> tuple[int, Layout]:
        """Check k and v against each other and earlier appends; return batch size and layout."""
        check_tensors(k=k, v=v)
        for name, x, d in (("k", k, "d_k"), ("v", v, "d_v")):
            if x.ndim != 4:
                raise ValueError(f"{name} has shape {shape(x)}; it should be [B, H_kv, n, {d}]")
        check_shape(v, "v", "[B, H_kv, n, d_v]", (*k.shape[:3], v.shape[3]))
        new = Layout(k.shape[1], k.shape[3], v.shape[3], k.dtype, k.device)
        if 0 in (new.H_kv, new.d_k, new.d_v):
            raise ValueError(
                f"k and v have H_kv={new.H_kv}, d_k={new.d_k} and d_v={new.d_v}; each should be at "
                "least 1"
            )
        if known is not None and new != known:
            old = asdict(known)
            changed = [f"{a}={x}, not {old[a]}" for a, x in asdict(new).items() if x != old[a]]
            raise ValueError(f"k and v do not fit what the cache holds: {'; '.join(changed)}")
        if self.batch not in (None, len(k)):
            raise ValueError(f"k and v have B={len(k)}, but the cache holds B={self.batch}")
        return len(k), new


@contextmanager
def restored_on_error(caches: Sequence[Any], n: int) -> Iterator[None]:
    """Leave caches as they were if what follows raises an error: it may try again.

    Args:
        caches: to which tokens will be appended; each has an `undo`
        n: at most how many for each sequence
    Yields: nothing
    Raises:
        Exception: that error, when all is as it was
    """
    undo = [cache.undo(n) for cache in caches]
    try:
        yield
    except Exception:
        for restore in undo:
            restore()
        raise


class Growing:
    """A tensor that grows along axis -2.

    Its storage doubles when it is full, so most appends copy only the new tokens, and n appends of
    one token copy fewer than 3 n tokens in total.
    """

    def __init__(self) -> None:
        self.n = 0
        self._storage: Tensor | None = None

    def append(self, x: Shaped[Tensor, "B H_kv n d"]) -> None:
        """Add rows at the end.

        Args:
            x: [..., n, d]  of the same dtype, leading axes and d at each call
        """
        self.write(x)
        self.n += x.shape[-2]

    def write(self, x: Shaped[Tensor, "B H_kv n d"]) -> None:
        """Put rows behind the last, without counting them.

        Args:
            x: as for `append`
        """
        n_new, d = x.shape[-2:]
        if self._storage is None:
            self._storage = x.new_empty(*x.shape[:-2], 0, d)
        self.reserve(n_new)
        self.storage.narrow(-2, self.n, n_new).copy_(x)

    def reserve(self, n_new: int) -> None:
        """Make room for more rows; not before the first append.

        Args:
            n_new: how many
        """
        n, old = self.n + n_new, self.storage
        if n > old.shape[-2]:
            room = max(n, 2 * self.n)
            grown = old.new_empty(*old.shape[:-2], room, old.shape[-1])
            grown[..., : self.n, :] = old[..., : self.n, :]
            self._storage = grown

    def view(self) -> Tensor:
        """Everything appended, without a copy; not before the first append.

        Returns: [..., n, d]
        """
        return self.storage.narrow(-2, 0, self.n)

    @property
    def storage(self) -> Tensor:
        """The storage: the rows, and room for the next ones, whose numbers may be anything."""
        assert self._storage is not None
        return self._storage

    @property
    def nbytes(self) -> int:
        """Bytes of everything appended."""
        return 0 if self._storage is None else bytes_of(self.view())

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the storage."""
        return 0 if self._storage is None else bytes_of(self._storage)


def bytes_of(*tensors: Tensor) -> int:
    """Bytes of the elements of tensors.

    Args:
        tensors: of any shapes and dtypes
    Returns: the sum of their bytes
    """
    return sum(x.numel() * x.element_size() for x in tensors)
