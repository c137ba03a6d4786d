"""The pages that paged caches share: storage, how many use each page, and which are free."""

from typing import Any

import torch
from torch import Tensor

from attention_src.kvcache.cache_base import Layout


class OutOfPages(ValueError):
    """An append needed more pages than are free; the cache is as it was before.

    Args:
        needed: pages that the append would have taken
        free: pages that were free
    """

    def __init__(self, needed: int, free: int):
        self.needed, self.free = needed, free
        super().__init__(
            f"the append needs {needed} pages but {free} are free; nothing was appended. Free a "
            "sequence or a fork, or make the pool larger: n_pages"
        )


class PagePool:
    """The storage that caches share: pages, who uses them (a count each), and which are free."""

    def __init__(self, page_size: int, n_pages: int):
        self.page_size = page_size
        self.users = [0] * n_pages
        self.free = list(range(n_pages))[::-1]  # taken from the end: page 0 first
        self.layout: Layout | None = None
        self.k_pages: Tensor | None = None  # [n_pages, H_kv, page_size, d_k]
        self.v_pages: Tensor | None = None  # [n_pages, H_kv, page_size, d_v]

    def allocate(self, layout: Layout) -> None:
        """Make the storage, once the layout is known."""
        if self.layout is None:
            shape = (len(self.users), layout.H_kv, self.page_size)
            options: dict[str, Any] = dict(dtype=layout.dtype, device=layout.device)
            self.k_pages = torch.empty(*shape, layout.d_k, **options)
            self.v_pages = torch.empty(*shape, layout.d_v, **options)
            self.layout = layout

    def take(self) -> int:
        """A free page, now with one user."""
        page = self.free.pop()
        self.users[page] = 1
        return page

    def share(self, page: int) -> None:
        """One user more."""
        self.users[page] += 1

    def release(self, page: int) -> None:
        """One user less; without users a page is free."""
        self.users[page] -= 1
        if self.users[page] == 0:
            self.free.append(page)

    def copy(self, page: int) -> int:
        """A page of one's own with the same contents, in place of a shared one."""
        own = self.take()
        for pages in (self.k_pages, self.v_pages):
            assert pages is not None
            pages[own] = pages[page]
        self.release(page)
        return own
