"""Samplers, right ones and those that people write, one built from choices."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Kept = Callable[[Array, float], Any]  # from falling p and top_p to how many tokens stay


def fewest(p: Array, top_p: float) -> int:
    """How many tokens stay: the fewest whose probabilities sum to top_p.

    Args:
        p: falling probabilities, sum 1
        top_p: above 0, at most 1
    Returns: at least 1, at most len(p)
    """
    if top_p >= 1:
        return len(p)
    return int((np.cumsum(p)[:-1] < top_p).sum()) + 1


def below(p: Array, top_p: float) -> int:
    """As `fewest`, but without the token that reaches top_p; at least one.

    Args:
        p, top_p: as for `fewest`
    Returns: as `fewest`
    """
    return max(int((np.cumsum(p) <= top_p).sum()), 1)


def falling(p: Array) -> Array:
    """Token ids, the most probable first; of equal ones the lower id first.

    Args:
        p: [n_vocabulary]
    Returns: [n_vocabulary]
    """
    return np.argsort(-p, kind="stable")


def softmax(x: Array) -> Array:
    """Weights of one row, shifted so that nothing overflows.

    Args:
        x: [n_vocabulary], not all −inf
    Returns: [n_vocabulary]
    """
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def sampler(
    *,
    scaled: Callable[[Array, float], Array] = lambda x, temperature: x / temperature,
    weights: Callable[[Array], Array] = softmax,
    order: Callable[[Array], Array] = falling,
    kept: Kept = fewest,
    renormalised: bool = True,
    drawn: Callable[[Array, float], Any] = lambda total, u: (total <= u).sum(),
    greedy: Callable[[Array], Any] = np.argmax,
    nucleus: Callable[[Array, float], Array] | None = None,
) -> Callable:
    """Make a sampler; the defaults make a right one.

    Args:
        scaled: applies the temperature
        weights: from scaled logits to probabilities
        order: sorts them
        kept: how many stay
        renormalised: whether those that stay are made to sum to 1
        drawn: from running sums and u to a place in the order
        greedy: what temperature 0 takes
        nucleus: from logits and temperature to the probabilities that top_p looks at; None = those
            that are drawn from
    Returns: sample(logits, temperature, top_p, u) -> int
    """

    def sample(logits: Array, temperature: float, top_p: float, u: float) -> int:
        logits = np.asarray(logits, dtype=np.float64)
        if temperature == 0:
            return int(greedy(logits))
        p = weights(scaled(logits, temperature))
        ids = order(p)
        looked_at = p if nucleus is None else nucleus(logits, temperature)
        ids = ids[: kept(looked_at[ids], top_p)]
        total = np.cumsum(p[ids])
        if renormalised:
            total = total / total[-1]
        return int(ids[min(int(drawn(total, u)), len(ids) - 1)])

    return sample
