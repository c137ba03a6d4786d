"""The check of attention over pages, without gathering them first."""

from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray
LIMIT = 1 << 20  # bytes: the keys of the memory case take 2 MiB, a page 16 KiB


def _paged_attention(q: Array, k_pages: Array, v_pages: Array, table: Array, length: int) -> Array:
    size = k_pages.shape[1]
    m, l, acc = -np.inf, 0.0, np.zeros(v_pages.shape[2])
    for start in range(0, length, size):
        page, filled = table[start // size], min(size, length - start)
        s = k_pages[page, :filled] @ q / np.sqrt(len(q))
        m_new = max(m, s.max())
        e, old = np.exp(s - m_new), np.exp(m - m_new)
        l, acc, m = old * l + e.sum(), old * acc + e @ v_pages[page, :filled], m_new
    return acc / l if l else acc


def _gathered(
    pages_of: Any = lambda table, n_pages: table[:n_pages], end_of: Any = lambda n, size: n
) -> Any:
    """Attention over pages that are put side by side first."""

    def paged_attention(
        q: Array, k_pages: Array, v_pages: Array, table: Array, length: int
    ) -> Array:
        size = k_pages.shape[1]
        used = pages_of(table, -(-length // size))
        end = end_of(length, size)
        k, v = (x[used].reshape(-1, x.shape[2])[:end] for x in (k_pages, v_pages))
        return attention(q[None], k, v)[0]

    return paged_attention


def _no_rescaling(
    q: Array, k_pages: Array, v_pages: Array, table: Array, length: int
) -> Array:  # sums of different pages are in different units
    size = k_pages.shape[1]
    l, acc = 0.0, np.zeros(v_pages.shape[2])
    for start in range(0, length, size):
        page, filled = table[start // size], min(size, length - start)
        s = k_pages[page, :filled] @ q / np.sqrt(len(q))
        e = np.exp(s - s.max())
        l, acc = l + e.sum(), acc + e @ v_pages[page, :filled]
    return acc / l if l else acc


def _mean_of_pages(
    q: Array, k_pages: Array, v_pages: Array, table: Array, length: int
) -> Array:  # as if each page weighed the same
    size = k_pages.shape[1]
    if not length:
        return np.zeros(v_pages.shape[2])
    parts = []
    for start in range(0, length, size):
        page, filled = table[start // size], min(size, length - start)
        o = attention(q[None], k_pages[page, :filled], v_pages[page, :filled])
        parts.append(o[0])
    return np.asarray(np.mean(parts, axis=0))


def _inputs(
    rng: np.random.Generator, length: int, size: int, d_k: int, d_v: int, spare: int = 1
) -> tuple:
    """A pool of pages in which one text lies scattered; unused slots hold NaN."""
    used = -(-length // size)
    n_pages = used + 1 + spare
    k_pages, v_pages = (rng.normal(size=(n_pages, size, d)).round(2) for d in (d_k, d_v))
    table = np.concatenate([rng.permutation(n_pages)[:used], np.full(spare, -1)])
    filled = np.zeros((n_pages, size), bool)
    j = np.arange(length)
    filled[table[j // size], j % size] = True
    k_pages[~filled], v_pages[~filled] = np.nan, np.nan
    return rng.normal(size=d_k).round(2), k_pages, v_pages, table, length


def _case(name: str, *sizes: int, max_bytes: int | None = None, loud: float = 1.0) -> Case:
    q, *rest = _inputs(np.random.default_rng(11), *sizes)
    return Case(name, (loud * q, *rest), max_bytes)


def _far_below(name: str) -> Case:
    """All scores are below −30,000: a maximum that begins at 0 leaves no exponential."""
    q, k_pages, *rest = _inputs(np.random.default_rng(11), 9, 2, 3, 2)
    return Case(name, (-15_000 * (abs(q) / 4 + 0.5), abs(k_pages) + 1, *rest))


def _draw(rng: np.random.Generator) -> tuple:
    length, size, d_k, d_v, spare = (
        int(x) for x in rng.integers([0, 1, 1, 1, 0], [18, 7, 6, 6, 3])
    )
    q, *rest = _inputs(rng, length, size, d_k, d_v, spare)
    return q * rng.choice([0.3, 1.0, 30.0, 3000.0]), *rest


PAGED_ATTENTION = Check(
    "paged_attention",
    reference=_paged_attention,
    cases=[
        _case("two pages of two, four tokens", 4, 2, 2, 1),
        _case("the last page half filled", 5, 2, 2, 2),
        _case("less than a page", 2, 4, 2, 3),
        _case("pages of one token", 3, 1, 2, 2),
        _case("five pages of three", 14, 3, 4, 2),
        _case("no token yet", 0, 2, 2, 3),
        _case("scores in the thousands", 9, 2, 3, 2, loud=3000.0),
        _far_below("all scores far below 0"),
        _case("4,096 tokens: no room for copies", 4096, 32, 64, 64, max_bytes=LIMIT),
    ],
    draw=_draw,
    drawn=40,
    mistakes=[
        Mistake(
            "pages in order of the pool",
            _gathered(lambda table, n_pages: np.arange(n_pages)),
            "You read pages 0, 1, 2 of the pool. The table says which pages are this text's, and "
            "in which order.",
        ),
        Mistake(
            "whole pages",
            _gathered(end_of=lambda n, size: -(-n // size) * size),
            "You read the unfilled slots of the last page too. They hold anything.",
        ),
        Mistake(
            "last page dropped",
            _gathered(end_of=lambda n, size: n // size * size),
            "You leave out a last page that is not full.",
        ),
        Mistake(
            "one token short",
            _gathered(end_of=lambda n, size: max(n - 1, 0)),
            "You leave out the newest token.",
        ),
        Mistake(
            "gathered",
            _gathered(),
            "You put all pages side by side, and the memory does not suffice. Go page by page, "
            "with a running maximum and sum.",
        ),
        Mistake(
            "not rescaled",
            _no_rescaling,
            "Each page's sums count in units of its own maximum. When a larger score turns up, "
            "rescale what you hold.",
        ),
        Mistake(
            "mean of pages",
            _mean_of_pages,
            "You average the pages' outputs. A page counts as much as its exponentials sum to.",
        ),
    ],
    hints=[
        "Token j lies in page table[j // page_size], at slot j % page_size.",
        "Go through the pages with m, l and acc as in flash attention's tiles.",
        "How many slots of the last page are filled? Read no more than those.",
    ],
)


def check_paged_attention(f: Any) -> Result:
    """Check f(q, k_pages, v_pages, table, length), attention of one query over scattered pages.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return PAGED_ATTENTION.run(f)
