"""The check of a cache's append and read, which writes into storage that it is given."""

from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import wraps
from io import StringIO
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result, passed
from attention_src.exercises.engine.messages import report, too_slow
from attention_src.exercises.engine.running import attempt

Array = np.ndarray
FULL = ((0, 1), (1, 2), (2, 3), (0, 2))  # free places, new tokens


@dataclass(frozen=True)
class _Said:
    """What is wrong with an answer that is no pair of views, in words."""

    text: str


class _Appending(Check):
    """A check of a function that changes its first two inputs, and is meant to."""

    def _arrays(self, value: Any) -> list[Array]:
        if isinstance(value, _Said):
            raise ValueError(value.text)
        return super()._arrays(value)


def _append_and_read(keys: Array, values: Array, length: int, k_new: Array, v_new: Array) -> tuple:
    end = length + k_new.shape[-2]
    if end > keys.shape[-2]:
        raise ValueError(f"there is room for {keys.shape[-2]} tokens, not for {end}")
    keys[..., length:end, :] = k_new
    values[..., length:end, :] = v_new
    return keys[..., :end, :], values[..., :end, :]


def _watched(f: Callable) -> Callable:
    """f on storage of its own: what it returns, and what the storage holds afterwards."""

    @wraps(f)
    def called(keys: Array, values: Array, length: int, k_new: Array, v_new: Array) -> Any:
        rooms = keys.copy(order="K"), values.copy(order="K")
        answer = f(*rooms, length, k_new, v_new)
        if answer is None and np.array_equal(rooms[0], keys, equal_nan=True):
            return None
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            return _Said("Your function should return two views: of the keys, and of the values.")
        for name, view in zip(("keys", "values"), answer, strict=True):
            if not isinstance(view, Array):
                return _Said(f"The {name} that you return should be a NumPy array.")
            if not any(np.shares_memory(view, room) for room in rooms):
                return _Said(
                    f"What you return of the {name} is a copy. A slice of the storage is a view: "
                    f"{name}[..., :n, :]."
                )
        return (*answer, *rooms)

    return called


def _case(
    name: str, sizes: tuple[int, int, int], lead: tuple[int, ...] = (), widths: tuple = (2, 2)
) -> Case:
    """A named case. sizes: capacity, length, n_new."""
    return Case(name, _inputs(np.random.default_rng(3), lead, *sizes, *widths))


def _stored_by_columns(name: str) -> Case:
    """A reshape that joins the axes in front copies this storage."""
    inputs = _inputs(np.random.default_rng(3), (2, 3), 6, 1, 2, 2, 3)
    return Case(name, tuple(np.asfortranarray(x) if np.ndim(x) else x for x in inputs))


def _inputs(
    rng: np.random.Generator, lead: tuple, capacity: int, length: int, n_new: int, *widths: int
) -> tuple:
    """Storage whose free part holds leftovers, and the new tokens."""
    keys, values = (rng.normal(size=(*lead, capacity, d)).round(2) for d in widths)
    k_new, v_new = (rng.normal(size=(*lead, n_new, d)).round(2) for d in widths)
    return keys, values, length, k_new, v_new


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    length, n_new, spare, d_k, d_v = (int(x) for x in rng.integers([0, 1, 0, 1, 1], 6))
    made = _inputs(rng, lead, length + n_new + spare, length, n_new, d_k, d_v)
    keys, values, _, k_new, v_new = made
    if rng.random() < 0.3:  # tokens first in memory, as after a transpose
        keys, values = (np.moveaxis(np.moveaxis(x, -2, 0).copy(), 0, -2) for x in (keys, values))
    if rng.random() < 0.3:
        keys[..., length:, :], values[..., length:, :] = np.nan, np.nan
    if rng.random() < 0.3:
        keys, values, k_new, v_new = (x.astype(np.float32) for x in (keys, values, k_new, v_new))
    return keys, values, length, k_new, v_new


def _at(start: Callable[[int, int, int], int]) -> Callable:
    """Writes at start(capacity, length, n_new)."""

    def append_and_read(
        keys: Array, values: Array, length: int, k_new: Array, v_new: Array
    ) -> tuple:
        n_new, end = k_new.shape[-2], length + k_new.shape[-2]
        at = start(keys.shape[-2], length, n_new)
        keys[..., at : at + n_new, :], values[..., at : at + n_new, :] = k_new, v_new
        return keys[..., :end, :], values[..., :end, :]

    return append_and_read


def _reads(shown: Callable[[int, int], slice]) -> Callable:
    """Writes as it should, returns the tokens shown(length, end)."""

    def append_and_read(
        keys: Array, values: Array, length: int, k_new: Array, v_new: Array
    ) -> tuple:
        _append_and_read(keys, values, length, k_new, v_new)
        part = shown(length, length + k_new.shape[-2])
        return keys[..., part, :], values[..., part, :]

    return append_and_read


def _keys_only(keys: Array, values: Array, length: int, k_new: Array, v_new: Array) -> tuple:
    end = length + k_new.shape[-2]
    keys[..., length:end, :] = k_new
    return keys[..., :end, :], values[..., :end, :]


def _one(keys: Array, values: Array, length: int, k_new: Array, v_new: Array) -> tuple:
    keys[..., length, :], values[..., length, :] = k_new[..., 0, :], v_new[..., 0, :]
    return keys[..., : length + 1, :], values[..., : length + 1, :]


def _swapped(keys: Array, values: Array, length: int, k_new: Array, v_new: Array) -> tuple:
    return _append_and_read(keys, values, length, k_new, v_new)[::-1]


APPEND_AND_READ = _Appending(
    "append_and_read",
    reference=_watched(_append_and_read),
    cases=[
        _case("room for four, one there, one new", (4, 1, 1)),
        _case("an empty cache", (3, 0, 1)),
        _case("two new tokens", (6, 2, 2)),
        _case("the last place", (3, 2, 1)),
        _case("three new tokens fill it", (5, 2, 3)),
        _case("d_v above d_k", (5, 2, 2), (), (2, 3)),
        _case("heads", (5, 2, 1), (3,)),
        _case("texts and heads, several new tokens", (6, 1, 4), (2, 3)),
        _stored_by_columns("texts and heads, the last axis farthest apart in memory"),
    ],
    draw=_draw,
    drawn=40,
    returns=("k", "v", "keys afterwards", "values afterwards"),
    mistakes=[
        Mistake(
            "one too early",
            _watched(_at(lambda capacity, length, n_new: max(length - 1, 0))),
            "You write over the newest token: with length tokens there, place `length` is free.",
        ),
        Mistake(
            "at the start",
            _watched(_at(lambda capacity, length, n_new: 0)),
            "You write over the first tokens.",
        ),
        Mistake(
            "at the end",
            _watched(_at(lambda capacity, length, n_new: capacity - n_new)),
            "You write into the last places of the storage. The new tokens follow the others.",
        ),
        Mistake(
            "old ones only",
            _watched(_reads(lambda length, end: slice(length))),
            "You return what was there before: a token must see its own key too.",
        ),
        Mistake(
            "new ones only",
            _watched(_reads(lambda length, end: slice(length, end))),
            "You return the new tokens alone.",
        ),
        Mistake(
            "all of the storage",
            _watched(_reads(lambda length, end: slice(None))),
            "You return the free places too. They hold anything.",
        ),
        Mistake("keys only", _watched(_keys_only), "The new values are not written."),
        Mistake("one token", _watched(_one), "You append one token. There may be several."),
        Mistake("swapped", _watched(_swapped), "You return values and keys. First the keys."),
    ],
    hints=[
        "Which places of the storage are free? The tokens 0 to length - 1 are there.",
        "keys[..., length : length + n_new, :] = k_new writes in place.",
        "Compare length + n_new with the capacity, keys.shape[-2], before you write.",
    ],
)


def _when_full(f: Callable, free: int, n_new: int) -> Result | None:
    """What to say when n_new tokens meet too little room; None if it raises as it should."""
    rng = np.random.default_rng(5)
    keys, values, length, k_new, v_new = _inputs(rng, (2,), 4, 4 - free, n_new, 3, 2)
    rooms = keys.copy(), values.copy()
    outcome = attempt(lambda: f(*rooms, length, k_new, v_new), (), lambda answer: [])
    what, name = f"ith {free} free and {n_new} new", APPEND_AND_READ.name
    if outcome.timed_out:
        return too_slow(name, f", w{what}", outcome.where)
    said = f"W{what}, your function "
    if outcome.error is None:
        said += "goes on. It should raise ValueError."
    elif not issubclass(outcome.error, ValueError):
        said += f"raises {outcome.error.__name__}; it should be ValueError."
    elif all(map(np.array_equal, rooms, (keys, values))):
        return None
    else:
        said += "raises ValueError, but has written before. Compare first."
    return report("wrong", [f"{name}: wrong. {said}"])


def check_append_and_read(f: Any) -> Result:
    """Check f(keys, values, length, k_new, v_new) -> views of the filled keys and values.

    Args:
        f: the learner's function; it writes into the storage that it is given
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    if not callable(f):
        return APPEND_AND_READ.run(f)
    said = StringIO()
    with redirect_stdout(said):  # "passed" is said when the full cache has been tried too
        result = APPEND_AND_READ.run(_watched(f))
    for sizes in FULL if result else ():
        if (wrong := _when_full(f, *sizes)) is not None:
            return wrong
    print(said.getvalue(), end="")
    if result:
        passed[f] = APPEND_AND_READ.name
    return result
