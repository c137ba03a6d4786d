"""The module with the weights of transformers' Llama."""

import pytest

pytest.importorskip("transformers")
import torch
from transformers import DynamicCache, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attention_src.kvcache.cache import KVCache
from attention_src.multihead.layer import MultiHeadAttention, Rotary

SIZES = dict(hidden_size=24, num_attention_heads=4, head_dim=6, rope_theta=123.0)


def llama(n_kv_heads=2):
    torch.manual_seed(0)
    rope = dict(rope_type="default", rope_theta=123.0)
    config = LlamaConfig(**SIZES, num_key_value_heads=n_kv_heads, rope_parameters=rope)
    config._attn_implementation = "eager"
    return LlamaAttention(config, layer_idx=0).double().eval(), LlamaRotaryEmbedding(config)


def ours_with(theirs, **options):
    """Our module with the weights of theirs."""
    heads = dict(n_kv_heads=theirs.config.num_key_value_heads, d_k=6)
    ours = MultiHeadAttention(24, 4, **heads, **(dict(rope=Rotary(base=123.0)) | options)).double()
    ours.load_state_dict(theirs.state_dict())
    return ours


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


@pytest.mark.parametrize(
    ("n_kv_heads", "impl"), [(4, "auto"), (2, "dense"), (1, "sdpa"), (2, "tiled")]
)
def test_agrees_with_llama(n_kv_heads, impl):
    theirs, rotary = llama(n_kv_heads)
    ours = ours_with(theirs, impl=impl)
    x = tokens(9).requires_grad_()
    results = []
    for y in (ours(x, causal=True), run(theirs, rotary, x)):
        results.append((y, *torch.autograd.grad(y.sin().sum(), x)))
    for actual, expected in zip(*results, strict=True):
        # Their angles are rounded to float32.
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def test_the_other_pairing_is_noticed():
    theirs, rotary = llama()
    ours = ours_with(theirs, rope=Rotary(base=123.0, interleaved=True))
    x = tokens(9)
    assert not torch.allclose(ours(x, causal=True), run(theirs, rotary, x), rtol=1e-2, atol=1e-3)


def test_agrees_with_llamas_cache():
    theirs, rotary = llama()
    ours = ours_with(theirs)
    x, cache, their_cache, start = tokens(9), KVCache(), DynamicCache(), 0
    with torch.no_grad():
        for piece in x.split([4, 1, 3, 1], dim=1):
            actual = ours(piece, causal=True, cache=cache)
            expected = run(theirs, rotary, piece, start, their_cache)
            torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
            start += piece.shape[1]
