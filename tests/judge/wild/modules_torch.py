"""Modules in torch that take q, k and v."""

import torch

from wild import wild


@wild("graykode/nlp-tutorial", "5-1.Transformer/Transformer.py")
class ScaledDotProductAttention(torch.nn.Module):
    """True hides, as [B, H, n, n]; returns context and weights."""

    def forward(self, Q, K, V, attn_mask):
        table = Q @ K.mT / Q.size(-1) ** 0.5
        if attn_mask is not None:
            table = table.masked_fill(attn_mask.bool(), -1e9)
        table = table.softmax(-1)
        return table @ V, table


@wild("hyunwoongko/transformer", "models/layers/scale_dot_product_attention.py")
class ScaleDotProductAttention(torch.nn.Module):
    """As it is now: hidden scores become -10000; mask second to last, an epsilon last."""

    def __init__(self):
        super().__init__()
        self.softmax = torch.nn.Softmax(dim=-1)

    def forward(self, q, k, v, mask=None, e=1e-12):
        table = q.matmul(k.permute(0, 1, 3, 2)) / k.size(3) ** 0.5
        if mask is not None:
            table = table.where(mask != 0, torch.full_like(table, -10000))
        table = self.softmax(table)
        return table.matmul(v), table


@wild("jadore801120/attention-is-all-you-need-pytorch", "transformer/Modules.py")
class WithTemperature(torch.nn.Module):
    """Queries are divided; 0 hides; dropout on weights."""

    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature, self.dropout = temperature, torch.nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        table = (q / self.temperature) @ k.transpose(2, 3)
        if mask is not None:
            table = table.masked_fill(mask == 0, -1e9)
        table = self.dropout(table.softmax(-1))
        return table @ v, table


@wild(
    "d2l-ai/d2l-en", "chapter_attention-mechanisms-and-transformers/attention-scoring-functions.md"
)
class DotProductAttention(torch.nn.Module):
    """[B, n, d]; lengths [B] or [B, n_q] in place of a mask."""

    def __init__(self, dropout):
        super().__init__()
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        table = queries.bmm(keys.mT) * queries.size(2) ** -0.5
        if valid_lens is not None:
            lengths = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens
            places = torch.arange(keys.size(1))
            table = table.masked_fill(places >= lengths[..., None], -1e6)
        self.attention_weights = table.softmax(-1)
        return self.dropout(self.attention_weights).bmm(values)


@wild("lucidrains/x-transformers", "x_transformers/attend.py")
class Attend(torch.nn.Module):
    """Keyword sizes; True = may attend; hidden rows give zero; returns a second thing."""

    def __init__(self, *, dropout=0.0, causal=False, scale=None):
        super().__init__()
        self.scale, self.causal, self.drop = scale, causal, torch.nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None, attn_bias=None):
        table = q @ k.mT * (self.scale or q.size(-1) ** -0.5)
        low = -torch.finfo(table.dtype).max
        if attn_bias is not None:
            table = table + attn_bias
        if mask is not None:
            mask = mask[:, None, None] if mask.ndim == 2 else mask
            table = table.masked_fill(~mask, low)
        if self.causal:
            table = table.masked_fill(torch.ones(table.shape[-2:]).triu(1).bool(), low)
        weights = table.softmax(-1)
        out = self.drop(weights) @ v
        if mask is not None:
            out = out.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        return out, {"weights": weights}
