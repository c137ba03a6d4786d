"""The paged cache: sequences spread over pages of one storage, shared until they differ."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int32
from torch import Tensor

from attention_src.kvcache.cache_base import Cache, bytes_of, restored_on_error
from attention_src.kvcache.cache_pool import OutOfPages, PagePool
from attention_src.kvcache.reference import pages_for
from attention_src.shapes import check_size

__all__ = ["OutOfPages", "PagePool", "PagedKVCache"]


class PagedKVCache(Cache):
    """Sequences of different lengths in pages of `page_size` tokens, from a pool of `n_pages`.

        token j of sequence b is in page block_table[b, j // page_size], at slot j % page_size

    A sequence takes a page when its last one is full, so it wastes at most `page_size - 1` slots,
    however long it gets. `fork` returns another cache on the same pool, whose sequences share all
    pages; a shared page is copied before it is written to. The storage, `k_pages`
    [n_pages, H_kv, page_size, d_k] and `v_pages`, is allocated at the first append.

    Args:
        page_size: tokens in a page
        n_pages: pages in the pool
    Raises:
        ValueError: a size that is fractional or below 1
    Source: Kwon et al. 2023 (vLLM), arXiv:2309.06180, sections 4.1 to 4.4 (their KV blocks are our
        pages).
    """

    def __init__(self, page_size: int, n_pages: int):
        self.page_size = check_size(page_size, "page_size", at_least=1)
        self.n_pages = check_size(n_pages, "n_pages", at_least=1)
        self._pool = PagePool(self.page_size, self.n_pages)
        self._tables: list[list[int]] = []  # the pages of each sequence, in order
        self._lengths: list[int] = []
        self._n_of_none = 0  # what all lengths would be if B were not 0
        self._table: Tensor | None = None  # the tables as a tensor, made on demand

    def append(
        self,
        k: Float[Tensor, "B H_kv n d_k"],
        v: Float[Tensor, "B H_kv n d_v"],
        lengths: Any = None,
    ) -> None:
        """As `Cache.append`, with a different number of tokens for each sequence.

        Args:
            k, v: as for `Cache.append`
            lengths: int [B]  how many of the n tokens each sequence gets, the first ones; None =
                all n
        Raises:
            OutOfPages: a ValueError that says how many pages are needed and how many are free; the
                cache is unchanged
            ValueError: as `Cache.append`; lengths that are not whole numbers from 0 to n
        """
        batch, layout = self._check(k, v, self._pool.layout)
        tables = self._tables or [[] for _ in range(batch)]
        starts = self._lengths or [0] * batch
        counts = _check_lengths(lengths, batch, k.shape[-2])
        copies, new_pages = self._plan(tables, starts, counts)
        with restored_on_error([self], k.shape[-2]):
            self._pool.allocate(layout)
            self.batch, self.layout, self._tables = batch, layout, tables
            self._take_pages(copies, new_pages)
            self._lengths = [start + count for start, count in zip(starts, counts, strict=True)]
            self._n_of_none += 0 if batch else k.shape[-2]
            self._write(k.detach(), v.detach(), starts, counts)

    def undo(self, n: int) -> Callable[[], None]:
        """As `Cache.undo`, of the pool too: which page is whose, not what is in free slots."""
        restore, pool = super().undo(n), self._pool
        tables, before = [list(table) for table in self._tables], dict(pool.__dict__)
        before |= dict(users=list(pool.users), free=list(pool.free))

        def restore_all() -> None:
            restore()
            self._tables = tables
            pool.__dict__.update(before)

        return restore_all

    def fork(self, sequences: Sequence[int] | None = None) -> "PagedKVCache":
        """Another cache that starts with the same tokens, in the same pages.

        Args:
            sequences: the sequences to take over, in order; repeats are allowed: [0] * 8 continues
                one prompt in eight ways. None = each once
        Returns: a cache on the same pool; appends to one do not change the other. Only `free`
            returns pages to the pool.
        Raises:
            ValueError: a sequence that does not exist
        Cost: copies no page; each later write to a shared page copies that page.
        """
        sequences = self._check_sequences(sequences)
        fork = copy.copy(self)
        fork._tables = [list(self._tables[b]) for b in sequences]
        fork._lengths = [self._lengths[b] for b in sequences]
        fork.batch = None if self.batch is None else len(sequences)
        fork._table = None
        for page in (page for table in fork._tables for page in table):
            self._pool.share(page)
        return fork

    def free(self, sequences: Sequence[int] | None = None) -> None:
        """Return the pages of sequences to the pool; each is then empty and can be used again.

        Args:
            sequences: which to free; None = all
        Raises:
            ValueError: a sequence that does not exist
        """
        for b in self._check_sequences(sequences):
            for page in self._tables[b]:
                self._pool.release(page)
            self._tables[b], self._lengths[b] = [], 0
        self._n_of_none, self._table = 0, None

    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """As `Cache.read`, as copies, with 0 after the end of each sequence (see `lengths`)."""
        self._known_layout()
        n = len(self)
        past_end = torch.arange(n, device=self.lengths.device) >= self.lengths[:, None]
        table = self.block_table.clamp(min=0).long()
        read = []
        for pages in (self.k_pages, self.v_pages):
            x = pages[table]  # [B, max_pages, H_kv, page_size, d]
            x = x.transpose(1, 2).flatten(2, 3)[:, :, :n]  # [B, H_kv, n, d]
            read.append(x.masked_fill(past_end[:, None, :, None], 0))
        return read[0], read[1]

    def __len__(self) -> int:
        return max(self._lengths, default=self._n_of_none)

    @property
    def lengths(self) -> Int32[Tensor, "B"]:
        """As `Cache.lengths`; here they may differ."""
        device = self._known_layout().device
        return torch.tensor(self._lengths, dtype=torch.int32, device=device)

    @property
    def block_table(self) -> Int32[Tensor, "B max_pages"]:
        """int32 [B, max_pages]  the pages of each sequence, padded with −1."""
        return self._cpu_table().to(self._known_layout().device)

    @property
    def k_pages(self) -> Float[Tensor, "n_pages H_kv page_size d_k"]:
        """The pool's storage of keys, shared with every fork."""
        self._known_layout()
        assert self._pool.k_pages is not None
        return self._pool.k_pages

    @property
    def v_pages(self) -> Float[Tensor, "n_pages H_kv page_size d_v"]:
        """The pool's storage of values, shared with every fork."""
        self._known_layout()
        assert self._pool.v_pages is not None
        return self._pool.v_pages

    @property
    def n_free_pages(self) -> int:
        """Number of free pages in the pool."""
        return len(self._pool.free)

    @property
    def n_used_pages(self) -> int:
        """Number of different pages that this cache uses, shared with forks or not."""
        return len({page for table in self._tables for page in table})

    @property
    def nbytes(self) -> int:
        """Bytes of the pages this cache uses, shared or not, of the table and of the lengths."""
        if self.layout is None:
            return 0
        page_bytes = bytes_of(self.k_pages, self.v_pages) // self.n_pages
        return self.n_used_pages * page_bytes + bytes_of(self.block_table, self.lengths)

    @property
    def allocated_nbytes(self) -> int:
        """Bytes of the whole pool, of the table and of the lengths."""
        if self.layout is None:
            return 0
        return bytes_of(self.k_pages, self.v_pages, self.block_table, self.lengths)

    def _plan(
        self, tables: list[list[int]], starts: list[int], counts: list[int]
    ) -> tuple[list[int], list[int]]:
        """Which sequences must copy their last page, and how many new pages each takes.

        A partly filled last page that other sequences use too is copied before it is written to; if
        all of its users write, the last one keeps it.
        """
        copies, new_pages, users = [], [], list(self._pool.users)
        for b, (table, start, count) in enumerate(zip(tables, starts, counts, strict=True)):
            if count and start % self.page_size and users[table[-1]] > 1:
                copies.append(b)
                users[table[-1]] -= 1
            new_pages.append(pages_for(start + count, self.page_size) - len(table))
        needed = len(copies) + sum(new_pages)
        if needed > self.n_free_pages:
            raise OutOfPages(needed, self.n_free_pages)
        return copies, new_pages

    def _take_pages(self, copies: list[int], new_pages: list[int]) -> None:
        for b in copies:
            self._tables[b][-1] = self._pool.copy(self._tables[b][-1])
        for table, n in zip(self._tables, new_pages, strict=True):
            table.extend(self._pool.take() for _ in range(n))
        if copies or any(new_pages) or not self._tables:
            self._table = None

    def _write(self, k: Tensor, v: Tensor, starts: list[int], counts: list[int]) -> None:
        """Write the first counts[b] tokens of sequence b after its starts[b] tokens."""
        start, count = torch.tensor([starts, counts], dtype=torch.int64)  # of B = 0 too
        b = torch.arange(len(counts)).repeat_interleave(count)  # [T]  sequence of each new token
        token = torch.arange(len(b)) - (count.cumsum(0) - count)[b]  # its index in k and v
        position = start[b] + token  # its position in the sequence
        page = self._cpu_table()[b, position // self.page_size].long()
        indices = torch.stack([page, position % self.page_size, b, token])
        page, slot, b, token = indices.to(k.device)
        self.k_pages[page, :, slot] = k[b, :, token]  # [T, H_kv, d_k]
        self.v_pages[page, :, slot] = v[b, :, token]  # [T, H_kv, d_v]

    def _cpu_table(self) -> Int32[Tensor, "B max_pages"]:
        if self._table is None:
            width = pages_for(len(self), self.page_size)
            rows = [table + [-1] * (width - len(table)) for table in self._tables]
            self._table = torch.tensor(rows, dtype=torch.int32).reshape(len(rows), width)
        return self._table

    def _check_sequences(self, sequences: Sequence[int] | None) -> list[int]:
        if sequences is None:
            return list(range(len(self._tables)))
        checked = _whole_numbers(sequences, "sequences")
        if any(b >= len(self._tables) for b in checked):
            raise ValueError(
                f"sequences is {checked}, but the cache has {len(self._tables)} sequences; each "
                f"should be below {len(self._tables)}"
            )
        return checked


def _check_lengths(lengths: Any, batch: int, n: int) -> list[int]:
    """How many of the n tokens each sequence gets."""
    if lengths is None:
        return [n] * batch
    checked = _whole_numbers(lengths, "lengths")
    if len(checked) != batch or any(x > n for x in checked):
        raise ValueError(
            f"lengths is {checked}; it should be B={batch} whole numbers between 0 and n={n}"
        )
    return checked


def _whole_numbers(values: Any, name: str) -> list[int]:
    try:
        values = list(values)
    except TypeError:
        raise ValueError(f"{name} is {values!r}; it should be a list of whole numbers") from None
    return [check_size(value, f"each of {name}") for value in values]
