"""The rolling cache: right answers pass, wrong ones do not and are told why."""

import numpy as np
import pytest
from rolling_answers import WRONG, rolling_append
from worked import assert_rejected, assert_worked

from attention_src.exercises.engine.checking import passed
from attention_src.exercises.longcontext import check_rolling_append
from attention_src.exercises.longcontext.rolling import ROLLING_APPEND


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


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_rolling_append, answer, spoken_of)


@pytest.mark.parametrize("mistake", ROLLING_APPEND.mistakes, ids=lambda m: m.name)
def test_each_named_mistake_is_named(mistake):
    assert mistake.message[:30] in " ".join(ROLLING_APPEND.run(mistake.wrong).message.split())
