"""The pages that paged caches share: storage, users of each page, free pages."""

from typing import Any

import torch
from torch import Tensor

from attention_src.kvcache.cache_base import Layout


class OutOfPages(ValueError):
    """An append needed more pages than are free; the cache is unchanged.

    Args:
        needed: pages that the append needs
        free: pages that are free
    """

    def __init__(self, needed: int, free: int):
        self.needed, self.free = needed, free
        super().__init__(
            f"the append needs {needed} pages but {free} are free; nothing was appended. Free a "
            "sequence or a fork, or make the pool larger: n_pages"
        )


class PagePool:
    """The storage of all forks of a cache: pages, a count of users for each, and the free pages.

    Args:
        page_size: tokens in a page
        n_pages: pages in the pool
    """

    def __init__(self, page_size: int, n_pages: int):
        self.page_size = page_size
        self.users = [0] * n_pages
        self.free = list(range(n_pages))[::-1]  # taken from the end: page 0 first
        self.layout: Layout | None = None
        self.k_pages: Tensor | None = None  # [n_pages, H_kv, page_size, d_k]
        self.v_pages: Tensor | None = None  # [n_pages, H_kv, page_size, d_v]

    def allocate(self, layout: Layout) -> None:
        """Allocate the storage at the first append; later calls do nothing.

        Args:
            layout: number of heads, widths, dtype and device
        """
        if self.layout is None:
            shape = (len(self.users), layout.H_kv, self.page_size)
            options: dict[str, Any] = dict(dtype=layout.dtype, device=layout.device)
            self.k_pages = torch.empty(*shape, layout.d_k, **options)
            self.v_pages = torch.empty(*shape, layout.d_v, **options)
            self.layout = layout

    def take(self) -> int:
        """Take a free page, which then has one user; there must be one.

        Returns: the page's number
        """
        page = self.free.pop()
        self.users[page] = 1
        return page

    def share(self, page: int) -> None:
        """Add a user of a page.

        Args:
            page: its number
        """
        self.users[page] += 1

    def release(self, page: int) -> None:
        """Remove a user of a page; a page without users is free.

        Args:
            page: its number
        """
        self.users[page] -= 1
        if self.users[page] == 0:
            self.free.append(page)

    def copy(self, page: int) -> int:
        """Copy a shared page to a new one; the shared page loses a user.

        Args:
            page: number of the shared page
        Returns: number of the new page
        """
        new = self.take()
        for pages in (self.k_pages, self.v_pages):
            assert pages is not None
            pages[new] = pages[page]
        self.release(page)
        return new
