"""Masks, softmaxes, tiled attentions and repeated heads."""

import math

import numpy as np
import torch

from wild import UNNAMED, wild


@wild("harvardnlp/annotated-transformer", "the_annotated_transformer.py", "mask")
def subsequent_mask(size):
    """[1, n, n], True = may attend."""
    return torch.ones(1, size, size).tril().bool()


@wild("pytorch/examples", "word_language_model/model.py", "mask")
def generate_square_subsequent_mask(sz):
    """[n, n], added."""
    return torch.full((sz, sz), -math.inf).triu(1)


@wild("graykode/nlp-tutorial", "5-1.Transformer/Transformer.py", "mask")
def get_attn_subsequent_mask(seq):
    """Of tokens [B, n]; 1 hides, [B, n, n]."""
    B, n = seq.shape
    return torch.from_numpy(np.triu(np.ones((B, n, n)), k=1)).byte()


@wild("huggingface/transformers", "models/gpt2 and others (of 2023)", "mask")
def make_causal_mask(n, dtype=torch.float32):
    """Added, with the smallest number instead of -inf."""
    return torch.full((n, n), torch.finfo(dtype).min, dtype=dtype).triu(1)


@wild("d2l-ai/d2l-en", "attention-scoring-functions.md", "softmax")
def masked_softmax(X, valid_lens):
    """[B, n_q, n_k]; lengths [B] or [B, n_q], or None."""
    if valid_lens is None:
        return X.softmax(-1)
    lengths = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens
    return torch.where(torch.arange(X.size(-1)) < lengths[..., None], X, -1e6).softmax(-1)


@wild("jaymody/picoGPT", "gpt2.py", "softmax")
def softmax(x):
    """NumPy, the last axis."""
    x = np.exp(x - x.max(-1)[..., None])
    return x / x.sum(-1)[..., None]


@wild("stanford-cs336/assignment1-basics (solutions)", "cs336_basics/nn_utils.py", "softmax")
def softmax_of_dim(in_features, dim):
    """Torch, of an axis that is given."""
    raised = (in_features - in_features.amax(dim, keepdim=True)).exp()
    return raised / raised.sum(dim, keepdim=True)


@wild(UNNAMED, "a file of the code index", "softmax")
def softmax2(x):
    """Right for one row [n], as its author used it."""
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@wild("stanford-cs336/assignment2-systems (solutions)", "cs336_systems/flash_attention.py", "tiled")
class FlashAttention(torch.autograd.Function):
    """apply(Q, K, V, is_causal); tiles of 16; the log-sum-exp is saved."""

    @staticmethod
    def forward(ctx, Q, K, V, is_causal=False):
        out, lse, t = [], [], 16
        for i, q in zip(range(0, Q.shape[-2], t), Q.split(t, -2), strict=False):
            o = q.new_zeros(*q.shape[:-1], V.size(-1))
            m, l = q.new_full((*q.shape[:-1], 1), -torch.inf), q.new_zeros(*q.shape[:-1], 1)
            for j, (k, v) in zip(
                range(0, K.shape[-2], t),
                zip(K.split(t, -2), V.split(t, -2), strict=False),
                strict=False,
            ):
                s = q @ k.mT / math.sqrt(q.size(-1))
                if is_causal:
                    ahead = (
                        torch.arange(j, j + s.size(-1)) > torch.arange(i, i + s.size(-2))[:, None]
                    )
                    s = s.masked_fill(ahead, -1e6)
                top = torch.maximum(m, s.amax(-1, keepdim=True))
                p, shrink = (s - top).exp(), (m - top).exp()
                l, o, m = shrink * l + p.sum(-1, keepdim=True), shrink * o + p @ v, top
            out.append(o / l), lse.append(m + l.log())
        O, L = torch.cat(out, -2), torch.cat(lse, -2)[..., 0]
        ctx.save_for_backward(L, Q, K, V, O)
        ctx.is_causal = is_causal
        return O

    @staticmethod
    def backward(ctx, dO):
        L, Q, K, V, O = ctx.saved_tensors
        scale = Q.size(-1) ** -0.5
        S = Q @ K.mT * scale
        if ctx.is_causal:
            S = S.masked_fill(torch.ones(S.shape[-2:]).triu(1).bool(), -1e6)
        P = (S - L[..., None]).exp()
        D = (O * dO).sum(-1, keepdim=True)
        dS = P * (dO @ V.mT - D) * scale
        return dS @ K, dS.mT @ Q, P.mT @ dO, None


@wild(
    "ezhoureal/assignment2-systems",
    "cs336_systems/flash_attention.py (stored version)",
    "tiled",
    "causal flag unused",
)
def flag_unused(Q, K, V, is_causal=False):
    """[B, n, d]: is_causal is not looked at."""
    m, l, o = -torch.inf, 0.0, 0.0
    for k, v in zip(K.split(8, 1), V.split(8, 1), strict=False):
        s = Q @ k.mT * Q.size(-1) ** -0.5
        top = (
            s.amax(-1, keepdim=True)
            if isinstance(m, float)
            else torch.maximum(m, s.amax(-1, keepdim=True))
        )
        shrink = 0.0 if isinstance(m, float) else (m - top).exp()
        p = (s - top).exp()
        l, o, m = shrink * l + p.sum(-1, keepdim=True), shrink * o + p @ v, top
    return o / l


@wild("meta-llama/llama", "llama/model.py", "grouped")
def repeat_kv(x, n_rep):
    """[B, n, G, d] to [B, n, G n_rep, d]: each head n_rep times in a row."""
    return x.repeat_interleave(n_rep, dim=2)


@wild("huggingface/transformers", "models/llama/modeling_llama.py", "grouped")
def repeat_kv_heads_first(hidden_states, n_rep):
    """[B, G, n, d] to [B, G n_rep, n, d]."""
    B, G, n, d = hidden_states.shape
    return hidden_states.unsqueeze(2).expand(-1, -1, n_rep, -1, -1).reshape(B, G * n_rep, n, d)
