"""Right attentions in NumPy, in the styles of several hands; numpy_attention.txt spoils them."""

import math

import numpy as np


def by_the_formula(q, k, v, mask=None):
    d_k = q.shape[-1]
    scores = q @ np.swapaxes(k, -1, -2)
    scores = scores / np.sqrt(d_k)
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v


def added_mask(Q, K, V, bias=None):
    S = np.einsum("bhqd,bhkd->bhqk", Q, K)
    S *= Q.shape[-1] ** -0.5
    if bias is not None:
        S = S + bias
    E = np.exp(S - S.max(-1, keepdims=True))
    P = E / E.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", P, V)


def row_by_row(queries, keys, values):
    """Causal, with loops, as one writes it first."""
    n, d = queries.shape
    out = np.zeros((n, values.shape[1]))
    for i in range(n):
        scores = []
        for j in range(i + 1):
            scores.append(float(queries[i] @ keys[j]) / math.sqrt(d))
        top = max(scores)
        exps = [math.exp(s - top) for s in scores]
        total = sum(exps)
        for j in range(i + 1):
            out[i] += exps[j] / total * values[j]
    return out


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def causal_numpy(q, k, v):
    n = q.shape[-2]
    hidden = np.triu(np.ones((n, n), dtype=bool), k=1)
    att = np.matmul(q, k.swapaxes(-2, -1)) / math.sqrt(k.shape[-1])
    att = np.where(hidden, -np.inf, att)
    return np.matmul(softmax(att), v)


def with_lengths(q, k, v, valid_lens=None):
    """Of [B, n, d]; keys from a text's length on are padding."""
    s = np.matmul(q, k.transpose(0, 2, 1)) / np.sqrt(q.shape[2])
    if valid_lens is not None:
        place = np.arange(k.shape[1])[None, None, :]
        s = np.where(place < np.asarray(valid_lens)[:, None, None], s, -1e6)
    return np.matmul(softmax(s), v)
