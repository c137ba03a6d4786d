"""The worked solution, and wrong answers.

WRONG: code, and what the message must speak of ("" = any message).
"""

import numpy as np


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


def tidied(keys, values, n_seen, k_new, v_new, sinks):
    """NaN in free slots becomes 0."""
    held = rolling_append(keys, values, n_seen, k_new, v_new, sinks)
    np.nan_to_num(keys, copy=False)
    return held


def by_arithmetic(keys, values, n_seen, k_new, v_new, sinks):
    """0 times NaN is NaN: what lay in a free slot stays."""
    held = rolling_append(keys.copy(), values.copy(), n_seen, k_new, v_new, sinks)
    here = (np.arange(keys.shape[-2]) == right_slot(n_seen, keys.shape[-2], sinks))[:, None]
    keys += here * (k_new[..., None, :] - keys)
    values += here * (v_new[..., None, :] - values)
    return held


WRONG = {
    "free slots tidied": (tidied, ""),
    "written by arithmetic": (by_arithmetic, ""),
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
