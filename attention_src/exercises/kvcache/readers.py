"""Ways to go on with a text through a cache, right and wrong.

Each is a function without arguments that starts a text and returns attend(q, k, v): the new tokens'
queries, keys [n_new, d_k] and values [n_new, d_v], not yet rotated, go in; attention of the new
tokens to all so far comes out, [n_new, d_v].
"""

from collections.abc import Callable

import numpy as np

from attention_src.attention.reference import attention
from attention_src.rope.reference import rotate

Array = np.ndarray
Attend = Callable[[Array, Array, Array], Array]


class Text:
    """A text in which each step may be replaced by a wrong one.

    Args:
        steps: functions by the name of the step: `positions(n, n_new)` of the queries,
            `key_positions(n, n_new)`, `mask(n, n_new)` of [n_new, n + n_new], `keep(x)` of what is
            stored, `held(x)` of what is read back
    """

    def __init__(self, **steps: Callable) -> None:
        self.steps = steps
        self.n = 0
        self.k: list[Array] = []
        self.v: list[Array] = []

    def attend(self, q: Array, k: Array, v: Array) -> Array:
        """Append the new tokens, and attend.

        Args:
            q, k, v: [n_new, d] each
        Returns: [n_new, d_v]
        """
        n, n_new = self.n, len(q)
        at = self._step("positions", lambda n, n_new: n + np.arange(n_new))
        at_keys = self._step("key_positions", at)
        keep = self._step("keep", np.array)
        self.k.append(keep(rotate(k, at_keys(n, n_new))))
        self.v.append(keep(v))
        self.n += n_new
        held = self._step("held", lambda x: x)
        keys, values = (held(np.concatenate(x)) for x in (self.k, self.v))
        seen = self._step("mask", lambda n, n_new: np.tri(n_new, n + n_new, n, dtype=bool))
        return attention(rotate(q, at(n, n_new)), keys, values, mask=seen(n, n_new))

    def _step(self, name: str, right: Callable) -> Callable:
        return self.steps.get(name, right)


def start(**steps: Callable) -> Callable[[], Attend]:
    """A function that starts texts.

    Args:
        steps: as for `Text`
    Returns: a function without arguments, which returns attend(q, k, v)
    """
    return lambda: Text(**steps).attend


def preallocated() -> Attend:
    """Keys and values in storage that doubles when it is full.

    Returns: attend(q, k, v)
    """
    return _growing(copy_values=True)


def loses_values() -> Attend:
    """As `preallocated`, but when the storage grows the values stay behind.

    Returns: attend(q, k, v)
    """
    return _growing(copy_values=False)


def _growing(copy_values: bool) -> Attend:
    rooms: list[Array] = []
    length = [0]

    def attend(q: Array, k: Array, v: Array) -> Array:
        n, end = length[0], length[0] + len(q)
        if not rooms:
            rooms.extend(np.zeros((4, x.shape[1])) for x in (k, v))
        while len(rooms[0]) < end:
            for i, room in enumerate(rooms):
                kept = room if i == 0 or copy_values else room * 0
                rooms[i] = np.concatenate([kept, np.zeros_like(room)])
        at = np.arange(n, end)
        rooms[0][n:end], rooms[1][n:end] = rotate(k, at), v
        length[0] = end
        return attention(rotate(q, at), rooms[0][:end], rooms[1][:end], causal=True)

    return attend


def rotated_when_read() -> Attend:
    """Keys are stored as they come and rotated when they are read.

    Returns: attend(q, k, v)
    """
    k_all: list[Array] = []
    v_all: list[Array] = []

    def attend(q: Array, k: Array, v: Array) -> Array:
        n = len(k_all)
        k_all.extend(k.copy())
        v_all.extend(v.copy())
        keys = rotate(np.stack(k_all), np.arange(len(k_all)))
        at = n + np.arange(len(q))
        return attention(rotate(q, at), keys, np.stack(v_all), causal=True)

    return attend


def token_by_token() -> Attend:
    """Several new tokens are taken one after the other.

    Returns: attend(q, k, v)
    """
    text = Text()

    def attend(q: Array, k: Array, v: Array) -> Array:
        rows = [text.attend(q[i : i + 1], k[i : i + 1], v[i : i + 1]) for i in range(len(q))]
        return np.concatenate(rows)

    return attend


def everything_again() -> Attend:
    """No cache at all: everything is kept and computed again.

    Returns: attend(q, k, v)
    """
    kept: list[list[Array]] = [[], [], []]

    def attend(q: Array, k: Array, v: Array) -> Array:
        for store, x in zip(kept, (q, k, v), strict=True):
            store.extend(x.copy())
        q_all, k_all, v_all = (np.stack(x) for x in kept)
        at = np.arange(len(q_all))
        o = attention(rotate(q_all, at), rotate(k_all, at), v_all, causal=True)
        return np.asarray(o[-len(q) :])

    return attend


def counting_from_seven() -> Attend:
    """The first token stands at position 7: distances are what they were.

    Returns: attend(q, k, v)
    """
    return Text(positions=lambda n, n_new: 7 + n + np.arange(n_new)).attend
