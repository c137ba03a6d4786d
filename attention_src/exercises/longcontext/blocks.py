"""The check of which blocks a window with sinks makes one compute."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def visible_blocks(n: int, block: int, window: int, sinks: int) -> Array:
    """Which blocks hold a visible pair, from their borders alone.

    Args:
        n: queries, and keys
        block: queries and keys of one block; the last may be shorter
        window, sinks: as for `masks.window_mask`
    Returns: bool [blocks, blocks], queries down, keys across
    """
    first = np.arange(0, n, block)
    last = np.minimum(first + block, n) - 1
    near = last[None, :] > first[:, None] - window
    return (first[None, :] <= last[:, None]) & (near | (first[None, :] < sinks))


def _like(near: Any, early: Any = None, causal: Any = None) -> Any:
    """visible_blocks with another test of the window, of the sinks or of the diagonal."""

    def wrong(n: int, block: int, window: int, sinks: int) -> Array:
        first = np.arange(0, n, block)
        last = np.minimum(first + block, n) - 1
        q, k = (first[:, None], last[:, None]), (first[None, :], last[None, :])
        kept = k[0] < sinks if early is None else early(q, k, sinks, block)
        behind = k[0] <= q[1] if causal is None else causal(q, k)
        return behind & (near(q, k, window, block) | kept)

    return wrong


def _near(q: Any, k: Any, window: int, block: int) -> Array:
    return k[1] > q[0] - window


def _all_visible(n: int, block: int, window: int, sinks: int) -> Array:
    """Blocks of which every pair is visible."""
    first = np.arange(0, n, block)
    last = np.minimum(first + block, n) - 1
    near = first[None, :] > last[:, None] - window
    return (last[None, :] <= first[:, None]) & (near | (last[None, :] < sinks))


def _whole_blocks(n: int, block: int, window: int, sinks: int) -> Array:
    """The last, shorter block forgotten."""
    return visible_blocks(n // block * block, block, window, sinks)


_RIGHT = visible_blocks
VISIBLE_BLOCKS = Check(
    "visible_blocks",
    reference=visible_blocks,
    cases=[
        Case("6 tokens in blocks of 2, a window of 3, no sink", (6, 2, 3, 0)),
        Case("the same with 1 sink", (6, 2, 3, 1)),
        Case("8 tokens in blocks of 2, a window of 1", (8, 2, 1, 0)),
        Case("a window that just reaches the next block", (9, 3, 2, 0)),
        Case("sinks that fill a block", (12, 3, 2, 3)),
        Case("one sink more", (12, 3, 2, 4)),
        Case("7 tokens in blocks of 3: the last is shorter", (7, 3, 4, 2)),
        Case("blocks of one token", (5, 1, 2, 1)),
        Case("one block holds all", (4, 9, 2, 0)),
        Case("a window wider than the text", (10, 3, 50, 0)),
        Case("8,192 tokens: no room for a table of pairs", (8192, 256, 2048, 4), 8 << 20),
    ],
    draw=lambda rng: tuple(
        int(size)
        for size in (rng.integers(1, 40), rng.integers(1, 9), rng.integers(1, 25),
                     rng.integers(0, 12) * rng.integers(0, 2))
    ),
    mistakes=[
        Mistake("causal only", _like(lambda q, k, w, b: k[0] <= q[1]), "The window hides nothing "
                "in yours: blocks that have left it are still there."),
        Mistake("sinks forgotten", lambda n, b, w, s: _RIGHT(n, b, w, 0), "Blocks that hold a "
                "sink stay for all later queries."),
        Mistake("transposed", lambda *a: _RIGHT(*a).T, "Queries go down and keys across."),
        Mistake("reversed polarity", lambda *a: ~_RIGHT(*a), "True = must be computed."),
        Mistake("window one too wide", lambda n, b, w, s: _RIGHT(n, b, w + 1, s), "Your window "
                "holds one key too many: it counts the query's own."),
        Mistake("window one too narrow", lambda n, b, w, s: _RIGHT(n, b, max(w - 1, 0), s),
                "Your window holds one key too few: the query's own is one of the window."),
        Mistake("one sink too many", lambda n, b, w, s: _RIGHT(n, b, w, s + 1), "The sinks are "
                "the keys j < sinks: one block too many stays."),
        Mistake("only whole blocks", _all_visible, "These are the blocks of which every pair is "
                "visible. One visible pair is enough to need the block."),
        Mistake("the last query decides", _like(lambda q, k, w, b: k[1] > q[1] - w), "The last "
                "query of a block has moved on; its first one may still see older keys."),
        Mistake("the first key decides", _like(lambda q, k, w, b: k[0] > q[0] - w), "You ask "
                "whether the block's first key is in the window. Its last one may be."),
        Mistake("first keys against first queries", _like(_near, causal=lambda q, k: k[0] < q[0]),
                "The diagonal is missing: a query sees itself, and its block's earlier keys."),
        Mistake("one block of sinks", _like(_near, lambda q, k, s, b: k[0] < min(s, 1)),
                "Sinks may reach over more than one block."),
        Mistake("window in whole blocks", _like(lambda q, k, w, b: k[0] // b > q[0] // b - max(
                w // b, 1)), "A window of so many blocks reaches into one block more, because it "
                "begins anywhere within one."),
        Mistake("the last block forgotten", _whole_blocks, "n need not be a multiple of block: "
                "there is one shorter block at the end."),
    ],
    hints=[
        "A block is needed if its oldest key is not after its last query, and ...",
        "In the window: the block's LAST key against its FIRST query: last_k > first_q - window.",
        "A sink in it: its first key is below sinks.",
    ],
)  # fmt: skip


def check_visible_blocks(f: Any) -> Result:
    """Check f(n, block, window, sinks) -> bool [blocks, blocks].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return VISIBLE_BLOCKS.run(f)
