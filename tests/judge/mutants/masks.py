"""Right masks, in the styles of several hands; masks.txt spoils them."""

import numpy as np
import torch


def causal_numpy(n):
    """True = may attend."""
    return np.tril(np.ones((n, n), dtype=bool))


def subsequent_mask(size):
    """1 = may attend, [1, n, n]."""
    hidden = torch.triu(torch.ones((1, size, size)), diagonal=1).type(torch.uint8)
    return hidden == 0


def added_mask(sz):
    return torch.triu(torch.full((sz, sz), float("-inf")), diagonal=1)


def comparing_places(n_q, n_k):
    """The last query sees all keys."""
    i = np.arange(n_q)[:, None] + (n_k - n_q)
    j = np.arange(n_k)[None, :]
    return j <= i


def padding_mask(seq, pad_idx=0):
    return (seq != pad_idx).unsqueeze(-2)


def lengths_mask(lengths, max_len):
    return torch.arange(max_len)[None, :] < torch.as_tensor(lengths)[:, None]


def window_mask(n, window):
    """Each token sees itself and window - 1 before it."""
    i, j = np.arange(n)[:, None], np.arange(n)
    return (j <= i) & (j > i - window)
