"""Multi-query associative recall: k v k v ..., then keys that were written; say their values.

Tokens are whole numbers: keys 0 ... N_KEYS - 1, then the values.
"""

import numpy as np
from jaxtyping import Int

from attention_src.shapes import check_size

N_KEYS, N_VALUES = 64, 32
ASKED = 16  # questions in a text; as many as there are keys, if those are fewer


def draw(
    rng: np.random.Generator, texts: int, pairs: int, *, twice: bool = False
) -> tuple[Int[np.ndarray, "texts n"], Int[np.ndarray, "texts asked"]]:
    """Draw texts of the task: pairs of a key and a value, then keys alone.

    Args:
        rng: where chance comes from
        texts: how many
        pairs: pairs written in each, at most N_KEYS; even if twice
        twice: whether each key is written twice, anywhere in the text, with two different values;
            the later one counts. There are then half as many keys
    Returns: tokens [texts, 2 * pairs + asked], answers [texts, asked], numbers of values below
        N_VALUES; asked is ASKED, or the number of keys if that is less; no key is asked twice
    Raises:
        ValueError: pairs is not a whole number of at least 1, is above N_KEYS, or odd with twice
    """
    pairs = check_size(pairs, "pairs", at_least=1)
    if pairs > N_KEYS or (twice and pairs % 2):
        parity = ", and even, because each key is written twice" if twice else ""
        raise ValueError(f"pairs is {pairs}; it should be at most {N_KEYS}{parity}")
    n_keys = pairs // 2 if twice else pairs
    which = rng.permuted(np.tile(np.arange(N_KEYS), (texts, 1)), axis=1)[:, :n_keys]
    if twice:  # the values of one key differ
        first = rng.integers(0, N_VALUES, (texts, n_keys))
        second = (first + rng.integers(1, N_VALUES, (texts, n_keys))) % N_VALUES
        both = np.tile(np.arange(n_keys), (texts, 2))
        order = np.argsort(rng.random(both.shape), axis=1)
        slot = np.take_along_axis(both, order, axis=1)  # [texts, pairs]  which of the keys
        again = _seen_before(slot)
        values = np.where(again, *(np.take_along_axis(x, slot, axis=1) for x in (second, first)))
        last = second
    else:
        slot = np.tile(np.arange(n_keys), (texts, 1))
        values = last = rng.integers(0, N_VALUES, (texts, n_keys))
    asked = rng.permuted(np.tile(np.arange(n_keys), (texts, 1)), axis=1)[:, :ASKED]
    written = np.stack([np.take_along_axis(which, slot, axis=1), N_KEYS + values], axis=-1)
    questions = np.take_along_axis(which, asked, axis=1)
    tokens = np.concatenate([written.reshape(texts, 2 * pairs), questions], axis=1)
    return tokens, np.take_along_axis(last, asked, axis=1)


def _seen_before(slot: Int[np.ndarray, "texts pairs"]) -> np.ndarray:
    """Whether an entry also comes earlier in its row, where each comes twice."""
    order = np.argsort(slot, axis=1, kind="stable")  # the two places of 0, then those of 1, ...
    again = np.zeros(slot.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1::2], True, axis=1)
    return again
