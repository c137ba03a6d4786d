"""The module with the weights of others: torch's own, and transformers' Llama."""

import pytest
import torch
from transformers import DynamicCache, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attention_src.kvcache.cache import KVCache
from attention_src.multihead.layer import MultiHeadAttention, Rotary

SIZES = dict(hidden_size=24, num_attention_heads=4, head_dim=6, rope_theta=123.0)


def llama(n_kv_heads=2, **options):
    torch.manual_seed(0)
    rope = dict(rope_type="default", rope_theta=123.0)
    config = LlamaConfig(
        **(SIZES | dict(num_key_value_heads=n_kv_heads, rope_parameters=rope) | options)
    )
    config._attn_implementation = "eager"
    return LlamaAttention(config, layer_idx=0).double().eval(), LlamaRotaryEmbedding(config)


def run(theirs, rotary, x, start=0, cache=None):
    n = x.shape[1]
    positions = torch.arange(start, start + n)[None]
    hidden = torch.full((n, start + n), -torch.inf, dtype=x.dtype).triu(start + 1)
    return theirs(
        x, rotary(x, positions), attention_mask=hidden[None, None], past_key_values=cache
    )[0]


def tokens(n):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, n, 24, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("impl", ["auto", "dense", "sdpa", "tiled"])
def test_agrees_with_llama(n_kv_heads, impl):
    theirs, rotary = llama(n_kv_heads)
    ours = MultiHeadAttention.from_llama(theirs, impl=impl)
    assert ours.rope == Rotary(base=123.0)
    x = tokens(9).requires_grad_()
    results = []
    for y in (ours(x, causal=True), run(theirs, rotary, x)):
        results.append((y, *torch.autograd.grad(y.sin().sum(), x)))
    for mine, wanted in zip(*results, strict=True):
        # Their angles are rounded to float32.
        torch.testing.assert_close(mine, wanted, rtol=1e-5, atol=1e-6)


def test_the_other_pairing_is_noticed():
    theirs, rotary = llama()
    ours = MultiHeadAttention.from_llama(theirs, rope=Rotary(base=123.0, interleaved=True))
    x = tokens(9)
    assert not torch.allclose(ours(x, causal=True), run(theirs, rotary, x), rtol=1e-2, atol=1e-3)


def test_agrees_with_llamas_cache():
    theirs, rotary = llama()
    ours = MultiHeadAttention.from_llama(theirs)
    x, cache, their_cache, start = tokens(9), KVCache(), DynamicCache(), 0
    with torch.no_grad():
        for piece in x.split([4, 1, 3, 1], dim=1):
            mine = ours(piece, causal=True, cache=cache)
            wanted = run(theirs, rotary, piece, start, their_cache)
            torch.testing.assert_close(mine, wanted, rtol=1e-5, atol=1e-6)
            start += piece.shape[1]


def test_biases_come_along():
    theirs, rotary = llama(attention_bias=True)
    with torch.no_grad():
        for part in (theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.o_proj):
            part.bias.normal_()
    x = tokens(5)
    ours = MultiHeadAttention.from_llama(theirs)
    torch.testing.assert_close(ours(x, causal=True), run(theirs, rotary, x), rtol=1e-5, atol=1e-6)


def test_a_scaled_rotation_has_to_be_given():
    theirs, _ = llama(rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=123.0))
    with pytest.raises(ValueError, match=r"rotation is scaled \(linear\); pass rope=Rotary"):
        MultiHeadAttention.from_llama(theirs)


@pytest.mark.parametrize("bias", [False, True])
def test_from_torch(bias):
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(12, 3, bias=bias, batch_first=True).double()
    if bias:
        with torch.no_grad():
            theirs.in_proj_bias.normal_()
            theirs.out_proj.bias.normal_()
    ours = MultiHeadAttention.from_torch(theirs, impl="dense")
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    expected = theirs(x, x, x, need_weights=False)[0]
    torch.testing.assert_close(ours(x), expected, rtol=1e-10, atol=1e-12)
    assert ours.impl == "dense" and ours.q_proj.weight.dtype == torch.float64


@pytest.mark.parametrize(
    "options", [dict(kdim=5), dict(add_bias_kv=True), dict(add_zero_attn=True)]
)
def test_what_cannot_be_expressed_is_refused(options):
    with pytest.raises(ValueError, match="add_bias_kv or add_zero_attn"):
        MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(12, 3, **options))
