"""What papers and libraries do to scores, as "Where papers and libraries differ" tells it.

One test for each of these paragraphs of book/notation.md; test_differences.py checks that.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attention_src.attention import masks, reference
from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.scores.reference import additive
from attention_src.testing import make_qkv

CLOSE = dict(rtol=1e-12, atol=1e-12)
FLOAT32 = dict(rtol=1e-5, atol=1e-6)


def qkv(*sizes, **options):
    return make_qkv(*sizes, dtype=torch.float64, **options)


def ours(q, k, v, **options):
    """The reference's output, as a tensor."""
    return torch.from_numpy(reference.attention(q.numpy(), k.numpy(), v.numpy(), **options))


def t5_heads(relative):
    """One attention of T5, and its queries, keys and values for some tokens x."""
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    sizes = dict(vocab_size=5, d_model=64, d_kv=16, d_ff=8, num_layers=1, num_heads=8)
    heads = T5Attention(T5Config(**sizes), has_relative_attention_bias=relative).eval().double()
    x = torch.randn(2, 40, 64).double()
    parts = (part(x).unflatten(-1, (8, 16)).transpose(1, 2) for part in (heads.q, heads.k, heads.v))
    return heads, x, [part.detach() for part in parts]


def joined(o, heads):
    """The heads of T5's attention side by side, and projected."""
    return heads.o(o.transpose(1, 2).flatten(2))


def test_boolean_or_additive():
    q, k, v = qkv(3)
    mask = masks.causal_mask(3)
    added = torch.from_numpy(masks.to_additive(mask, np.float64))
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=added)
    torch.testing.assert_close(theirs, ours(q, k, v, mask=mask))


def test_where_the_scale_is():
    from transformers import T5EncoderModel

    heads, x, parts = t5_heads(relative=False)
    o = ours(*parts, scale=1.0)
    torch.testing.assert_close(heads(x)[0], joined(o, heads))
    first = T5EncoderModel(heads.config).encoder.block[0].layer[0].SelfAttention
    ratio = first.k.weight.std() / first.q.weight.std()
    assert ratio.item() == pytest.approx(math.sqrt(16), rel=0.1)
    q, k = (np.random.default_rng(n).normal(size=(n, 4)) for n in (2, 3))
    W_q, W_k, w = (np.random.default_rng(n).normal(size=(5, 4)) for n in (4, 5, 6))
    hidden = np.tanh((q @ W_q.T)[:, None] + (k @ W_k.T)[None])
    np.testing.assert_allclose(additive(q, k, W_q, W_k, w[:, 0]), hidden @ w[:, 0], **CLOSE)


def test_what_a_bias_is():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    q, k, v = qkv(5, 7)
    slopes = alibi_slopes(3)
    assert (slopes > 0).all()
    t, j = np.arange(5)[:, None] + 2, np.arange(7)
    bias = torch.from_numpy(-slopes[:, None, None] * abs(t - j))
    o = ours(q, k, v, bias=Alibi(slopes))
    torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=bias), o)
    bloom = build_alibi_tensor(torch.ones(1, 7), 3, torch.float64)
    theirs = ours(q, k, v, causal=True, bias=bloom.numpy())
    torch.testing.assert_close(theirs, ours(q, k, v, causal=True, bias=Alibi(slopes)), **FLOAT32)
    heads, x, parts = t5_heads(relative=True)
    bias = heads.compute_bias(40, 40).detach().numpy()  # [1, H, n, n]
    assert all(len(np.unique(one)) <= 32 for one in bias[0])  # a number for each range
    o = ours(*parts, scale=1.0, bias=bias)
    torch.testing.assert_close(heads(x)[0], joined(o, heads))


def test_the_order_of_changes():
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    q, k, v = qkv(7, size=9.0)
    mask, bias = masks.causal_mask(7), np.random.default_rng(0).normal(size=(3, 7, 7))
    added = torch.from_numpy(masks.to_additive(mask, np.float64) + bias)
    gemma = SimpleNamespace(num_key_value_groups=1, training=False)
    theirs = eager_attention_forward(gemma, q, k, v, added, scaling=0.3, softcap=5.0)[0]
    changes = dict(scale=0.3, softcap=5.0)
    o = ours(q, k, v, mask=mask, bias=bias, **changes)
    torch.testing.assert_close(theirs.transpose(1, 2), o, **FLOAT32)
    s = 0.3 * np.einsum("bhqd,bhkd->bhqk", q, k) + bias
    bent_last = ours(q, k, v, mask=mask, bias=5 * np.tanh(s / 5), scale=0.0)
    assert not torch.allclose(bent_last, o, atol=0.01)


def test_two_kinds_of_sink():
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    q, k, v = qkv(7)
    sinks = torch.tensor([0.5, -1.0, 3.0], dtype=torch.float64)
    gpt_oss = SimpleNamespace(num_key_value_groups=1, sinks=sinks, training=False)
    added = torch.from_numpy(masks.to_additive(masks.causal_mask(7), np.float64))
    theirs, p = eager_attention_forward(gpt_oss, q, k, v, added, scaling=0.3)
    learned = dict(scale=0.3, causal=True, sink_logits=sinks.numpy())
    torch.testing.assert_close(theirs.transpose(1, 2), ours(q, k, v, **learned))
    assert (p.sum(dim=-1) < 1).all()
    first = masks.window_mask(7, 7, 2, sinks=1)
    p = reference.attention_weights(q.numpy(), k.numpy(), mask=first)
    assert first[6].tolist() == [True] + [False] * 4 + [True] * 2
    np.testing.assert_allclose(p.sum(axis=-1), 1, **CLOSE)
