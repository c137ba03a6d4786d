"""Backward passes of attention with one mistake each, and pairs on which a check is tried.

A pair is a function of a word: pair("forward", q, k, v, mask) -> o [n_q, d_v], and
pair("backward", q, k, v, do, mask) -> dq, dk, dv, the gradients of sum(do * o).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Pair = Callable[..., Any]


def _flip(x: Array) -> Array:
    return x.swapaxes(-1, -2)


def _weights(s: Array, mask: Any, how: str = "") -> Array:
    """Softmax over the last axis, masked; `how` names a mistake in it."""
    if mask is None or how == "mask ignored":
        mask, how = np.ones(s.shape[-1], dtype=bool), how.replace("polarity", "")
    if how == "zeroed after":
        return _weights(s, None) * mask
    if how == "minus 1e9":
        return _weights(s + np.where(mask, 0.0, -1e9), None)
    if how == "filled with -1e9":
        return _weights(np.where(mask, s, -1e9), None)
    s = np.where(~np.asarray(mask) if how == "polarity" else mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    safe = m if how == "nan" else np.where(m == -np.inf, 0, m)
    with np.errstate(over="ignore", invalid="ignore"):  # what some mistakes are about
        e = np.exp(s - (0 if how == "no maximum" else safe))
    l = e.sum(axis=-1, keepdims=True)
    return np.asarray(e / (l if how == "nan" else np.where(l == 0, 1, l)))


def _delta(p: Array, dp: Array, how: str) -> Any:
    """What is subtracted from dp; `how` names a mistake in it."""
    if how == "no delta":
        return 0.0
    if how == "plain mean":
        return dp.mean(axis=-1, keepdims=True)
    axis = {"one delta": (-1, -2), "delta of columns": -2}.get(how, -1)
    return (p * dp).sum(axis=axis, keepdims=True)


def forward(q: Array, k: Array, v: Array, mask: Any = None, scale: float | None = None) -> Array:
    """Attention, with 0 for a query that may see nothing.

    Args:
        q: [..., n_q, d_k]
        k: [..., n_k, d_k]
        v: [..., n_k, d_v]
        mask: boolean, broadcasts to [..., n_q, n_k]; None = all visible
        scale: None = d_k ** -0.5
    Returns: o [..., n_q, d_v]
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return np.asarray(_weights(scale * (q @ _flip(k)), mask) @ v)


def broken(
    how: str, q: Array, k: Array, v: Array, do: Array, mask: Any = None, scale: Any = None
) -> tuple[Array, Array, Array]:
    """The gradients of `forward`, with one mistake.

    Args:
        how: the mistake's name; "" = none
        q, k, v, mask, scale: as for `forward`
        do: [..., n_q, d_v]
    Returns: dq, dk, dv
    """
    right = q.shape[-1] ** -0.5 if scale is None else scale
    inner = 1.0 if how in ("no scale", "scores not scaled") else right
    outer = {"no scale": 1.0, "scale twice": right**2, "d_v": v.shape[-1] ** -0.5}.get(how, right)
    p = _weights(inner * (q @ _flip(k)), mask, how)
    do = np.ones_like(do) if how == "ones for do" else do
    dp = do @ _flip(v)
    ds = dp - _delta(p, dp, how)
    ds = (ds if how == "no p" else p * ds) * (-1 if how == "sign" else 1)
    dq, dk, dv = outer * (ds @ k), outer * (_flip(ds) @ q), _flip(p) @ do
    turned = (*p.shape[:-2], p.shape[-1], p.shape[-2])
    if how == "dk reshaped":
        dk = outer * (ds.reshape(turned) @ q)
    if how == "dv reshaped":
        dv = p.reshape(turned) @ do
    if how == "dk not scaled":
        dk = dk / right
    if how == "dk scaled twice":
        dk = dk * right
    if how == "dq not scaled":
        dq = dq / right
    if how == "dq too long":
        dq = 1.03 * dq
    if how == "dq and dk swapped" and q.shape == k.shape:
        dq, dk = dk, dq
    if how == "not transposed" and ds.shape[-1] == ds.shape[-2]:
        dk = outer * (ds @ q)
    if how == "last key" and k.shape[-2] > 1:
        dk = np.concatenate([dk[..., :-1, :], 0 * dk[..., -1:, :]], axis=-2)
    return dq, dk, dv


def pair_of(how: str = "", scale: float | None = None) -> Pair:
    """The right forward with a backward that makes one mistake.

    Args:
        how: the mistake's name, as for `broken`; "" = none
        scale: of both; None = d_k ** -0.5
    Returns: the pair
    """

    def pair(word: str, q: Array, k: Array, v: Array, *rest: Any) -> Any:
        if word == "forward":
            return forward(q, k, v, rest[0], scale)
        return broken(how, q, k, v, rest[0], rest[1], scale)

    return pair


def rounded(word: str, q: Array, k: Array, v: Array, *rest: Any) -> Any:
    """As `pair_of()`, but the output is rounded to float32.

    Args:
        word: "forward" or "backward"
        q, k, v: as for `forward`
        rest: mask, or do and mask
    Returns: o, or dq, dk and dv
    """
    if word == "forward":
        return forward(q, k, v, *rest).astype(np.float32)
    return broken("", q, k, v, *rest)


def by_query(word: str, q: Array, k: Array, v: Array, *rest: Any) -> Any:
    """As `pair_of()`, but one query after another, with delta from the output, and sums over them.

    Args:
        word, q, k, v, rest: as for `rounded`
    Returns: o, or dq, dk and dv
    """
    mask, scale = np.asarray(rest[-1]), q.shape[1] ** -0.5
    o, dq, dk, dv = np.zeros((len(q), v.shape[1])), np.zeros(q.shape), 0 * k, 0 * v
    for i, seen in enumerate(mask):
        if not seen.any():
            continue
        p = _weights(scale * (k @ q[i]), seen)
        o[i] = p @ v
        if word == "backward":
            do = rest[0][i]
            ds = p * (v @ do - do @ o[i])
            dq[i] = scale * ds @ k
            dk += scale * np.outer(ds, q[i])
            dv += np.outer(p, do)
    return o if word == "forward" else (dq, dk, dv)


def by_jacobian(word: str, q: Array, k: Array, v: Array, *rest: Any) -> Any:
    """As `pair_of()`, but with softmax's whole Jacobian, a table for each query.

    Args:
        word, q, k, v, rest: as for `rounded`
    Returns: o, or dq, dk and dv
    """
    c = q.shape[1] ** -0.5
    p = _weights(c * np.inner(q, k), rest[-1])
    if word == "forward":
        return np.dot(p, v)
    jacobian = p[:, :, None] * np.eye(len(k)) - p[:, :, None] * p[:, None, :]
    ds = (jacobian @ np.inner(rest[0], v)[:, :, None])[:, :, 0]
    return c * np.dot(ds, k), c * np.dot(ds.T, q), np.dot(p.T, rest[0])


def by_sigmoid(word: str, q: Array, k: Array, v: Array, *rest: Any) -> Any:
    """Another attention: each key judged by itself, with the sigmoid of its score.

    Args:
        word, q, k, v, rest: as for `rounded`
    Returns: o, or dq, dk and dv
    """
    c = q.shape[1] ** -0.5
    p = np.where(rest[-1], 1 / (1 + np.exp(-c * q @ k.T)), 0)
    if word == "forward":
        return p @ v
    ds = p * (1 - p) * (rest[0] @ v.T)
    return c * ds @ k, c * ds.T @ q, p.T @ rest[0]
