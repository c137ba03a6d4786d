"""Scores that describe a map of attention weights. NumPy.

Texts are tokenised as for MiniLM: token 0 is [CLS], token n - 1 is [SEP], words are in between.
"""

import reprlib
import sys
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.shapes import as_array, check_size


@own_errstate()
def offset_score(p: Any, offset: int) -> Float[np.ndarray, "..."]:
    """How much words attend to the word at a fixed distance: -1 the previous one, +1 the next.

        score = mean of p[i, i + offset] over all i such that i and i + offset are words

    Args:
        p: [..., n, n]  weights
        offset: distance from query to key, in tokens; 0 is the word itself
    Returns: [...]  one number per map, from 0 to 1
    Raises:
        ValueError: p is not square, offset is no whole number, or no two words are that far apart
    """
    p = _square_maps(p)
    n = p.shape[-1]
    offset = check_size(offset, "offset", at_least=-sys.maxsize)
    i = np.array([i for i in range(1, n - 1) if 1 <= i + offset < n - 1], dtype=int)
    if i.size == 0:
        raise ValueError(f"offset={offset}: no two of the {n - 2} words are that far apart")
    return np.asarray(p[..., i, i + offset].mean(axis=-1))


@own_errstate()
def column_score(p: Any, column: int) -> Float[np.ndarray, "..."]:
    """How much words attend to one token: 0 for [CLS], -1 for [SEP].

        score = mean of p[i, column] over the words i

    Args:
        p: [..., n, n]  weights
        column: index of the key
    Returns: [...]  one number per map, from 0 to 1
    Raises:
        ValueError: p is not square, or has no such column
    """
    p = _square_maps(p)
    column = check_size(column, "column", at_least=-p.shape[-1])
    if column >= p.shape[-1]:
        raise ValueError(f"column={column}: p has {p.shape[-1]} keys")
    return np.asarray(p[..., 1:-1, column].mean(axis=-1))


@own_errstate()
def contributions(weights: Any, value_norms: Any) -> Float[np.ndarray, "..."]:
    """What each key adds to the output: its weight times the length of its projected value.

        c_ij = p_ij ||v_j W_O|| / sum_j' p_ij' ||v_j' W_O||

    Args:
        weights: [..., n, n]  p
        value_norms: [..., n]  ||v_j W_O|| of each key
    Returns: [..., n, n]  shares; each row sums to 1, or to 0 where nothing is added
    Raises:
        ValueError: value_norms does not fit weights
    Source: Kobayashi et al. 2020, arXiv:2004.10102 (their alpha f(x) is our p v W_O).
    """
    p, norms = _real(weights, "weights"), _real(value_norms, "value_norms")
    if p.ndim < 2 or norms.shape != (*p.shape[:-2], p.shape[-1]):
        raise ValueError(
            f"value_norms has shape {norms.shape}: weights of shape {p.shape} need one per key"
        )
    added = p * norms[..., None, :]
    total = added.sum(axis=-1, keepdims=True)
    return np.divide(added, total, out=np.zeros_like(added), where=total > 0)


def _square_maps(p: Any) -> Float[np.ndarray, "*maps n n"]:
    """p in float64, checked to be maps of at least one word."""
    array = _real(p, "p")
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] < 3:
        raise ValueError(
            f"p has shape {array.shape}: it must be [..., n, n] with n >= 3, "
            "[CLS] first and [SEP] last"
        )
    return array


def _real(x: Any, name: str) -> np.ndarray:
    """x in float64; an array, a tensor or nested lists."""
    array = as_array(x, name)
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {reprlib.repr(x)}; it should hold real numbers") from None
