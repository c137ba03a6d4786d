"""Attentions that are not plain: a cap, a sink, biases of distance, norms of queries and keys."""

import math

import torch
import torch.nn.functional as F

from wild import VARIANT, wild


@wild("google/gemma_pytorch", "gemma/model.py", expected=VARIANT)
def capped_at_fifty(q, k, v, mask=None):
    """Softcap: no score beyond ±50."""
    table = q @ k.mT / math.sqrt(q.size(-1))
    table = 50.0 * torch.tanh(table / 50.0)
    table = table if mask is None else table + mask
    return table.softmax(-1) @ v


@wild("openai/gpt-oss", "gpt_oss/torch/model.py", expected=VARIANT)
def sdpa_with_sinks(q, k, v):
    """A sink of score 1 in each row, which takes weight and gives nothing. Causal."""
    table = q @ k.mT / math.sqrt(q.size(-1))
    n_q, n_k = table.shape[-2:]
    table = table.masked_fill(torch.ones(n_q, n_k).triu(1 + n_k - n_q).bool(), -math.inf)
    sink = torch.ones_like(table[..., :1])
    return torch.cat((table, sink), -1).softmax(-1)[..., :-1] @ v


@wild("ofirpress/attention_with_linear_biases", "fairseq/models/transformer.py", expected=VARIANT)
def with_linear_biases(q, k, v):
    """ALiBi, of [B, H, n, d], causal; slopes 2^(-8 (h + 1) / H)."""
    H, n, m = q.size(1), q.size(2), k.size(2)
    slopes = 2.0 ** (-8.0 * (torch.arange(H, dtype=q.dtype) + 1) / H)
    away = torch.arange(m)[None] - torch.arange(n)[:, None]
    table = q @ k.mT / math.sqrt(q.size(-1)) + slopes[:, None, None] * away
    return table.masked_fill(away > 0, -math.inf).softmax(-1) @ v


@wild("huggingface/transformers", "models/qwen3/modeling_qwen3.py", expected=VARIANT)
def with_normed_queries(q, k, v):
    """Queries and keys are divided by their root mean square first."""
    q, k = (x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() for x in (q, k))
    return F.scaled_dot_product_attention(q, k, v)


@wild("huggingface/pytorch-image-models", "timm/models/swin_transformer_v2.py", expected=VARIANT)
def cosines(q, k, v):
    """Cosines of q and k, times 10, its first temperature."""
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return (10 * q @ k.mT).softmax(-1) @ v
