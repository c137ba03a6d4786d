import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, t):  # (B, n, H * d) -> (B, H, n, d)
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, mask=None):  # x (B, n, d_model); True = may attend
        q, k, v = (self.split(w(x)) for w in (self.w_q, self.w_k, self.w_v))
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.w_o(o.transpose(1, 2).flatten(2))  # swap, then join


def head_by_head(layer, x, mask):  # one text: x (n, d_model), mask (n, n)
    d, found = x.shape[-1] // layer.n_heads, []
    for h in range(layer.n_heads):
        rows = slice(h * d, (h + 1) * d)
        q, k = x @ layer.w_q.weight[rows].T, x @ layer.w_k.weight[rows].T
        scores = (q @ k.T / math.sqrt(d)).masked_fill(~mask, -math.inf)
        v = x @ layer.w_v.weight[rows].T
        found.append(scores.softmax(dim=-1) @ v)
    return layer.w_o(torch.cat(found, dim=-1))


def test_layer(layer, d_model):
    x = torch.randn(3, 5, d_model, dtype=torch.float64)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    lengths = torch.tensor([5, 3, 4])  # of the texts; the rest is padding
    real = (torch.arange(5) < lengths[:, None])[:, None, None]
    for seen in (torch.ones_like(causal), causal):
        y = layer(x, seen & real)
        for b, n in enumerate(lengths):
            alone = head_by_head(layer, x[b, :n], seen[:n, :n])
            torch.testing.assert_close(y[b, :n], alone)
    later = x.clone()
    later[:, 3:] = 0.0  # other tokens from place 3 on
    before, after = layer(x, causal), layer(later, causal)
    torch.testing.assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 4], before[:, 4])


torch.manual_seed(0)
test_layer(MultiHeadAttention(12, 3).double(), 12)
print("passed; GPT-2 small has the size (768, 12), and biases")
