"""Cutting heads and joining them, for the layers."""

import torch


def _cut(x, heads):
    """[B, n, D] to [B, H, n, d]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _join(x):
    return x.transpose(1, 2).flatten(2)


def _hidden_future(n, m):
    return torch.ones(n, m, dtype=torch.bool).triu(1)
