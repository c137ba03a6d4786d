"""Functions in torch that take q, k and v."""

import math

import torch
import torch.nn.functional as F

from wild import wild

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
