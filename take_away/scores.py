import math

import torch
from torch import nn
from torch.nn.functional import normalize, scaled_dot_product_attention


def dot_scores(q, k):
    """q [..., n_q, d_k], k [..., n_k, d_k] -> [..., n_q, n_k]."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def cosine_scores(q, k, gain):
    """Between -gain and gain, whatever the lengths."""
    return gain * normalize(q, dim=-1) @ normalize(k, dim=-1).mT


def with_one_more(q, k):
    """One number more: the largest dot product is now the nearest key."""
    half_square = (k**2).sum(dim=-1, keepdim=True) / 2
    one = torch.ones_like(q[..., :1])
    return torch.cat([q, one], dim=-1), torch.cat([k, -half_square], dim=-1)


class QKNorm(nn.Module):
    """Root mean square 1, then a learned gain for each entry (QK-norm)."""

    def __init__(self, head_dim):
        super().__init__()
        self.q_norm = nn.RMSNorm(head_dim, eps=1e-6)
        self.k_norm = nn.RMSNorm(head_dim, eps=1e-6)

    def forward(self, q, k):
        return self.q_norm(q), self.k_norm(k)


torch.manual_seed(0)
q, k = torch.randn(2, 3, 5, 64), torch.randn(2, 3, 7, 64)  # batch, heads
v = torch.randn(2, 3, 7, 64)
by_pairs = (q[..., :, None, :] * k[..., None, :, :]).sum(dim=-1)
assert torch.allclose(dot_scores(q, k), by_pairs / 8, atol=1e-5)
ours = dot_scores(q, k).softmax(dim=-1) @ v
theirs = scaled_dot_product_attention(q, k, v)
assert torch.allclose(ours, theirs, atol=1e-5)
longer = k * (torch.rand(2, 3, 7, 1) + 0.5)  # no cosine moves
cosines = cosine_scores(q, k, gain=9)
assert torch.allclose(cosine_scores(q, longer, 9), cosines, atol=1e-5)
perfect = cosine_scores(q, 3 * q, 9).diagonal(dim1=-2, dim2=-1)
assert torch.allclose(perfect, torch.tensor(9.0), atol=1e-5)
q_more, k_more = with_one_more(q, k)
nearest = torch.cdist(q, k).argmin(dim=-1)
assert torch.equal((q_more @ k_more.mT).argmax(dim=-1), nearest)
line = torch.arange(1.0, 6)[:, None]  # keys 1 to 5, each asked for
assert (line @ line.mT).argmax(dim=-1).tolist() == [4, 4, 4, 4, 4]
q_more, k_more = with_one_more(line, line)
assert (q_more @ k_more.mT).argmax(dim=-1).tolist() == [0, 1, 2, 3, 4]
q, k = torch.randn(1, 16, 5, 128), torch.randn(1, 16, 5, 128)  # Qwen3-0.6B
s = dot_scores(*QKNorm(128)(q, k * 100))
print(s.shape, f"largest {s.abs().max():.1f}, bound {math.sqrt(128):.1f}")
assert s.abs().max() <= math.sqrt(128) + 1e-4
