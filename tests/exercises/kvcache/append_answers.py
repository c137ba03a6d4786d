"""The worked solution, and wrong answers.

WRONG: code, and what the message must speak of ("" = any message).
"""

import numpy as np


# The worked solution, in the words of the chapter.
def append_and_read(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    if end > keys.shape[-2]:
        raise ValueError(f"room for {keys.shape[-2]} tokens, not {end}")
    keys[..., length:end, :] = k_new
    values[..., length:end, :] = v_new
    return keys[..., :end, :], values[..., :end, :]


def checked(f):
    def answer(keys, values, length, k_new, v_new):
        if length + k_new.shape[-2] > keys.shape[-2]:
            raise ValueError("full")
        return f(keys, values, length, k_new, v_new)

    return answer


def written(start, end=None):
    def answer(keys, values, length, k_new, v_new):
        n = k_new.shape[-2]
        at, stop = start(keys.shape[-2], length, n), length + n
        for room, new in ((keys, k_new), (values, v_new)):
            room[..., at : at + n, :] = new
        stop = stop if end is None else end(length, n)
        return keys[..., :stop, :], values[..., :stop, :]

    return checked(answer)


def concatenated(keys, values, length, k_new, v_new):
    pairs = ((keys, k_new), (values, v_new))
    return tuple(np.concatenate([x[..., :length, :], new], axis=-2) for x, new in pairs)


def written_and_copied(*x):
    k, v = append_and_read(*x)
    return k.copy(), v.copy()


def values_copied(*x):
    k, v = append_and_read(*x)
    return k, v.copy()


def returns_nothing(*x):
    append_and_read(*x)


def not_written(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    return keys[..., :end, :], values[..., :end, :]


def keys_only(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    keys[..., length:end, :] = k_new
    return keys[..., :end, :], values[..., :end, :]


def keys_into_values(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    keys[..., length:end, :] = k_new
    values[..., length:end, :] = np.resize(k_new, v_new.shape)
    return keys[..., :end, :], values[..., :end, :]


def first_axis(keys, values, length, k_new, v_new):
    end = length + len(k_new)
    keys[length:end], values[length:end] = k_new, v_new
    return keys[:end], values[:end]


def three_axes(keys, values, length, k_new, v_new):
    end = length + k_new.shape[1]
    keys[:, length:end], values[:, length:end] = k_new, v_new
    return keys[:, :end], values[:, :end]


def backwards(keys, values, length, k_new, v_new):
    return append_and_read(keys, values, length, k_new[..., ::-1, :], v_new[..., ::-1, :])


def last_one(keys, values, length, k_new, v_new):
    return append_and_read(keys, values, length, k_new[..., -1:, :], v_new[..., -1:, :])


def clears_the_rest(keys, values, length, k_new, v_new):
    k, v = append_and_read(keys, values, length, k_new, v_new)
    keys[..., k.shape[-2] :, :] = 0
    return k, v


@checked
def by_reshape(keys, values, length, k_new, v_new):
    """A reshape copies where the layout is not the plain one."""
    end = length + k_new.shape[-2]
    for room, new in ((keys, k_new), (values, v_new)):
        flat = room.reshape(-1, *room.shape[-2:])
        flat[:, length:end] = new.reshape(-1, *new.shape[-2:])
    return keys[..., :end, :], values[..., :end, :]


def float32(keys, values, length, k_new, v_new):
    return append_and_read(keys, values, length, k_new.astype(np.float16), v_new)


def changes_its_input(keys, values, length, k_new, v_new):
    answer = append_and_read(keys, values, length, k_new, v_new)
    k_new *= 0
    return answer


def in_a_ring(keys, values, length, k_new, v_new):
    n, capacity = k_new.shape[-2], keys.shape[-2]
    at = np.arange(length, length + n) % capacity
    keys[..., at, :], values[..., at, :] = k_new, v_new
    return keys[..., : length + n, :], values[..., : length + n, :]


def unchecked(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    keys[..., length:end, :] = k_new
    values[..., length:end, :] = v_new
    return keys[..., :end, :], values[..., :end, :]


def cut_off(keys, values, length, k_new, v_new):
    n = min(k_new.shape[-2], keys.shape[-2] - length)
    return append_and_read(keys, values, length, k_new[..., :n, :], v_new[..., :n, :])


def refuses_an_exact_fit(keys, values, length, k_new, v_new):
    if length + k_new.shape[-2] >= keys.shape[-2]:
        raise ValueError("full")
    return append_and_read(keys, values, length, k_new, v_new)


def another_error(keys, values, length, k_new, v_new):
    if length + k_new.shape[-2] > keys.shape[-2]:
        raise IndexError("full")
    return append_and_read(keys, values, length, k_new, v_new)


def writes_before_it_raises(keys, values, length, k_new, v_new):
    for i in range(k_new.shape[-2]):
        if length + i >= keys.shape[-2]:
            raise ValueError("full")
        keys[..., length + i, :], values[..., length + i, :] = k_new[..., i, :], v_new[..., i, :]
    end = length + k_new.shape[-2]
    return keys[..., :end, :], values[..., :end, :]


KEPT = {}


def remembers(keys, values, length, k_new, v_new):
    """A storage of its own for each shape, shared by all texts."""
    rooms = KEPT.setdefault(keys.shape + values.shape, (keys, values))
    return append_and_read(*rooms, length, k_new, v_new)


WRONG = {
    "one too early": (written(lambda c, length, n: max(length - 1, 0)), "newest token"),
    "at the start": (written(lambda c, length, n: 0), "first tokens"),
    "at the end": (written(lambda c, length, n: c - n), "last places"),
    "old ones only": (
        written(lambda c, length, n: length, lambda length, n: length),
        "its own key",
    ),
    "one short": (written(lambda c, length, n: length, lambda length, n: length + n - 1), ""),
    "one more": (written(lambda c, length, n: length, lambda length, n: length + n + 1), ""),
    "all of it": (written(lambda c, length, n: length, lambda length, n: None), "free places"),
    "new ones only": (lambda *x: [y[..., x[2] :, :] for y in append_and_read(*x)], "alone"),
    "swapped": (lambda *x: append_and_read(*x)[::-1], "First the keys"),
    "one token": (last_one, ""),
    "concatenated": (concatenated, "is a copy"),
    "written and copied": (written_and_copied, "is a copy"),
    "values copied": (values_copied, "values is a copy"),
    "returns nothing": (returns_nothing, "two views"),
    "one array": (lambda *x: append_and_read(*x)[0], "two views"),
    "not written": (not_written, ""),
    "keys only": (keys_only, "values are not written"),
    "keys into values": (keys_into_values, ""),
    "first axis": (first_axis, ""),
    "second axis": (three_axes, ""),
    "backwards": (backwards, ""),
    "clears the rest": (clears_the_rest, "keys afterwards"),
    "reshape": (by_reshape, ""),
    "float16 on the way": (float32, ""),
    "changes its input": (changes_its_input, "in place"),
    "in a ring": (in_a_ring, "should raise ValueError"),
    "unchecked": (unchecked, "0 free and 1 new"),
    "cut off": (cut_off, "should raise ValueError"),
    "refuses an exact fit": (refuses_an_exact_fit, "full"),
    "another error": (another_error, "IndexError"),
    "writes before it raises": (writes_before_it_raises, "has written before"),
    "one store for all": (remembers, ""),
    "lists": (lambda *x: tuple(y.tolist() for y in append_and_read(*x)), "NumPy array"),
}
