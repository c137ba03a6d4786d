"""The checks of the chapter on windows, sinks, blocks and rings."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.masks import window_mask  # noqa: F401  a right implementation hides so
from attention_src.attention.reference import attention, attention_lse
from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.checking import mistakes
from attention_src.flash.reference import flash_attention  # noqa: F401  another skips blocks
from attention_src.ring.placement import order
from attention_src.ring.reference import bytes_sent, join

Array = np.ndarray


class _Watched(Check):
    """Its `watch` may return, in place of an answer, a sentence on what is wrong with it."""

    def _arrays(self, value: Any) -> list[Array]:
        if isinstance(value, str):
            raise ValueError(value)
        return super()._arrays(value)


# --- A rolling cache --------------------------------------------------------------------------


def rolling_append(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    length = capacity - sinks  # of the ring
    slot = n_seen
    if n_seen >= sinks:
        slot = sinks + (n_seen - sinks) % length
    keys[..., slot, :] = k_new
    values[..., slot, :] = v_new
    slots = np.arange(min(n_seen + 1, capacity))
    rounds = (n_seen - slots) // length  # since this slot's first token
    return np.where(slots < sinks, slots, slots + rounds * length)


def _after(f: Callable) -> Callable:
    """What f leaves behind: the storage that it wrote to, and its answer."""

    @functools.wraps(f)
    def called(keys: Array, values: Array, *inputs: Any) -> Any:
        keys, values = keys.copy(), values.copy()
        held = f(keys, values, *inputs)
        try:
            if to_array(held, "positions").dtype.kind == "f":
                return "The positions are floating-point numbers; they should be integers."
        except ValueError as error:
            return str(error)
        return keys, values, held

    return called


def _store(
    name: str, seed: int, shape: tuple, n_seen: int, sinks: int, unit: float = 1, free: float = -1
) -> Case:
    """shape: [..., capacity, d_k, d_v]. Slots that hold no token yet hold `free`."""
    *lead, capacity, d_k, d_v = shape
    rng = np.random.default_rng(seed)
    parts = [rng.integers(1, 100, (*lead, capacity, d)) * float(unit) for d in (d_k, d_v)]
    for part in parts:
        part[..., min(n_seen, capacity) :, :] = free
    k_new, v_new = (rng.integers(1, 100, (*lead, d)) * float(unit) for d in (d_k, d_v))
    return Case(name, (*parts, n_seen, k_new, v_new, sinks))


def _draw_store(rng: np.random.Generator) -> Case:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    capacity, d_k, d_v = (int(size) for size in rng.integers(1, 7, 3))
    sinks, n_seen = int(rng.integers(0, capacity)), int(rng.integers(0, 6 * capacity))
    name, seed = f"drawn: {capacity=}, {sinks=}, {n_seen=}", int(rng.integers(10**6))
    # Thirds have digits that float32 loses.
    return _store(name, seed, (*lead, capacity, d_k, d_v), n_seen, sinks, unit=1 / 3)


check_rolling_append = _Watched(
    "rolling_append",
    rolling_append,
    asks="f(keys, values, n_seen, k_new, v_new, sinks) -> positions, which writes in place",
    returns=("keys", "values", "positions"),
    cases=[
        _store("room for 4, no sink, the fifth token", 0, (4, 2, 1), 4, 0),
        _store("room for 5, 1 sink, the sixth token", 1, (5, 2, 3), 5, 1),
        _store("room for 5, 2 sinks, twice round", 2, (5, 2, 1), 12, 2),
        _store("the first token", 3, (3, 2, 1), 0, 1),
        _store("room left", 4, (6, 1, 2), 3, 1),
        _store("room left, with NaN in it", 4, (6, 1, 2), 3, 1, free=np.nan),
        _store("room left, with inf in it", 4, (6, 1, 2), 3, 1, unit=1 / 3, free=np.inf),
        _store("the last free slot", 5, (4, 2, 2), 3, 2),
        _store("one slot beside the sinks", 6, (3, 2, 1), 8, 2),
        _store("2 texts of 3 heads", 7, (2, 3, 4, 2, 5), 9, 1),
        _store("forty slots of forty numbers", 9, (40, 40, 40), 95, 9),
        _store("a long stream", 8, (7, 1, 1), 100_003, 3),
    ],
    draw=_draw_store,
    watch=_after,
    rtol=0,
    mistakes="""
not in place: keys and values were not written to: index them.
    + keys, values = keys.copy(), values.copy()
values forgotten: You wrote the key; the value has to follow.
    - values[..., slot
sinks overwritten: Your ring goes round the whole storage, sinks included. Only the slots from \
`sinks` on go round.
    - slot = sinks
    + slot = n_seen % capacity
the ring begins at a wrong slot: Count the ring from the first token that is no sink: \
(n_seen - sinks) % its length.
    - slot = sinks
    + slot = n_seen if n_seen < capacity else sinks + n_seen % length
one slot late: n_seen tokens came before, so this one stands at position n_seen, counted from 0.
    slot = n_seen + 1
    slot = sinks + (n_seen + 1 - sinks) % length
always the last slot: You overwrite the newest token. The oldest one that is no sink has to go.
    slot = min(n_seen, capacity - 1)
moved up: You moved all tokens up by one, which copies the whole storage for each token. \
Overwrite the oldest where it lies.
    slot = min(n_seen, capacity - 1)
    + if n_seen >= capacity: keys[..., sinks:-1, :] = keys[..., sinks + 1 :, :].copy()
    + if n_seen >= capacity: values[..., sinks:-1, :] = values[..., sinks + 1 :, :].copy()
    return np.sort(np.where(slots < sinks, slots, slots + rounds * length))
positions sorted: The positions are asked for slot by slot, as they lie in the storage.
    return np.sort(np.where(slots < sinks, slots, slots + rounds * length))
slots, not positions: These are the numbers of the slots. Which tokens of the text lie there?
    return slots
empty slots counted: Slots that hold nothing yet have no position. Return the held ones alone.
    slots = np.arange(capacity)
    return np.where(slots > n_seen, 0, np.where(slots < sinks, slots, slots + rounds * length))
""",
    hints=[
        "Which slot holds the oldest token that is no sink? The first time, it is slot `sinks`.",
        "slot = n_seen if n_seen < sinks else sinks + (n_seen - sinks) % (capacity - sinks)",
        "Slot i >= sinks holds the largest position that is at most n_seen and differs from i by "
        "whole rounds of capacity - sinks.",
    ],
)

# --- Blocks that must be computed -------------------------------------------------------------


def visible_blocks(n, block, window, sinks):
    first = np.arange(0, n, block)
    last = np.minimum(first + block, n) - 1
    past = first <= last[:, None]  # its first key, its last query
    near = last > first[:, None] - window
    return past & (near | (first < sinks))


def _draw_blocks(rng: np.random.Generator) -> tuple[int, ...]:
    n, block, window = rng.integers(1, 40), rng.integers(1, 9), rng.integers(1, 25)
    sinks = rng.integers(0, 12) * rng.integers(0, 2)
    return int(n), int(block), int(window), int(sinks)


check_visible_blocks = Check(
    "visible_blocks",
    visible_blocks,
    asks="f(n, block, window, sinks) -> bool [blocks, blocks]",
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
        Case("blocks and windows of one token", (4, 1, 1, 0)),
    ],
    draw=_draw_blocks,
    mistakes="""
causal only: The window hides nothing in yours: blocks that have left it are still there.
    return past
sinks forgotten: Blocks that hold a sink stay for all later queries.
    return past & near
transposed: Queries go down and keys across.
    return (past & (near | (first < sinks))).T
reversed polarity: True = must be computed.
    return ~(past & (near | (first < sinks)))
window one too wide: Your window holds one key too many: it counts the query's own.
    near = last > first[:, None] - window - 1
window one too narrow: Your window holds one key too few: the query's own is one of the window.
    near = last > first[:, None] - window + 1
one sink too many: The sinks are the keys j < sinks: one block too many stays.
    return past & (near | (first <= sinks))
only whole blocks: These are the blocks of which every pair is visible. One visible pair is \
enough to need the block.
    past = last <= first[:, None]
    near = first > last[:, None] - window
    return past & (near | (last < sinks))
the last query decides: The last query of a block has moved on; its first one may still see older \
keys.
    near = last > last[:, None] - window
the first key decides: You ask whether the block's first key is in the window. Its last one may be.
    near = first > first[:, None] - window
first keys against first queries: The diagonal is missing: a query sees itself, and its block's \
earlier keys.
    past = first < first[:, None]
one block of sinks: Sinks may reach over more than one block.
    return past & (near | (first < min(sinks, 1)))
window in whole blocks: A window of so many blocks reaches into one block more, because it begins \
anywhere within one.
    near = first // block > first[:, None] // block - max(window // block, 1)
the last block forgotten: n need not be a multiple of block: there is one shorter block at the end.
    first = np.arange(0, n // block * block, block)
""",
    hints=[
        "A block is needed if its oldest key is not after its last query, and ...",
        "In the window: the block's LAST key against its FIRST query: last_k > first_q - window.",
        "A sink in it: its first key is below sinks.",
    ],
)

# --- One rank ---------------------------------------------------------------------------------


def one_rank(q, k, v, i, n_ranks):
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf)
    j = i
    for step in range(n_ranks):
        see = j <= i[:, None]
        part = attention(q, k, v, mask=see), attention_lse(q, k, mask=see)
        o, lse = join(o, lse, *part)
        if step < n_ranks - 1:
            k, v, j = yield k, v, j
    return o


RANK_MISTAKES = """
not causal: Your queries see later tokens. Key j is visible to query i if j <= i, by their places \
in the text.
    see = j >= 0 * i[:, None]
oneself hidden: A query sees itself, too: j <= i.
    see = j < i[:, None]
own keys only: You never use what comes: k, v, j = yield k, v, j.
    - k, v, j = yield
    + yield k, v, j
positions stay at home: The keys have moved on, but you still use your own positions for them. \
Send j along.
    k, v, _ = yield k, v, j
always one's own sent: You send your own keys each time, so a rank only meets its neighbour. Pass \
on what you got.
    j = i
    + mine = k, v, i
    k, v, j = yield mine
outputs added: Each part is an average of its own. Weigh them by exp(lse − lse of both).
    o, lse = o + part[0], lse
not scaled: The scores are not divided by the root of d_k.
    part = attention(q, k, v, mask=see, scale=1.0), attention_lse(q, k, mask=see, scale=1.0)
maximum from 0: Your log-sum-exp begins at 0. That is a key of score 0, which nobody sent, and it \
drowns rows far below 0. Begin at -inf.
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), 0.0)
outputs averaged: Parts count by what they hold: by exp(lse − lse of both), not evenly.
    o, lse = o + part[0] / n_ranks, lse
once too often: After the last step nobody needs the keys any more: R ranks send R − 1 times.
    - return o
    + yield k, v, i
    + return o
the last keys unused: What arrives last is not used. Attend once more than you send.
    o, lse = join(o, lse, *part) if step < max(n_ranks - 1, 1) else (o, lse)
"""


def _on_one_device(q: Array, k: Array, v: Array, i: Array) -> tuple[Array, Array]:
    """What R ranks return together, [R, n_local, d_v], and how often each sends, [R]."""
    whole = [x.reshape(-1, x.shape[-1]) for x in (q, k, v)]
    o = attention(*whole, mask=i.ravel() <= i.reshape(-1, 1))
    return o.reshape(v.shape), np.full(len(q), len(q) - 1)


class _FaultError(Exception):
    """Ranks that do not send as they should; its text is what the learner reads."""


def _on_ranks(f: Callable) -> Callable:
    """Run R ranks side by side, pass on what they yield, and count."""
    if f is _on_one_device:
        return f

    @functools.wraps(f)
    def ring(*whole: Array) -> Any:
        try:
            return _driven(f, whole)
        except _FaultError as fault:
            return str(fault)

    return ring


def _driven(f: Callable, whole: tuple[Array, ...]) -> tuple[Array, Array]:
    own = [tuple(x.copy() for x in part) for part in zip(*whole, strict=True)]
    ranks = [f(*part, len(own)) for part in own]
    if not all(hasattr(rank, "send") for rank in ranks):
        raise _FaultError(
            "Your function should be a generator: it gets keys by k, v, j = yield k, v, j."
        )
    given = [None] * len(own)
    for times in range(3 * len(own) + 4):
        steps = [_step(rank, parts) for rank, parts in zip(ranks, given, strict=True)]
        for r, (sent, _) in enumerate(steps if not times else ()):
            if sent and not all(map(np.array_equal, sent, [x[r] for x in whole[1:]])):
                raise _FaultError(
                    "What a rank sends first should be its own k, v and i, unchanged, in this "
                    "order."
                )
        done = [o for _, o in steps if o is not None]
        if len(done) == len(own):
            break
        if done:
            raise _FaultError("Some ranks have returned while others still wait to be sent to.")
        given = [steps[r - 1][0] for r in range(len(own))]
    else:
        raise _FaultError(f"Each rank has sent {times + 1} times, and none has returned.")
    for part, before in zip(own, zip(*whole, strict=True), strict=True):
        for name, now, old in zip("qkvi", part, before, strict=True):
            if not np.array_equal(now, old):
                raise _FaultError(f"A rank changed its own {name} in place: work on a copy.")
    if len({o.shape for o in done}) > 1:
        raise _FaultError("The outputs of the ranks differ in shape.")
    return np.stack(done), np.full(len(own), times)


def _step(rank: Any, given: Any) -> tuple[Any, Any]:
    """Copies of what a rank sends next, and None; or None, and what it has returned."""
    try:
        parts, ended = rank.send(given), False
    except StopIteration as end:
        parts, ended = end.value, True
    if ended and parts is None:
        raise _FaultError("Your function ended without a result: end it with return o.")
    try:
        if ended:
            return None, np.array(to_array(parts, "its rows of the output, o"))
        k, v, j = map(to_array, parts)
        return (np.array(k), np.array(v), np.array(j)), None
    except (TypeError, ValueError) as error:
        said = str(error) if ended else "What is yielded should be three arrays: k, v, j."
        raise _FaultError(said) from None


def _sends(q: Array, k: Array, v: Array, i: Array, o: Array, times_sent: Array) -> str:
    """What else to say: a wrong output is shown before a wrong number of sends."""
    right, yours = len(q) - 1, times_sent[0]
    return "" if yours == right else f"Number of sends: {yours}. It should be R − 1 = {right}."


def _ring(
    name: str,
    seed: int,
    shape: tuple,
    placement: str = "contiguous",
    spread: float = 1.0,
    rtol: float | None = None,
) -> Case:
    """shape: ranks, tokens of each, d_k, d_v."""
    n_ranks, n_local, d_k, d_v = shape
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(n_ranks, n_local, d)) for d in (d_k, d_k, d_v))
    n = n_ranks * n_local
    i = rng.permutation(n) if placement == "shuffled" else np.array(order(n, n_ranks, placement))
    return Case(name, (spread * q, k, v, i.reshape(n_ranks, n_local)), rtol=rtol)


def _far_below() -> Case:
    """All scores lie near -12,000, so that a hidden one of -10,000 hides nothing."""
    _, k, v, i = _ring("", 9, (2, 2, 1, 2)).args
    return Case("all scores near -12,000", (-12_000 + 0 * k, 1 + 1e-4 * k, v, i))


def _draw_ring(rng: np.random.Generator) -> Case:
    n_ranks, d_k, d_v = (int(size) for size in rng.integers(1, 5, 3))
    n_local = 2 * int(rng.integers(1, 4))
    placement = str(rng.choice(["zigzag", "contiguous", "shuffled"]))
    spread = float(rng.choice([0.3, 3.0, 3000.0]))
    seed = int(rng.integers(10**6))
    name = f"drawn: {n_ranks} ranks, {n_local} tokens each, {placement}"
    return _ring(name, seed, (n_ranks, n_local, d_k, d_v), placement, spread)


check_one_rank = _Watched(
    "one_rank",
    _on_one_device,
    solution=one_rank,
    asks="f(q, k, v, i, n_ranks), a generator that yields k, v, j and returns o",
    returns=("o", "times_sent"),
    cases=[
        _ring("two ranks of 2 tokens", 0, (2, 2, 3, 2)),
        _ring("three ranks of 2 tokens", 1, (3, 2, 3, 1)),
        _ring("two ranks, zigzag", 2, (2, 4, 2, 3), "zigzag"),
        _ring("four ranks, zigzag", 3, (4, 4, 3, 2), "zigzag"),
        _ring("one rank alone", 4, (1, 3, 2, 2)),
        _ring("one token each", 5, (5, 1, 2, 3)),
        _ring("tokens in any order", 7, (3, 4, 2, 3), "shuffled"),
        _ring("scores in the thousands", 6, (4, 4, 3, 2), "zigzag", 3000.0),
        _ring("as many tokens as components", 8, (5, 8, 8, 3), "zigzag"),
        _ring("widths of 20 and 30", 11, (3, 5, 20, 30)),
        _far_below(),
        _ring("d_k = 1, to twelve digits", 10, (2, 2, 1, 2), rtol=1e-12),
    ],
    draw=_draw_ring,
    drawn=8,
    watch=_on_ranks,
    note=_sends,
    mistakes=mistakes(one_rank, RANK_MISTAKES),
    hints=[
        "Begin with o = 0 and lse = −∞, and with your own keys, whose positions are j = i.",
        "In each step: attend to what is here under the mask j <= i[:, None], and join.",
        "Then, except after the last step: k, v, j = yield k, v, j. At the end: return o.",
    ],
)

# --- Over the wire ----------------------------------------------------------------------------

N, R, H, H_KV, D = 131_072, 8, 32, 8, 128
OWN = 2 * N // R * H_KV * 2 * D  # bytes of one rank's keys and values in one layer
SENT = bytes_sent(N, R, D, D, n_kv_heads=H_KV)
UNGROUPED = 400e12 / 50e9  # FLOP for a byte that is sent
BUSY = (R / 2) / (R - 1 / 2)

# fmt: off
check_ring_ladder = Ladder("ring", [
    Rung("a", "bytes of one rank's keys and values", OWN, {
        OWN // 2: "A number in float16 takes two bytes; and count both.",
        OWN * R: "That is the whole text. A rank has an eighth of it.",
        OWN * H // H_KV: "That is with keys for each query head.",
    }, hint="n / R tokens, 8 heads, a key and a value of 128 numbers, two bytes each.", rtol=0),
    Rung("b", "bytes that each rank sends", SENT, {
        R * OWN: "After the last step nobody needs the keys: R − 1 times.",
        OWN: "That is one step. How many times does it send?",
        R * (R - 1) * OWN: "That is what all ranks send together.",
    }, hint="In each step but the last it passes on as much as (a).", rtol=0),
    Rung("c", "the same with an all-gather that passes pieces round", SENT, {
        R * OWN: "It need not send its own piece to itself.",
        OWN: "Its piece has to reach seven others, by hands that pass on.",
        R * SENT: "Each piece passes each link but one, once.",
    }, hint="Each of the R pieces has to reach R − 1 ranks that do not have it.", rtol=0),
    Rung("d", "how many times as many keys and values the all-gather holds", R / 2, {
        R: "While it computes with one piece the ring receives the next.",
        R - 1: "The ring holds two pieces: one in use, one arriving.",
        2 / R: "How many times as many: turn it over.",
    }, hint="All R pieces, against one in use and one that arrives.", rtol=0),
    Rung("e", "tokens that a rank needs so that sending is hidden", UNGROUPED * H_KV / H, {
        UNGROUPED: "So it is without groups. Fewer bytes travel: 8 heads for 32.",
        UNGROUPED * H / H_KV: "Sharing makes it easier.",
        UNGROUPED * H_KV / H * 2: "Two products of 2 n² d FLOP each: scores, and their sums of "
            "values.",
        UNGROUPED * H_KV / H / 2: "Keys and values travel, with two bytes for each number: 4 n "
            "H_kv d bytes.",
    }, hint="4 n² H d / FLOP a second = 4 n H_kv d / bytes a second, n tokens of a rank."),
    Rung("f", "share of the time in which the ranks work", BUSY, {
        0.5: "Nearly: the first step, with the diagonal, is a short one.",
        (R + 1) / 2 / R: "The first step takes half as long: the diagonal halves everybody's work.",
        1 / R: "Rank 0 works in one step of eight. And the others?",
        1 - BUSY: "That is the share in which they wait.",
    }, hint="In squares of (n / R)²: R²/2 in all, on R ranks; the time is ½ + (R − 1)."),
], asks="the rungs of \"Over the wire\"")
# fmt: on

# --- A test of windows ------------------------------------------------------------------------


def windowed(q, k, v, window, sinks):
    t, j = np.arange(len(q))[:, None], np.arange(len(q))
    near = t - j < window
    early = j < sinks
    see = (j <= t) & (near | early)
    return attention(q, k, v, mask=see)


check_window_test = TestCheck(
    "my_window_test",
    asks="test(attend), which raises AssertionError if attend has another window or other sinks",
    of=windowed,
    right="""
a mask: it hides with a table of booleans
    see = window_mask(len(q), None, window, sinks)
rows: it takes, query by query, the keys that are seen
    return np.stack([attention(q[[i]], k[see[i]], v[see[i]])[0] for i in range(len(q))])
blocks: it skips blocks that nobody sees
    return flash_attention(q, k, v, window=window, sinks=sinks, block_q=3, block_k=3)[0]
a rule: it hides by arithmetic
float32: it computes in float32: allow for differences of 1e-5
    return attention(*(np.asarray(x, dtype=np.float32) for x in (q, k, v)), mask=see)
""",
    wrong="""
one too wide: its window holds one key too many: the query's own does not count
    near = t - j <= window
one too narrow: its window holds one key too few, unless it is 1
    near = t - j < max(window - 1, 1)
at most four: its window never holds more than four keys
    near = t - j < min(window, 4)
both sides: its window looks ahead as well
    see = (abs(t - j) < window) | (early & (j <= t))
no sinks: it forgets the sinks
    early = j < 0
one sink: it keeps one sink, however many are asked for
    early = j < min(sinks, 1)
one sink too many: it keeps one sink too many
    early = j < (sinks + 1 if sinks else 0)
a sink of its own: it keeps a sink where none is asked for
    early = j < max(sinks, 1)
sinks ahead: early queries see sinks that come after them
    see = ((j <= t) & near) | early
sinks at the window's cost: its sinks are taken out of the window
    near = t - j < max(window - sinks, 1)
no window: it hides nothing that is past
    see = j <= t
whole blocks: it does not mask within the oldest block
    near = j >= (t - window + 1) // 4 * 4
not renormalised: its rows of weights do not sum to 1: hidden keys are in the denominator
    return np.where(see, attention(q, k, np.eye(len(q)), mask=j <= t), 0) @ v
not quite 1: its rows of weights sum to 0.98. Is your tolerance small enough?
    return 0.98 * attention(q, k, v, mask=see)
wider for every second: queries 1, 3, 5 … see one key more than the window holds
    near = t - j < window + t % 2
silent sinks: sinks take weight, and their values are dropped
    return np.where(near, attention(q, k, np.eye(len(q)), mask=see), 0) @ v
""",
    hints=[
        "With the identity as values the output is the weights: exact zeros where keys are hidden.",
        "Try several windows and numbers of sinks, 0 and 1 among them, and 12 tokens or more.",
    ],
)
