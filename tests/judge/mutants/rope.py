"""Right rotations, in the styles of several hands; rope.txt spoils them."""

import numpy as np
import torch
from torch import nn


def neighbours(x, positions, base=10000.0):
    """NumPy: pairs (0, 1), (2, 3), …"""
    d = x.shape[-1]
    freq = base ** (-np.arange(0, d, 2) / d)
    angle = np.asarray(positions)[:, None] * freq
    cos, sin = np.cos(angle), np.sin(angle)
    out = np.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def halves(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class Rotary(nn.Module):
    """Makes its tables itself; x is [B, n, d] or [B, H, n, d]."""

    def __init__(self, theta: float, d_k: int, max_seq_len: int):
        super().__init__()
        inv = 1.0 / theta ** (torch.arange(0, d_k, 2).float() / d_k)
        angle = torch.outer(torch.arange(max_seq_len).float(), inv)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x, token_positions):
        cos, sin = self.cos[token_positions], self.sin[token_positions]
        even, odd = x[..., ::2], x[..., 1::2]
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2)


def complex_numbers(xq, xk, freqs_cis):
    """Of [B, n, H, d]; freqs_cis is complex, [n, d / 2]."""
    q = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    k = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    turn = freqs_cis[None, :, None, :]
    q, k = torch.view_as_real(q * turn).flatten(3), torch.view_as_real(k * turn).flatten(3)
    return q.type_as(xq), k.type_as(xk)


def whole_text(x, theta=10000.0):
    """Torch, [B, H, n, d], halves; positions 0 to n - 1."""
    n, d = x.shape[-2:]
    inv_freq = theta ** -(torch.arange(0, d, 2, dtype=x.dtype) / d)
    t = torch.arange(n, dtype=x.dtype)
    angle = t[:, None] * inv_freq[None]
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)
