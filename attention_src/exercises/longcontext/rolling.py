"""The check of a cache that keeps the first tokens and the last ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result, passed

Array = np.ndarray
Three = tuple[Array, Array, Array]


def _slot(n_seen: int, capacity: int, sinks: int) -> int:
    """Where the token at position n_seen goes: sinks first, the others round the ring."""
    return n_seen if n_seen < sinks else sinks + (n_seen - sinks) % (capacity - sinks)


def rolling_append(
    keys: Array, values: Array, n_seen: int, k_new: Array, v_new: Array, sinks: int
) -> Array:
    """Write one token over the oldest one that is no sink.

    Args:
        keys, values: [..., capacity, d_k], [..., capacity, d_v]  written in place
        n_seen: tokens before this one
        k_new, v_new: [..., d_k], [..., d_v]
        sinks: first tokens that stay, fewer than capacity
    Returns: int [held]  the positions of the tokens held, slot by slot
    """
    capacity = keys.shape[-2]
    slot = _slot(n_seen, capacity, sinks)
    keys[..., slot, :], values[..., slot, :] = k_new, v_new
    slots = np.arange(min(n_seen + 1, capacity))
    rounds = (n_seen - slots) // (capacity - sinks) * (capacity - sinks)
    return np.where(slots < sinks, slots, slots + rounds)


def after(f: Callable) -> Callable:
    """What f leaves behind: the storage that it wrote to, and its answer.

    Args:
        f: as `rolling_append`
    Returns: a function that changes none of its inputs, and returns keys, values, positions
    Raises:
        ValueError: positions that are no integers
    """

    def called(keys: Array, values: Array, n_seen: int, k_new: Array, v_new: Array, sinks: int):
        keys, values = keys.copy(), values.copy()
        held = f(keys, values, n_seen, k_new, v_new, sinks)
        if held is not None and np.asarray(held).dtype.kind == "f":
            raise ValueError("the positions are floating-point numbers; they should be integers")
        return keys, values, held

    return called


def _by_slot(slot_of: Callable, positions_of: Callable | None = None) -> Callable:
    """A wrong append: to another slot, or with other positions."""

    def wrong(
        keys: Array, values: Array, n_seen: int, k_new: Array, v_new: Array, sinks: int
    ) -> Array:
        sizes = (n_seen, keys.shape[-2], sinks)
        right = rolling_append(keys.copy(), values.copy(), n_seen, k_new, v_new, sinks)
        slot = slot_of(*sizes) % keys.shape[-2]
        keys[..., slot, :], values[..., slot, :] = k_new, v_new
        return right if positions_of is None else positions_of(right, *sizes)

    return after(wrong)


def _shifted(
    keys: Array, values: Array, n_seen: int, k_new: Array, v_new: Array, sinks: int
) -> Three:
    """When it is full, all that is no sink moves up by one slot."""
    capacity = keys.shape[-2]
    if n_seen < capacity:
        return after(rolling_append)(keys, values, n_seen, k_new, v_new, sinks)
    keys, values = keys.copy(), values.copy()
    for store, new in ((keys, k_new), (values, v_new)):
        store[..., sinks:-1, :] = store[..., sinks + 1 :, :].copy()
        store[..., -1, :] = new
    last = np.arange(n_seen - capacity + sinks + 1, n_seen + 1)
    return keys, values, np.concatenate([np.arange(sinks), last])


def _untouched(
    keys: Array, values: Array, n_seen: int, k_new: Array, v_new: Array, sinks: int
) -> Three:
    return keys, values, rolling_append(keys.copy(), values.copy(), n_seen, k_new, v_new, sinks)


def _keys_only(
    keys: Array, values: Array, n_seen: int, k_new: Array, v_new: Array, sinks: int
) -> Three:
    full = after(rolling_append)(keys, values, n_seen, k_new, v_new, sinks)
    return full[0], values, full[2]


def _case(
    name: str,
    seed: int,
    lead: tuple[int, ...],
    sizes: tuple[int, ...],
    n_seen: int,
    sinks: int,
    unit: float = 1.0,
    free: float = -1.0,
) -> Case:
    """sizes: capacity, d_k, d_v. Slots that hold no token yet hold `free`."""
    capacity, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    parts = [rng.integers(1, 100, (*lead, capacity, d)) * unit for d in (d_k, d_v)]
    for part in parts:
        part[..., min(n_seen, capacity) :, :] = free
    k_new, v_new = (rng.integers(1, 100, (*lead, d)) * unit for d in (d_k, d_v))
    return Case(name, (*parts, n_seen, k_new, v_new, sinks))


def _draw(rng: np.random.Generator) -> Case:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    capacity, d_k, d_v = (int(size) for size in rng.integers(1, 7, 3))
    sinks, n_seen = int(rng.integers(0, capacity)), int(rng.integers(0, 6 * capacity))
    sizes = (capacity, d_k, d_v)
    name = f"drawn: capacity={capacity}, sinks={sinks}, n_seen={n_seen}"
    # Thirds have digits that float32 loses.
    return _case(name, int(rng.integers(10**6)), lead, sizes, n_seen, sinks, unit=1 / 3)


def _oldest_first(n_seen: int, capacity: int, sinks: int) -> int:
    return n_seen % capacity


ROLLING_APPEND = Check(
    "rolling_append",
    reference=after(rolling_append),
    cases=[
        _case("room for 4, no sink, the fifth token", 0, (), (4, 2, 1), 4, 0),
        _case("room for 5, 1 sink, the sixth token", 1, (), (5, 2, 3), 5, 1),
        _case("room for 5, 2 sinks, twice round", 2, (), (5, 2, 1), 12, 2),
        _case("the first token", 3, (), (3, 2, 1), 0, 1),
        _case("room left", 4, (), (6, 1, 2), 3, 1),
        _case("room left, with NaN in it", 4, (), (6, 1, 2), 3, 1, free=np.nan),
        _case("the last free slot", 5, (), (4, 2, 2), 3, 2),
        _case("one slot beside the sinks", 6, (), (3, 2, 1), 8, 2),
        _case("2 texts of 3 heads", 7, (2, 3), (4, 2, 5), 9, 1),
        _case("a long stream", 8, (), (7, 1, 1), 100_003, 3),
    ],
    draw=_draw,
    returns=("keys", "values", "positions"),
    mistakes=[
        Mistake("not in place", _untouched, "keys and values were not written to: index them."),
        Mistake("values forgotten", _keys_only, "You wrote the key; the value has to follow."),
        Mistake(
            "sinks overwritten",
            _by_slot(_oldest_first),
            "Your ring goes round the whole storage, sinks included. Only the slots from `sinks` "
            "on go round.",
        ),
        Mistake(
            "the ring begins at a wrong slot",
            _by_slot(lambda n, c, s: n if n < c else s + n % (c - s)),
            "Count the ring from the first token that is no sink: (n_seen - sinks) % its length.",
        ),
        Mistake(
            "one slot late",
            _by_slot(lambda n, c, s: n + 1 if n >= s and n + 1 < c else _slot(n + 1, c, s)),
            "n_seen tokens came before, so this one stands at position n_seen, counted from 0.",
        ),
        Mistake(
            "always the last slot",
            _by_slot(lambda n, c, s: min(n, c - 1)),
            "You overwrite the newest token. The oldest one that is no sink has to go.",
        ),
        Mistake(
            "moved up",
            _shifted,
            "You moved all tokens up by one, which copies the whole storage for each token. "
            "Overwrite the oldest where it lies.",
        ),
        Mistake(
            "positions sorted",
            _by_slot(_slot, lambda held, n, c, s: np.sort(held)),
            "The positions are asked for slot by slot, as they lie in the storage.",
        ),
        Mistake(
            "slots, not positions",
            _by_slot(_slot, lambda held, n, c, s: np.arange(len(held))),
            "These are the numbers of the slots. Which tokens of the text lie there?",
        ),
        Mistake(
            "empty slots counted",
            _by_slot(_slot, lambda held, n, c, s: np.append(held, np.zeros(c - len(held), int))),
            "Slots that hold nothing yet have no position. Return the held ones alone.",
        ),
    ],
    hints=[
        "Which slot holds the oldest token that is no sink? The first time, it is slot `sinks`.",
        "slot = n_seen if n_seen < sinks else sinks + (n_seen - sinks) % (capacity - sinks)",
        "Slot i >= sinks holds the largest position that is at most n_seen and differs from i by "
        "whole rounds of capacity - sinks.",
    ],
)


def check_rolling_append(f: Any) -> Result:
    """Check f(keys, values, n_seen, k_new, v_new, sinks) -> positions, which writes in place.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    if not callable(f):
        return ROLLING_APPEND.run(f)
    result = ROLLING_APPEND.run(after(f))
    if result:
        passed[f] = ROLLING_APPEND.name
    return result
