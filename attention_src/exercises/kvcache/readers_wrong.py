"""Wrong ways to go on with a text through a cache, those that need more than one other step."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.kvcache.readers import Array, Attend, Text, start
from attention_src.rope.reference import rotate


def newest_unseen() -> Attend:
    """Attends first and appends afterwards: a token never sees itself.

    Returns: attend(q, k, v)
    """

    def before(n: int, n_new: int) -> Array:
        return np.tri(n_new, n + n_new, n - 1, dtype=bool)

    return Text(mask=before).attend


class Shared:
    """Texts that share what each should have for itself.

    Args:
        store: True = all texts have one store; False = they count their positions together
    """

    def __init__(self, store: bool) -> None:
        self.store = store
        self.reset()

    def reset(self) -> None:
        """Forget all texts."""
        self.common, self.count = Text(), 0

    def __call__(self) -> Attend:
        """Start a text.

        Returns: attend(q, k, v)
        """
        if self.store:
            return self.common.attend
        text = Text(positions=lambda n, n_new: self.count - n_new + np.arange(n_new))

        def attend(q: Array, k: Array, v: Array) -> Array:
            self.count += len(q)
            return text.attend(q, k, v)

        return attend


def twice_rotated() -> Attend:
    """What was read is rotated, stored, and rotated again with the next call.

    Returns: attend(q, k, v)
    """
    text = Text()

    def attend(q: Array, k: Array, v: Array) -> Array:
        if text.n:
            text.k = [rotate(np.concatenate(text.k), np.arange(text.n))]
        return text.attend(q, k, v)

    return attend


def one_of_a_block() -> Attend:
    """Of several new tokens only the last is kept for later calls.

    Returns: attend(q, k, v)
    """
    text = Text()

    def seen(n: int, n_new: int) -> Array:
        kept = sum(map(len, text.k[:-1]))
        return np.tri(n_new, kept + n_new, kept, dtype=bool)

    def attend(q: Array, k: Array, v: Array) -> Array:
        n = text.n
        text.steps["mask"] = seen
        o = text.attend(q, k, v)
        if n:
            text.k[-1], text.v[-1] = text.k[-1][-1:], text.v[-1][-1:]
        return o

    return attend


def late_values() -> Attend:
    """A value arrives one call late; until then the newest tokens have the value 0.

    Returns: attend(q, k, v)
    """
    text = Text()
    waiting: list[Any] = [None]

    def attend(q: Array, k: Array, v: Array) -> Array:
        if waiting[0] is not None:
            text.v[-1] = waiting[0]
        waiting[0] = np.array(v)
        return text.attend(q, k, np.zeros_like(v))

    return attend


def ring(size: int) -> Callable[[], Attend]:
    """Storage of a fixed size: a token too many takes the place of the oldest.

    Args:
        size: tokens that fit
    Returns: a function that starts texts
    """
    near = lambda n, n_new: _near(n, n_new, size)  # noqa: E731
    return start(mask=near)


def _near(n: int, n_new: int, size: int) -> Array:
    t, j = n + np.arange(n_new)[:, None], np.arange(n + n_new)
    return np.asarray((j <= t) & (j > t - size))
