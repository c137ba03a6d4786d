"""Functions in torch that take q, k and v."""

import math

import torch
import torch.nn.functional as F

from wild import VARIANT, wild

wild("pytorch/pytorch", "torch/nn/functional.py")(F.scaled_dot_product_attention)


@wild("harvardnlp/annotated-transformer", "the_annotated_transformer.py")
def attention(query, key, value, mask=None, dropout=None):
    """Any leading axes; 0 hides; returns the weights, too."""
    s = query @ key.mT * query.shape[-1] ** -0.5
    s = s if mask is None else torch.where(mask == 0, torch.tensor(-1e9, dtype=s.dtype), s)
    w = torch.softmax(s, -1)
    w = w if dropout is None else dropout(w)
    return w @ value, w


@wild("hkproj/pytorch-transformer", "model.py")
def attention_in_place(query, key, value, mask, dropout):
    """The mask must be given, may be None; scores are filled in place."""
    width = query.shape[-1]
    table = query.matmul(key.transpose(2, 3)).div(math.sqrt(width))
    if mask is not None:
        table.masked_fill_(mask.eq(0), -1e9)
    table = table.softmax(-1)
    if dropout is not None:
        table = dropout(table)
    return table.matmul(value), table


@wild("SamLynnEvans/Transformer", "Sublayers.py")
def attention_with_width(q, k, v, d_k, mask=None, dropout=None):
    """The width is an argument; the mask [B, n, n] gets its axis of heads inside."""
    table = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(d_k)
    if mask is not None:
        table = table.masked_fill(mask[:, None].eq(0), -1e9)
    table = table.softmax(dim=3)
    if dropout is not None:
        table = dropout(table)
    return torch.einsum("bhij,bhjd->bhid", table, v)


@wild("ajhalthor/Transformer-Neural-Network", "transformer.py")
def scaled_dot_product(q, k, v, mask=None):
    """The mask is added."""
    table = q @ k.transpose(-1, -2) * q.size(-1) ** -0.5
    table = table if mask is None else table + mask
    table = table.softmax(-1)
    return table @ v, table


@wild("huggingface/transformers", "models/llama/modeling_llama.py", "grouped")
def eager_attention_forward(
    module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs
):
    """Grouped, added mask cut to the keys, answers as [B, n, H, d]."""
    by = module.num_key_value_groups
    key, value = key.repeat_interleave(by, 1), value.repeat_interleave(by, 1)
    table = scaling * (query @ key.mT)
    if attention_mask is not None:
        table = table + attention_mask[..., : key.shape[2]]
    table = F.softmax(table.float(), -1).type_as(query)
    table = F.dropout(table, dropout, module.training)
    return (table @ value).transpose(1, 2).contiguous(), table


@wild("huggingface/transformers", "models/bert/modeling_bert.py")
def bert_eager(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs):
    """No groups; the scale may be None."""
    factor = query.size(-1) ** -0.5 if scaling is None else scaling
    table = torch.einsum("bhid,bhjd->bhij", query, key) * factor
    if attention_mask is not None:
        table += attention_mask[:, :, :, : key.size(2)]
    table = F.dropout(table.softmax(3), p=dropout, training=module.training)
    return torch.einsum("bhij,bhjd->bihd", table, value), table


@wild("huggingface/transformers", "models/gpt2/modeling_gpt2.py")
def gpt2_eager(module, query, key, value, attention_mask, **kwargs):
    """Scaled by the width of the values, if the module says so; answers as [B, n, H, d]."""
    table = query @ key.mT
    if getattr(module, "scale_attn_weights", True):
        table = table / value.size(-1) ** 0.5
    if attention_mask is not None:
        table = table + attention_mask
    table = table.softmax(-1).to(value.dtype)
    return (table @ value).transpose(1, 2), table


@wild("huggingface/transformers", "models/gemma2/modeling_gemma2.py", "grouped")
def gemma2_eager(
    module, query, key, value, attention_mask, dropout=0.0, scaling=None, softcap=None, **kwargs
):
    """With a cap on the scores, which is None here."""
    if scaling is None:
        scaling = module.head_dim**-0.5
    by = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(by, dim=1) for x in (key, value))
    table = query @ key.mT * scaling
    if softcap is not None:
        table = softcap * torch.tanh(table / softcap)
    if attention_mask is not None:
        table = table + attention_mask[..., : key.shape[-2]]
    table = table.softmax(-1)
    return (table @ value).transpose(1, 2).contiguous(), table


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


@wild("mistralai/mistral-inference", "one_file_ref.py")
def window_all(xq, xk, xv, mask=None):
    """[B, n, H, d], added mask; scores in float32."""
    table = torch.einsum("bihd,bjhd->bhij", xq * xq.size(-1) ** -0.5, xk)
    if mask is not None:
        table = table + mask
    return torch.einsum("bhij,bjhd->bihd", table.float().softmax(-1).type_as(xq), xv)


@wild("stanford-cs336/assignment1-basics (solutions)", "cs336_basics/model.py")
def scaled_dot_product_attention(Q, K, V, mask=None):
    """… n d; True = may attend."""
    table = torch.einsum("...id,...jd->...ij", Q, K) / math.sqrt(Q.shape[-1])
    if mask is not None:
        table = torch.where(mask, table, float("-inf"))
    top = table.amax(-1, keepdim=True)
    raised = (table - top).exp()
    return torch.einsum("...ij,...jd->...id", raised / raised.sum(-1, keepdim=True), V)


@wild("Exorust/TorchLeet", "torch-llm/Implement-Attention-from-Scratch/attention-q4.ipynb")
def torchleet_attention(q, k, v, mask=None):
    """[B, H, n, d], 0 hides with -inf, only the output."""
    table = q.matmul(k.transpose(-2, -1)) / (q.size(-1) ** 0.5)
    if mask is not None:
        table = table.masked_fill(mask == 0, -math.inf)
    return table.softmax(dim=-1).matmul(v)


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


@wild("huggingface/pytorch-image-models", "timm/models/swin_transformer_v2.py", expected=VARIANT)
def cosines(q, k, v):
    """Cosines of q and k, times 10, its first temperature."""
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return (10 * q @ k.mT).softmax(-1) @ v
