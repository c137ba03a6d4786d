"""The rolling cache: right answers pass, wrong ones do not and are told why.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.engine.checking import passed
from attention_src.exercises.longcontext import check_rolling_append
from attention_src.exercises.longcontext.rolling import ROLLING_APPEND


# The worked solution, in the words of the chapter.
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


def test_worked_solution_and_stub():
    assert_worked("longcontext", check_rolling_append, rolling_append)
    assert passed[rolling_append] == "rolling_append"


def test_it_equals_the_packages_cache():
    torch = pytest.importorskip("torch")
    from attention_src.kvcache.cache_windowed import WindowedKVCache

    for capacity, sinks in ((5, 0), (5, 2), (4, 3), (1, 0)):
        cache = WindowedKVCache(capacity - sinks, sinks)
        keys, values = np.zeros((2, 3, capacity, 4))
        rng = np.random.default_rng(capacity)
        for n_seen in range(4 * capacity):
            k, v = rng.normal(size=(2, 3, 4))
            held = rolling_append(keys, values, n_seen, k, v, sinks)
            cache.append(*(torch.tensor(x)[None, :, None] for x in (k, v)))
            assert sorted(held) == cache.positions.tolist()
            np.testing.assert_array_equal(cache.stored()[0][0].numpy(), keys[:, : len(held)])
            np.testing.assert_array_equal(cache.stored()[1][0].numpy(), values[:, : len(held)])


# --- right -------------------------------------------------------------------------------------


def simulated(keys, values, n_seen, k_new, v_new, sinks):
    """The whole history, slot by slot; long streams by their last rounds."""
    capacity = keys.shape[-2]
    length = capacity - sinks
    first = max(0, (n_seen - sinks) // length - 2) * length
    held = list(range(min(first + sinks, capacity)))
    at = len(held) if first == 0 else None
    held = [i if i < sinks else i + first - length for i in range(capacity)] if first else []
    start = first + sinks if first else 0
    for position in range(start, n_seen + 1):
        if len(held) < capacity:
            held.append(position)
            at = len(held) - 1
        else:
            at = min(range(sinks, capacity), key=lambda slot: held[slot])
            held[at] = position
    keys[..., at, :], values[..., at, :] = k_new, v_new
    return held


def with_modulo(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    slots = np.arange(capacity)
    newest = np.where(slots < sinks, slots, n_seen - (n_seen - slots) % (capacity - sinks))
    slot = int(np.flatnonzero(newest == n_seen)[0])
    keys[..., slot, :], values[..., slot, :] = k_new, v_new
    return newest[: n_seen + 1]


def views(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    if n_seen < capacity:
        keys[..., n_seen, :] = k_new
        values[..., n_seen, :] = v_new
        return np.arange(n_seen + 1)
    offset = (n_seen - sinks) % (capacity - sinks)
    for store, new in ((keys, k_new), (values, v_new)):
        ring = store[..., sinks:, :]
        ring[..., offset, :] = new
    last = np.arange(n_seen - (capacity - sinks) + 1, n_seen + 1)
    return np.concatenate([np.arange(sinks), np.roll(last, offset + 1)])


def copyto(keys, values, n_seen, k_new, v_new, sinks):
    held = with_modulo(keys.copy(), values.copy(), n_seen, k_new, v_new, sinks)
    slot = int(np.argmax(held)) if n_seen >= sinks else n_seen
    np.copyto(np.moveaxis(keys, -2, 0)[slot], k_new)
    np.copyto(np.moveaxis(values, -2, 0)[slot], v_new)
    return held.astype(np.int32)


def loops(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    held = []
    for slot in range(min(capacity, n_seen + 1)):
        position = slot
        if slot >= sinks:
            position += (n_seen - slot) // (capacity - sinks) * (capacity - sinks)
        held.append(position)
    slot = held.index(n_seen)
    for index in np.ndindex(keys.shape[:-2]):
        keys[index][slot] = k_new[index]
        values[index][slot] = v_new[index]
    return held


def in_torch(keys, values, n_seen, k_new, v_new, sinks):
    torch = pytest.importorskip("torch")
    held = torch.as_tensor(views(keys, values, n_seen, k_new, v_new, sinks))
    torch.as_tensor(keys).select(-2, int(held.argmax())).copy_(torch.as_tensor(k_new))
    return held


RIGHT = {
    "worked solution": rolling_append,
    "modulo": with_modulo,
    "views": views,
    "copyto": copyto,
    "loops": loops,
    "torch": in_torch,
    "simulated": simulated,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_rolling_append(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


def elsewhere(slot_of, change=lambda held: held):
    def answer(keys, values, n_seen, k_new, v_new, sinks):
        held = rolling_append(keys.copy(), values.copy(), n_seen, k_new, v_new, sinks)
        slot = slot_of(n_seen, keys.shape[-2], sinks)
        keys[..., slot, :], values[..., slot, :] = k_new, v_new
        return change(held)

    return answer


def right_slot(n, c, s):
    return n if n < s else s + (n - s) % (c - s)


def rebound(keys, values, n_seen, k_new, v_new, sinks):
    keys, values = keys.copy(), values.copy()
    return rolling_append(keys, values, n_seen, k_new, v_new, sinks)


def keys_twice(keys, values, n_seen, k_new, v_new, sinks):
    held = rolling_append(keys, values.copy(), n_seen, k_new, v_new, sinks)
    return held


def values_only(keys, values, n_seen, k_new, v_new, sinks):
    return rolling_append(keys.copy(), values, n_seen, k_new, v_new, sinks)


def shifting(keys, values, n_seen, k_new, v_new, sinks):
    capacity = keys.shape[-2]
    if n_seen < capacity:
        return rolling_append(keys, values, n_seen, k_new, v_new, sinks)
    for store, new in ((keys, k_new), (values, v_new)):
        store[..., sinks:-1, :] = store[..., sinks + 1 :, :].copy()
        store[..., -1, :] = new
    return np.concatenate([np.arange(sinks), np.arange(n_seen - capacity + sinks + 1, n_seen + 1)])


def one_head(keys, values, n_seen, k_new, v_new, sinks):
    """Writes to the first entry of the leading axes alone."""
    held = rolling_append(keys.copy(), values.copy(), n_seen, k_new, v_new, sinks)
    slot = right_slot(n_seen, keys.shape[-2], sinks)
    first = (0,) * (keys.ndim - 2)
    keys[first][slot], values[first][slot] = k_new[first], v_new[first]
    return held


def clears(keys, values, n_seen, k_new, v_new, sinks):
    held = rolling_append(keys, values, n_seen, k_new, v_new, sinks)
    keys[..., : right_slot(n_seen, keys.shape[-2], sinks), :] *= 1 - 1e-3
    return held


def in_float32(keys, values, n_seen, k_new, v_new, sinks):
    k_new, v_new = k_new.astype(np.float32), v_new.astype(np.float32)
    return rolling_append(keys, values, n_seen, k_new, v_new, sinks)


def empties(keys, values, n_seen, k_new, v_new, sinks):
    """Sets the slots to 0 that hold no token yet."""
    held = rolling_append(keys, values, n_seen, k_new, v_new, sinks)
    keys[..., len(held) :, :] = 0
    return held


WRONG = {
    "float32": (in_float32, ""),
    "free slots emptied": (empties, ""),
    "positions as floats": (
        elsewhere(lambda n, c, s: right_slot(n, c, s), lambda held: held.astype(float)),
        "should be integers",
    ),
    "rebound": (rebound, "not written to"),
    "values forgotten": (keys_twice, "value has to follow"),
    "keys forgotten": (values_only, ""),
    "sinks overwritten": (elsewhere(lambda n, c, s: n % c), "sinks included"),
    "wrong start": (
        elsewhere(lambda n, c, s: n if n < c else s + n % (c - s)),
        "Count the ring",
    ),
    "newest overwritten": (elsewhere(lambda n, c, s: min(n, c - 1)), "overwrite the newest"),
    "shifting": (shifting, "moved all tokens up"),
    "sorted": (elsewhere(right_slot, np.sort), "slot by slot"),
    "slots": (elsewhere(right_slot, lambda held: np.arange(len(held))), "Which tokens"),
    "before the append": (elsewhere(right_slot, lambda held: held - 1), ""),
    "one only": (elsewhere(right_slot, lambda held: held[-1:]), ""),
    "no ring for one slot": (elsewhere(lambda n, c, s: min(right_slot(n, c, s), c - 2)), ""),
    "positions reversed": (elsewhere(right_slot, lambda held: held[::-1]), ""),
    "one head": (one_head, ""),
    "clears others": (clears, ""),
    "returns nothing": (elsewhere(right_slot, lambda held: None), ""),
    "returns keys": (elsewhere(right_slot, lambda held: held + 0.5), ""),
    "one sink": (
        elsewhere(lambda n, c, s: right_slot(n, c, min(s, 1))),
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_rolling_append, answer, spoken_of)


@pytest.mark.parametrize("mistake", ROLLING_APPEND.mistakes, ids=lambda m: m.name)
def test_each_named_mistake_is_named(mistake):
    assert mistake.message[:30] in " ".join(ROLLING_APPEND.run(mistake.wrong).message.split())
