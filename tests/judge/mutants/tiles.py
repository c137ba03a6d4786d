"""Right tiled attentions, in the styles of several hands; tiles.txt spoils them."""

import math

import numpy as np
import torch


def flash_numpy(q, k, v, block_q=4, block_k=4):
    n, d = q.shape
    out = np.zeros((n, v.shape[1]))
    scale = 1 / np.sqrt(d)
    for i in range(0, n, block_q):
        qi = q[i : i + block_q] * scale
        m = np.full(len(qi), -np.inf)
        l = np.zeros(len(qi))
        acc = np.zeros((len(qi), v.shape[1]))
        for j in range(0, len(k), block_k):
            s = qi @ k[j : j + block_k].T
            m_new = np.maximum(m, s.max(axis=1))
            p = np.exp(s - m_new[:, None])
            alpha = np.exp(m - m_new)
            l = alpha * l + p.sum(axis=1)
            acc = alpha[:, None] * acc + p @ v[j : j + block_k]
            m = m_new
        out[i : i + block_q] = acc / l[:, None]
    return out


def flash_torch(Q, K, V, is_causal=False):
    """[B, n, d]; tiles of 16."""
    B, N, d = Q.shape
    M, t = K.shape[1], 16
    O = torch.empty(B, N, V.shape[-1], dtype=Q.dtype)
    for i in range(0, N, t):
        Qi = Q[:, i : i + t]
        o = torch.zeros(B, Qi.shape[1], V.shape[-1], dtype=Q.dtype)
        l = torch.zeros(B, Qi.shape[1], 1, dtype=Q.dtype)
        m = torch.full((B, Qi.shape[1], 1), -math.inf, dtype=Q.dtype)
        for j in range(0, M, t):
            S = Qi @ K[:, j : j + t].mT / d**0.5
            if is_causal:
                rows = torch.arange(i, i + S.shape[1])[:, None]
                cols = torch.arange(j, j + S.shape[2])
                S = S.masked_fill(cols > rows, -1e6)
            m2 = torch.maximum(m, S.amax(-1, keepdim=True))
            P = torch.exp(S - m2)
            l = torch.exp(m - m2) * l + P.sum(-1, keepdim=True)
            o = torch.exp(m - m2) * o + P @ V[:, j : j + t]
            m = m2
        O[:, i : i + t] = o / l
    return O


def online_by_key(q, k, v):
    """One key at a time, and the output kept normalised."""
    m = np.full(q.shape[0], -np.inf)
    z = np.zeros(q.shape[0])
    o = np.zeros((q.shape[0], v.shape[1]))
    for key, value in zip(k, v, strict=False):
        s = q @ key / math.sqrt(q.shape[1])
        top = np.maximum(m, s)
        old, new = z * np.exp(m - top), np.exp(s - top)
        z = old + new
        o = (o * old[:, None] + new[:, None] * value) / z[:, None]
        m = top
    return o


def merged_parts(q, k, v, parts=3):
    """Each part alone, then joined by their log-sum-exps."""
    outs, lses = [], []
    for kk, vv in zip(np.array_split(k, parts), np.array_split(v, parts), strict=False):
        if len(kk) == 0:
            continue
        s = q @ kk.T / np.sqrt(q.shape[1])
        top = s.max(1, keepdims=True)
        e = np.exp(s - top)
        outs.append(e @ vv / e.sum(1, keepdims=True))
        lses.append(np.log(e.sum(1)) + top[:, 0])
    lses = np.stack(lses)
    w = np.exp(lses - lses.max(0))
    w = w / w.sum(0)
    return sum(wi[:, None] * o for wi, o in zip(w, outs, strict=False))
