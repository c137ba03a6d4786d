"""Right softmaxes, in the styles of several hands; softmaxes.txt spoils them."""

import math

import numpy as np
import torch


def of_rows(x):
    z = x - np.max(x, axis=-1, keepdims=True)
    e = np.exp(z)
    return e / np.sum(e, axis=-1, keepdims=True)


def with_axis(x, axis=-1):
    m = x.max(axis=axis, keepdims=True)
    ex = np.exp(x - m)
    return ex / ex.sum(axis=axis, keepdims=True)


def in_torch(x, dim):
    top = x.max(dim=dim, keepdim=True).values
    exps = torch.exp(x - top)
    return exps / exps.sum(dim=dim, keepdim=True)


def with_lists(xs):
    """Of one row."""
    top = max(xs)
    exps = [math.exp(x - top) for x in xs]
    total = sum(exps)
    return [e / total for e in exps]


def by_logs(x):
    top = x.max(-1, keepdims=True)
    lse = top + np.log(np.exp(x - top).sum(-1, keepdims=True))
    return np.exp(x - lse)
