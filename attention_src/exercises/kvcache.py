"""The checks of the chapter on the key/value cache."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.costs import kv_cache_bytes
from attention_src.exercises.engine.checking import Case, Check, Result
from attention_src.exercises.engine.grading import Implementation, TestCheck, implementations
from attention_src.exercises.engine.ladder import Ladder, Rung
from attention_src.exercises.engine.messages import report, too_slow
from attention_src.exercises.engine.running import Outcome, attempt
from attention_src.rope.reference import rotate

Array = np.ndarray

# --- Append and read --------------------------------------------------------------------------


def append_and_read(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    if end > keys.shape[-2]:
        raise ValueError(f"room for {keys.shape[-2]} tokens, not {end}")
    keys[..., length:end, :] = k_new
    values[..., length:end, :] = v_new
    return keys[..., :end, :], values[..., :end, :]


def _watched(f: Callable) -> Callable:
    """f on storage of its own: what it returns, and what the storage holds afterwards."""

    @wraps(f)
    def called(keys: Array, values: Array, length: int, k_new: Array, v_new: Array) -> Any:
        rooms = keys.copy(order="K"), values.copy(order="K")
        try:
            answer = f(*rooms, length, k_new, v_new)
        except ValueError as error:
            if length + k_new.shape[-2] != keys.shape[-2]:
                raise
            return ValueError(
                f"Your function raises ValueError ({error}), and the new tokens just fill the "
                "storage. An exact fit is a fit: did you write >= for >?"
            )
        if answer is None and np.array_equal(rooms[0], keys, equal_nan=True):
            return None
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            return ValueError(
                "Your function should return two views: of the keys, and of the values."
            )
        for name, view in zip(("keys", "values"), answer, strict=True):
            if not isinstance(view, Array):
                return ValueError(f"The {name} that you return should be a NumPy array.")
            if not any(np.shares_memory(view, room) for room in rooms):
                return ValueError(
                    f"What you return of the {name} is a copy. A slice of the storage is a view: "
                    f"{name}[..., :n, :]."
                )
        return (*answer, *rooms)

    return called


def _when_full(f: Callable) -> Result | None:
    """What to say when there is too little room for the new tokens; None if f raises as it should.

    Several times, with other numbers of free places and of new tokens.
    """
    name = check_append_and_read.name
    tried = ((0, 1, (2,)), (1, 2, ()), (2, 3, (2, 9)), (0, 2, (5,)))
    for free, n_new, lead in tried:
        keys, values, length, k_new, v_new = _storage(5, lead, 4, 4 - free, n_new, 3, 2)
        rooms = keys.copy(), values.copy()
        called = lambda rooms=rooms, rest=(length, k_new, v_new): f(*rooms, *rest)  # noqa: E731
        outcome = attempt(called, (), lambda answer: [])
        what = f"ith {free} free and {n_new} new"
        if outcome.timed_out:
            return too_slow(name, f", w{what}", outcome.where)
        if outcome.error is None:
            said = "goes on. It should raise ValueError."
        elif not issubclass(outcome.error, ValueError):
            said = f"raises {outcome.error.__name__}; it should be ValueError."
        elif all(map(np.array_equal, rooms, (keys, values))):
            continue
        else:
            said = "raises ValueError, but has written before. Compare first."
        return report("wrong", [f"{name}: wrong. W{what}, your function {said}"])
    return None


def _storage(
    seed: Any, lead: tuple, capacity: int, length: int, n_new: int, d_k: int = 2, d_v: int = 2
) -> tuple:
    """Storage whose free part holds leftovers, and the new tokens."""
    rng = np.random.default_rng(seed)  # a generator goes on
    keys, values = (rng.normal(size=(*lead, capacity, d)) for d in (d_k, d_v))
    k_new, v_new = (rng.normal(size=(*lead, n_new, d)) for d in (d_k, d_v))
    return keys, values, length, k_new, v_new


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    length, n_new, spare, d_k, d_v = (int(x) for x in rng.integers([0, 1, 0, 1, 1], 6))
    made = _storage(rng, lead, length + n_new + spare, length, n_new, d_k, d_v)
    keys, values, _, k_new, v_new = made
    if rng.random() < 0.3:  # tokens first in memory, as after a transpose
        keys, values = (np.moveaxis(np.moveaxis(x, -2, 0).copy(), 0, -2) for x in (keys, values))
    if rng.random() < 0.4:
        keys[..., length:, :], values[..., length:, :] = rng.choice([np.nan, np.inf], 2)
    if rng.random() < 0.3:
        keys, values, k_new, v_new = (x.astype(np.float32) for x in (keys, values, k_new, v_new))
    return keys, values, length, k_new, v_new


def _emptied(inputs: tuple) -> tuple:
    """The same, the places that stay free full of NaN."""
    keys, values, length, *new = inputs
    for room in (keys, values):
        room[..., length + new[0].shape[-2] :, :] = np.nan
    return keys, values, length, *new


# A reshape that joins the axes in front copies this storage.
_BY_COLUMNS = _storage(3, (2, 3), 6, 1, 2, 2, 3)
_BY_COLUMNS = tuple(np.asfortranarray(x) if np.ndim(x) else x for x in _BY_COLUMNS)

check_append_and_read = Check(
    "append_and_read",
    append_and_read,
    asks="f(keys, values, length, k_new, v_new) -> views of the filled keys and values",
    cases=[
        Case("room for four, one there, one new", _storage(3, (), 4, 1, 1)),
        Case("an empty cache", _storage(3, (), 3, 0, 1)),
        Case("two new tokens", _storage(3, (), 6, 2, 2)),
        Case("the last place", _storage(3, (), 3, 2, 1)),
        Case("three new tokens fill it", _storage(3, (), 5, 2, 3)),
        Case("d_v above d_k", _storage(3, (), 5, 2, 2, 2, 3)),
        Case("heads", _storage(3, (3,), 5, 2, 1)),
        Case("texts and heads, several new tokens", _storage(3, (2, 3), 6, 1, 4)),
        Case("texts and heads, the last axis farthest apart in memory", _BY_COLUMNS),
        Case("three axes in front", _storage(3, (2, 1, 3), 5, 2, 2)),
        Case("forty places of forty numbers", _storage(3, (2,), 40, 25, 9, 40, 40)),
        Case("NaN in the free places", _emptied(_storage(3, (2,), 5, 2, 2))),
    ],
    draw=_draw,
    drawn=40,
    returns=("k", "v", "keys afterwards", "values afterwards"),
    watch=_watched,
    also=_when_full,
    rtol=0,
    mistakes="""
one too early: You write over the newest token: with length tokens there, place `length` is free.
    keys[..., max(length - 1, 0) : max(end - 1, end - length), :] = k_new
    values[..., max(length - 1, 0) : max(end - 1, end - length), :] = v_new
one place late: You leave a place free. With length tokens there, place `length` is the next.
    keys[..., length + 1 : end + 1, :] = k_new
    values[..., length + 1 : end + 1, :] = v_new
keys for values: You write the new keys into the values as well.
    values[..., length:end, :] = k_new
wrong axis: You write along the first axis. The tokens lie on the last axis but one, whatever \
stands in front of it.
    keys[length:end] = k_new
    values[length:end] = v_new
    return keys[:end], values[:end]
at the start: You write over the first tokens.
    keys[..., : end - length, :] = k_new
    values[..., : end - length, :] = v_new
at the end: You write into the last places of the storage. The new tokens follow the others.
    keys[..., length - end :, :] = k_new
    values[..., length - end :, :] = v_new
old ones only: You return what was there before: a token must see its own key too.
    return keys[..., :length, :], values[..., :length, :]
new ones only: You return the new tokens alone.
    return keys[..., length:end, :], values[..., length:end, :]
all of the storage: You return the free places too. They hold anything.
    return keys[...], values[...]
keys only: The new values are not written.
    - values[
one token: You append one token. There may be several.
    end = length + 1
    keys[..., length:end, :] = k_new[..., :1, :]
    values[..., length:end, :] = v_new[..., :1, :]
swapped: You return values and keys. First the keys.
    return values[..., :end, :], keys[..., :end, :]
""",
)

# --- A test for caches ------------------------------------------------------------------------


def concatenated():
    keys: list[Array] = []
    values: list[Array] = []

    def go_on(q, k, v):
        n, n_new = sum(map(len, keys)), len(q)
        at = n + np.arange(n_new)
        k_new = rotate(k, at)
        v_new = np.array(v)
        keys.append(k_new)
        values.append(v_new)
        k_all, v_all = np.concatenate(keys), np.concatenate(values)
        seen = np.tri(n_new, n + n_new, n, dtype=bool)
        o = attention(rotate(q, at), k_all, v_all, mask=seen)
        return o

    return go_on


def preallocated():
    """Keys and values in storage that doubles when it is full."""
    rooms = [np.zeros((0, 0))] * 2
    length = 0

    def go_on(q, k, v):
        nonlocal rooms, length
        end = length + len(q)
        if not length:
            rooms = [np.zeros((4, x.shape[1])) for x in (k, v)]
        while len(rooms[0]) < end:
            rooms = [np.concatenate([room, 0 * room]) for room in rooms]
        at = np.arange(length, end)
        rooms[0][length:end], rooms[1][length:end] = rotate(k, at), v
        length = end
        return attention(rotate(q, at), rooms[0][:end], rooms[1][:end], causal=True)

    return go_on


RIGHT_CACHES = """
rotated when read: it rotates its keys when it reads them
    k_new = np.array(k)
    k_all, v_all = rotate(np.concatenate(keys), np.arange(n + n_new)), np.concatenate(values)
one by one: it takes several new tokens one after the other
    n, n_new = sum(map(len, keys)), len(q)
    + if n_new > 1: return np.concatenate([go_on(q[[i]], k[[i]], v[[i]]) for i in range(n_new)])
everything again: it has no cache, and needs none
    + queries = []
    k_new = np.array(k)
    + queries.append(np.array(q))
    k_all, v_all = rotate(np.concatenate(keys), np.arange(n + n_new)), np.concatenate(values)
    + q_all = rotate(np.concatenate(queries), np.arange(n + n_new))
    o = attention(q_all, k_all, v_all, causal=True)[n:]
from position 7: only distances matter to a rotation
    at = 7 + n + np.arange(n_new)
float32: it stores float32: allow for differences of 1e-5
    k_new = rotate(k, at).astype(np.float32)
    v_new = v.astype(np.float32)
"""

WRONG_CACHES = """
newest unseen: it appends after it has attended, so a token does not see itself
    seen = np.tri(n_new, n + n_new, n - 1, dtype=bool)
not masked: several new tokens see one another, later ones too. Do you append several at once?
    seen = None
top left: with several new tokens after old ones, its causal mask begins at the first key
    seen = np.tri(n_new, n + n_new, n if n_new == 1 else 0, dtype=bool)
old and own: of several new tokens each sees the old ones and itself, and not its neighbours
    seen = np.concatenate([np.ones((n_new, n), bool), np.eye(n_new, dtype=bool)], axis=1)
positions from 0: each call counts its positions from 0
    at = np.arange(n_new)
queries one behind: after the first call its queries stand one position before their own keys
    v_new = np.array(v)
    + at = max(n - 1, 0) + np.arange(n_new)
stale positions: all new tokens of a call stand at the position of the first of them
    at = n + np.zeros(n_new)
rotated again: it rotates old keys in each call
    n, n_new = sum(map(len, keys)), len(q)
    + keys[:] = [rotate(np.concatenate(keys), np.arange(n))] if keys else []
one store: all texts share one store. Do you start two texts and go on with both?
    keys: list[Array] = _SHARED[0]
    values: list[Array] = _SHARED[1]
    values.append(v_new)
    + assert len({(a.shape[1], b.shape[1]) for a, b in zip(keys, values)}) == 1, "one width"
one count: its texts count their positions together: one text's tokens move the other's on
    at = len(_SHARED[2]) + np.arange(n_new)
    + _SHARED[2].extend(at)
references: it keeps your arrays and not copies. What if the caller reuses them?
    v_new = v
references to keys: it keeps your array of keys and not a copy, and rotates when it reads. Do you \
use that array again?
    k_new = k
    k_all, v_all = rotate(np.concatenate(keys), np.arange(n + n_new)), np.concatenate(values)
single token: a token that comes alone does not see itself. Do you append one at a time?
    seen = np.tri(n_new, n + n_new, n - (n_new == 1), dtype=bool)
last of a block: of several tokens that follow old ones it keeps the last one only
    + tokens = []
    at = len(tokens) + np.arange(n_new)
    + tokens.extend(at)
    o = attention(rotate(q, at), k_all, v_all, mask=seen)
    + if n: keys[-1], values[-1] = keys[-1][-1:], values[-1][-1:]
late values: a value arrives one call too late, and until then NaN stands there. Does your \
comparison refuse NaN?
    k_all, v_all = np.concatenate(keys), np.concatenate([*values[:-1], np.nan * values[-1]])
"""

GROWN = """
coarse: when its storage grows, old numbers keep two digits behind the point. Is your tolerance \
small enough?
    rooms = [np.concatenate([room.round(2), 0 * room]) for room in rooms]
last column: when its storage grows, the last number of each old value stays behind
    rooms = [np.concatenate([room, 0 * room]) for room in rooms]
    + if length: rooms[1][:length, -1] = 0
grown: when its storage grows, the old values stay behind
    rooms = [np.concatenate([room, 0 * room]) for room in (rooms[0], 0 * rooms[1])]
"""

WRONG_AT_LAST = """
ring: it holds 31 tokens; a text may have 32
    seen = np.tri(n_new, n + n_new, n, dtype=bool)
    + seen &= ~np.tri(n_new, n + n_new, n - 31, dtype=bool)
first token lost: it loses the first token of a text of more than 12
    k_all, v_all = np.concatenate(keys), np.concatenate(values)
    + if n + n_new > 12: k_all[0], v_all[0] = 0, 0
"""

_SHARED: tuple[list, ...] = [], [], []  # keys, values and tokens of all texts, in wrong caches


def alone():
    """No cache: each call is taken for a whole text."""
    before: list[Array] = []

    def go_on(q, k, v):
        if before and len(k) > len(before[-1]) and np.allclose(k[: len(before[-1])], before[-1]):
            _SEEN.append("again")
        before.append(np.array(k))
        at = np.arange(len(q))
        return attention(rotate(q, at), rotate(k, at), v, causal=True)

    return go_on


_SEEN: list[str] = []  # what `alone` noticed

# A test that refuses right caches and accepts one of these compares with the wrong thing.
LIKELY_CAUSES = """
not rotated: It accepts a cache that never rotates. Are the q and k of your right answer rotated, \
and those that you pass not?
    k_new = np.array(k)
    o = attention(q, k_all, v_all, mask=seen)
not masked: It accepts a cache without a causal mask. Is your right answer causal?
    seen = None
positions from 0: It accepts a cache that counts positions from 0 in each call. In your right \
answer positions go on.
    at = np.arange(n_new)
"""
_NO_PROBE = (
    "Your right answer may lack the causal mask, or be made from arrays that you have "
    "overwritten, or you allow for no difference."
)
_EXACT = "Sums in another order differ in the last digits: compare with a tolerance, 1e-5."
_AGAIN = "You pass old tokens again. go_on wants the new ones only."
_APART = (
    "It accepts a cache that keeps nothing. Your right answer should be rows of the whole text's."
)


class _CacheTest(TestCheck):
    """A test check whose implementations forget the texts of an earlier run.

    It says, too, why a test probably refuses right ones.
    """

    __test__ = False
    _test: Any = None

    def _try(self, test: Any, implementation: Implementation, calls: list[int]) -> Outcome:
        for common in _SHARED:
            common.clear()
        self._test = test
        return super()._try(test, implementation, calls)

    def _wrong(self, lines: list[str], slipped: Implementation | None = None) -> Result:
        if "refuses" in lines[0]:
            exact = re.search(r"==|array_equal|assert_equal", lines[1])
            if exact and not re.search("close|abs|shape|len", lines[1]):
                lines = [*lines, f"Likely cause: {_EXACT}"]
            elif f"({self.right[0].name})" in lines[0]:  # the others say what they do otherwise
                lines = [*lines, f"Likely cause: {self._likely_cause()}"]
        return super()._wrong(lines, slipped)

    def _likely_cause(self) -> str:
        """Which wrong cache a test takes for right."""
        _SEEN.clear()
        for probe in implementations(concatenated, LIKELY_CAUSES):
            if self._try(self._test, probe, [0]).error is None:
                return probe.why
        if self._try(self._test, Implementation("alone", alone, ""), [0]).error is None:
            return _AGAIN if _SEEN else _APART
        return _NO_PROBE


check_cache_test = _CacheTest(
    "my_cache_test",
    asks="test(start), which raises AssertionError if a cache does not continue a text rightly",
    right=[
        Implementation("concatenated", concatenated, "it puts the new tokens behind the old ones"),
        Implementation("preallocated", preallocated, "its storage doubles when it is full"),
        *implementations(concatenated, RIGHT_CACHES),
    ],
    wrong=[
        *implementations(concatenated, WRONG_CACHES),
        *implementations(preallocated, GROWN),
        *implementations(concatenated, WRONG_AT_LAST),
    ],
)

# --- What a token costs: Llama 3.1 8B on an H100, by bytes ------------------------------------

WEIGHTS, BANDWIDTH = 16e9, 3.35e12  # bytes; bytes a second
LAYERS, H_KV, D = 32, 8, 128
TEXTS, TOKENS = 64, 4096
OF_THREE_DIGITS = 0.0051  # for 64 / 0.0150 s, rounded once more: wider than a ladder's own 0.005


def _cache(n: int = 1, batch: int = 1, dtype_bytes: float = 2) -> int:
    return kv_cache_bytes(LAYERS, H_KV, D, D, n, batch=batch, dtype_bytes=dtype_bytes)


def _ms(n_bytes: float) -> float:
    return 1e3 * n_bytes / BANDWIDTH


def _step_ms(dtype_bytes: float = 2) -> float:
    """All weights once, and the caches of all texts."""
    return _ms(WEIGHTS + _cache(TOKENS, TEXTS, dtype_bytes))


check_token_ladder = Ladder("token", [
    Rung("a", "milliseconds for a token, with an empty cache", _ms(WEIGHTS), {
        WEIGHTS / BANDWIDTH: "Those are seconds.",
        _ms(WEIGHTS / 2): "8 billion numbers of two bytes each.",
    }, hint="16 GB pass at 3.35 TB/s."),
    Rung("b", "bytes that a token leaves in the cache", _cache(), {
        _cache() // 2: "Keys and values: both are kept. And two bytes each.",
        _cache() // LAYERS: "That is one layer. There are 32.",
        _cache() * 4: "Keys are kept for 8 heads, not for 32.",
    }, hint="2 bytes, 32 layers, 8 heads, a key and a value of 128.", rtol=0),
    Rung("c", "tokens of one text whose cache weighs as much as the weights", WEIGHTS / _cache(), {
        WEIGHTS / 2 / _cache(): "The weights take 16 GB.",
    }, hint="16 GB over your (b)."),
    Rung("d", "milliseconds for a step of 64 texts with 4,096 tokens each", _step_ms(), {
        _ms(WEIGHTS + _cache(TOKENS)): "That is one text's cache. Each of the 64 has its own.",
        TEXTS * _ms(WEIGHTS + _cache(TOKENS)): "The weights are read once for all texts.",
        _ms(_cache(TOKENS, TEXTS)): "That is the caches. The weights are read too.",
    }, hint="Weights once, 64 caches of 4,096 tokens."),
    Rung("e", "tokens a second, of all texts together", 1e3 * TEXTS / _step_ms(), {
        1e3 / _step_ms(): "That is one text's. There are 64.",
        TEXTS / _step_ms(): "That is in a millisecond. Your (d) is in milliseconds.",
    }, hint="64 tokens in the time of your (d).", rtol=OF_THREE_DIGITS),
    Rung("f", "tokens a second with a byte for each number of the cache",
         1e3 * TEXTS / _step_ms(1), {
        2e3 * TEXTS / _step_ms(): "Only the caches shrink. The weights are read as before.",
        1e3 * TEXTS / _step_ms(0.5): "That is half a byte, 4 bits.",
        TEXTS / _step_ms(1): "That is in a millisecond.",
    }, hint="Half of the caches' bytes, all of the weights'.", rtol=OF_THREE_DIGITS),
], asks="the rungs of \"What a token costs\"")  # fmt: skip

# --- Attention over pages ---------------------------------------------------------------------


def paged_attention(q, k_pages, v_pages, table, length):
    size = k_pages.shape[1]
    m, l, acc = -np.inf, 0.0, np.zeros(v_pages.shape[2])
    for start in range(0, length, size):
        page, filled = table[start // size], min(size, length - start)
        s = k_pages[page, :filled] @ q / np.sqrt(len(q))
        m_new = max(m, s.max())
        e, old = np.exp(s - m_new), np.exp(m - m_new)
        l = old * l + e.sum()
        acc = old * acc + e @ v_pages[page, :filled]
        m = m_new
    return acc / l if l else acc


def _pool(seed: Any, length: int, size: int, d_k: int, d_v: int, spare: int = 1) -> tuple:
    """A pool of pages in which one text lies scattered; unused slots hold NaN."""
    rng = np.random.default_rng(seed)  # a generator goes on
    used = -(-length // size)
    n_pages = used + 1 + spare
    k_pages, v_pages = (rng.normal(size=(n_pages, size, d)).round(2) for d in (d_k, d_v))
    table = np.concatenate([rng.permutation(n_pages)[:used], np.full(spare, -1)])
    filled = np.zeros((n_pages, size), bool)
    j = np.arange(length)
    filled[table[j // size], j % size] = True
    k_pages[~filled], v_pages[~filled] = np.nan, np.nan
    return rng.normal(size=d_k).round(2), k_pages, v_pages, table, length


def _loud(factor: float, *inputs: Any) -> tuple:
    return (factor * inputs[0], *inputs[1:])


def _far_below(q: Array, k_pages: Array, *rest: Any) -> tuple:
    """All scores are below −30,000: a maximum that begins at 0 leaves no exponential."""
    return (-15_000 * (abs(q) / 4 + 0.5), abs(k_pages) + 1, *rest)


def _draw_pool(rng: np.random.Generator) -> tuple:
    length, size, d_k, d_v, spare = (
        int(x) for x in rng.integers([0, 1, 1, 1, 0], [18, 7, 6, 6, 3])
    )
    inputs = _pool(rng, length, size, d_k, d_v, spare)
    return _loud(rng.choice([0.3, 1.0, 30.0, 3000.0]), *inputs)


def _leftovers(q: Array, k_pages: Array, v_pages: Array, *rest: Any) -> tuple:
    """Unused slots hold another text's tokens, which score high."""
    k_pages, v_pages = (np.where(np.isnan(x), 9.0, x) for x in (k_pages, v_pages))
    return (abs(q), k_pages, v_pages, *rest)


def _tied(q: float) -> tuple:
    """Three tokens on pages 1 and 0 with keys 1, 0.99998 and 1."""
    k_pages = np.array([[[1.0], [np.nan]], [[1.0], [0.99998]]])
    v_pages = np.array([[[3.0, 7], [np.nan] * 2], [[1, 0], [5, 2]]])
    return np.array([q]), k_pages, v_pages, np.array([1, 0]), 3


_BEYOND = _pool(12, 4, 2, 2, 1)  # of the first case's shapes
_BEYOND[3][2] = 1_000_000

check_paged_attention = Check(
    "paged_attention",
    paged_attention,
    asks="f(q, k_pages, v_pages, table, length), attention of one query over scattered pages",
    cases=[
        Case("two pages of two, four tokens", _pool(11, 4, 2, 2, 1)),
        Case("the last page half filled", _pool(11, 5, 2, 2, 2)),
        Case("less than a page", _pool(11, 2, 4, 2, 3)),
        Case("pages of one token", _pool(11, 3, 1, 2, 2)),
        Case("five pages of three", _pool(11, 14, 3, 4, 2)),
        Case("no token yet", _pool(11, 0, 2, 2, 3)),
        Case("scores in the thousands", _loud(3000.0, *_pool(11, 9, 2, 3, 2))),
        Case("all scores far below 0", _far_below(*_pool(11, 9, 2, 3, 2))),
        Case("scores of 50,000, two alike and one 1 lower", _tied(5e4)),
        Case("scores of -50,000, two alike and one 1 higher", _tied(-5e4)),
        # The keys take 2 MiB, a page 16 KiB.
        Case("4,096 tokens: no room for copies", _pool(11, 4096, 32, 64, 64), max_bytes=1 << 20),
        Case("1,000,000 in the table, behind the last page", _BEYOND),
        Case("one full page", _pool(11, 3, 3, 2, 2)),
        Case("another text's tokens in the unused slots", _leftovers(*_pool(11, 5, 3, 2, 2))),
        Case("d_k = 1, to twelve digits", _pool(11, 5, 2, 1, 2), rtol=1e-12),
    ],
    draw=_draw_pool,
    drawn=40,
    mistakes="""
pages in order of the pool: You read pages 0, 1, 2 of the pool. The table says which pages are \
this text's, and in which order.
    page, filled = start // size, min(size, length - start)
whole pages: You read the unfilled slots of the last page too. They hold anything.
    page, filled = table[start // size], size
remainder of a full page: You read length % size slots of the last page. If the page is full, that \
is 0, and not all of them.
    page, filled = table[start // size], size if start + size < length else length % size
remainder of a full page: You read length % size slots of the last page. If the page is full, that \
is 0, and not all of them.
    + length = length - size if length % size == 0 else length
last page dropped: You leave out a last page that is not full.
    + length = length // size * size
one token short: You leave out the newest token.
    + length = length - 1
gathered: You put all pages side by side, and the memory does not suffice. Go page by page, with \
a running maximum and sum.
    + used = table[: -(-length // size)]
    + k, v = (x[used].reshape(-1, x.shape[2])[:length] for x in (k_pages, v_pages))
    return attention(q[None], k, v)[0]
nothing rescaled: When a larger score turns up, what l and acc hold was measured against the old \
maximum. Multiply both by exp(m - m_new).
    e, old = np.exp(s - m_new), 1.0
nothing rescaled: When a larger score turns up, what l and acc hold was measured against the old \
maximum. Multiply both by exp(m - m_new).
    for start in range(length):
    page, filled = table[start // size], [start % size]
    e, old = np.exp(s - m_new), 1.0
    s = k_pages[page, filled] @ q / np.sqrt(len(q))
    acc = acc + e @ v_pages[page, filled]
acc not rescaled: l is right and acc is not: when a larger score turns up, acc needs the factor \
exp(m - m_new) as well.
    for start in range(length):
    page, filled = table[start // size], [start % size]
    s = k_pages[page, filled] @ q / np.sqrt(len(q))
    acc = acc + e @ v_pages[page, filled]
l not rescaled: You rescale acc and leave l. Both were measured against the old maximum.
    for start in range(length):
    page, filled = table[start // size], [start % size]
    s = k_pages[page, filled] @ q / np.sqrt(len(q))
    l = l + e.sum()
    acc = old * acc + e @ v_pages[page, filled]
acc not rescaled: l is right and acc is not: when a larger score turns up, acc needs the factor \
exp(m - m_new) as well.
    acc = acc + e @ v_pages[page, :filled]
l not rescaled: You rescale acc and leave l. Both were measured against the old maximum.
    l = l + e.sum()
not scaled: The scores are not divided by the root of d_k.
    s = k_pages[page, :filled] @ q
maximum from 0: Your maximum begins at 0. Where all scores are far below it each exponential is 0. \
It begins at -inf.
    m, l, acc = 0.0, 0.0, np.zeros(v_pages.shape[2])
maximum from 0: Your maximum begins at 0. Where all scores are far below it each exponential is 0, \
and 0 / 0 is not a number. It begins at -inf.
    m, l, acc = 0.0, 0.0, np.zeros(v_pages.shape[2])
    return acc / l if length else acc
not rescaled: Each page's sums count in units of its own maximum. When a larger score turns up, \
rescale what you hold.
    m_new = s.max()
    e, old = np.exp(s - m_new), 1.0
mean of pages: You average the pages' outputs. A page counts as much as its exponentials sum to.
    m_new = s.max() + np.log(np.exp(s - s.max()).sum())
    e, old = np.exp(s - m_new), 1.0
""",
)
