"""Which blocks the flash kernels visit: each with a visible key once, with a mask if need be."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from kernel_support import DEVICE

from attention_src.flash.kernel.blocks import key_spans, nth_block, query_spans
from attention_src.triton_support.launch import tl, triton
from flash.oracle import visible_mask

BLOCK_Q, BLOCK_K = 3, 4  # the kernels' are larger; with these, every example has borders
MOST_BLOCKS = 16
# Borders are rounded to whole blocks, so one visited block may turn out to be hidden: where the
# window's border and the end of the keys meet.
MOST_WASTED = 1


@triton.jit
def visit_kernel(
    visited_ptr, n_visited_ptr, n_q, shift, key_length, window, sinks,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
    OF_KEYS: tl.constexpr, MOST_BLOCKS: tl.constexpr,
):  # fmt: skip
    """The blocks that one block visits: without a mask, then with one; and how many of each."""
    pid = tl.program_id(0)
    if OF_KEYS:
        sink_stop = 0
        left, full, right, stop = query_spans(
            pid * BLOCK_K, shift, n_q, key_length, window, sinks,
            BLOCK_Q, BLOCK_K, CAUSAL, WINDOW,
        )  # fmt: skip
    else:
        sink_stop, left, full, right, stop = key_spans(
            pid * BLOCK_Q + shift, key_length, window, sinks, BLOCK_Q, BLOCK_K, CAUSAL, WINDOW
        )
    index = tl.arange(0, MOST_BLOCKS)
    for MASKED in tl.static_range(2):
        count = sink_stop + (full - left) + (stop - right) if MASKED else right - full
        tl.store(n_visited_ptr + pid * 2 + MASKED, count)
        block = nth_block(index, sink_stop, left, full, right, MASKED)
        tl.store(visited_ptr + (pid * 2 + MASKED) * MOST_BLOCKS + index, block, mask=index < count)


def visits(n_q, n_k, rule, of_keys):
    """For each block of queries, or of keys: the blocks visited without a mask, and with one."""
    n_blocks = triton.cdiv(n_k, BLOCK_K) if of_keys else triton.cdiv(n_q, BLOCK_Q)
    visited = torch.full((n_blocks, 2, MOST_BLOCKS), -1, dtype=torch.int32, device=DEVICE)
    n_visited = torch.full((n_blocks, 2), -1, dtype=torch.int32, device=DEVICE)
    (length,), window, sinks = rule["key_lengths"], rule["window"] or 0, rule["sinks"]
    lookahead = rule.get("lookahead", 0)  # as the kernels: added to positions and to the window
    shift, window = length - n_q + lookahead, window + lookahead
    visit_kernel[(n_blocks,)](
        visited, n_visited, n_q, shift, length, window, sinks,
        BLOCK_Q, BLOCK_K, rule["causal"] or window > 0, window > 0, of_keys, MOST_BLOCKS,
    )  # fmt: skip
    for blocks, counts in zip(visited.tolist(), n_visited.tolist(), strict=True):
        assert min(counts) >= 0 and max(counts) < MOST_BLOCKS
        yield [row[:count] for row, count in zip(blocks, counts, strict=True)]


def tile_of(visible, of_keys, own, other):
    """The tile where two blocks meet, and whether all of its keys, or of its queries, exist."""
    at_q, at_k = (other, own) if of_keys else (own, other)
    tile = visible[at_q * BLOCK_Q :][:BLOCK_Q, at_k * BLOCK_K :][:, :BLOCK_K]
    return tile, tile.shape[0] == BLOCK_Q if of_keys else tile.shape[1] == BLOCK_K


@st.composite
def rules(draw):
    n_q, n_k = draw(st.integers(1, 13)), draw(st.integers(1, 17))
    window = draw(st.none() | st.integers(1, n_k + 2))
    sinks = draw(st.integers(0, n_k)) if window else 0
    lengths = [draw(st.just(n_k) | st.integers(0, n_k))]
    lookahead = draw(st.just(0) | st.integers(1, n_k)) if window else 0
    causal = draw(st.booleans()) and not lookahead
    rule = dict(causal=causal, window=window, sinks=sinks, lookahead=lookahead, key_lengths=lengths)
    return n_q, n_k, rule


@pytest.mark.parametrize("of_keys", [False, True])
@example((4, 8, dict(causal=False, window=None, sinks=0, key_lengths=[7])))  # one key of padding
@given(rules())
def test_every_visible_key_is_visited_once(of_keys, drawn):
    n_q, n_k, rule = drawn
    visible = visible_mask(n_q, n_k, **rule)[0, 0]
    n_others = triton.cdiv(n_q, BLOCK_Q) if of_keys else triton.cdiv(n_k, BLOCK_K)
    for own, (unmasked, masked) in enumerate(visits(n_q, n_k, rule, of_keys)):
        assert len({*unmasked, *masked}) == len(unmasked) + len(masked), "twice"
        wasted = 0
        for other in range(n_others):
            tile, whole = tile_of(visible, of_keys, own, other)
            if other in unmasked:
                assert tile.all() and whole, f"block {own} needs a mask at {other}"
            visited = other in unmasked or other in masked
            assert visited or not tile.any(), f"block {own} misses {other}"
            wasted += visited and not tile.any()
        assert wasted <= MOST_WASTED, f"block {own} visits {wasted} blocks where nothing is visible"
