"""Latent attention with DeepSeek's norm and YaRN, against transformers' DeepseekV3Attention."""

import math

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
)

from attention_src.kvcache.cache import KVCache
from attention_src.multihead.layer import MultiHeadLatentAttention, Rotary
from attention_src.multihead.reference_latent import latent_attention
from attention_src.rope.scaling import YaRN
from attention_src.rope.scaling_by_parts import mscale

H, D_MODEL, D_LATENT, D_ROPE, D_K, D_V = 3, 20, 10, 6, 7, 5
BASE, FACTOR, CONTEXT = 1e4, 40.0, 64
PLAIN = dict(rope_type="yarn", factor=FACTOR, original_max_position_embeddings=CONTEXT)
V3 = PLAIN | dict(mscale=1.0, mscale_all_dim=1.0)


def deepseek(parameters):
    """Their attention in float64 with random weights, its config and its rotation."""
    torch.manual_seed(0)
    config = DeepseekV3Config(
        hidden_size=D_MODEL,
        num_attention_heads=H,
        num_key_value_heads=H,
        q_lora_rank=None,
        kv_lora_rank=D_LATENT,
        qk_rope_head_dim=D_ROPE,
        qk_nope_head_dim=D_K,
        v_head_dim=D_V,
        rope_parameters=dict(parameters, rope_theta=BASE),
    )
    config._attn_implementation = "eager"
    theirs = DeepseekV3Attention(config, layer_idx=0).double().eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(std=0.4)  # so that scores are of the order of 1
        theirs.kv_a_layernorm.weight.uniform_(0.5, 2)
    return theirs, config, DeepseekV3RotaryEmbedding(config)


def scaling_of(parameters):
    """Their scaling as ours: without mscale_all_dim no factor on all scores."""
    if parameters["rope_type"] == "default":
        return None
    rotated, every = parameters.get("mscale"), parameters.get("mscale_all_dim")
    ratio = mscale(FACTOR, rotated) / mscale(FACTOR, every) if rotated and every else None
    return YaRN(FACTOR, CONTEXT, attention_factor=ratio, mscale_all_dim=every or 0.0)


def run(theirs, rotary, x):
    n = x.shape[1]
    hidden = torch.full((n, n), -torch.inf, dtype=x.dtype).triu(1)
    return theirs(x, rotary(x, torch.arange(n)[None]), attention_mask=hidden[None, None])


@torch.no_grad()
def ours_with(theirs, rope):
    """Our module with their weights."""
    sizes = dict(d_latent=D_LATENT, d_rope=D_ROPE, d_k=D_K, d_v=D_V)
    ours = MultiHeadLatentAttention(D_MODEL, H, **sizes, rope=rope, norm=True).double()
    down = theirs.kv_a_proj_with_mqa.weight.split((D_LATENT, D_ROPE))
    up = theirs.kv_b_proj.weight.unflatten(0, (H, D_K + D_V)).split((D_K, D_V), dim=1)
    weights = dict(
        q_proj=theirs.q_proj.weight,
        kv_down=down[0],
        k_rope_proj=down[1],
        kv_norm=theirs.kv_a_layernorm.weight,
        k_up=up[0].flatten(0, 1),
        v_up=up[1].flatten(0, 1),
        o_proj=theirs.o_proj.weight,
    )
    ours.load_state_dict({f"{name}.weight": weight for name, weight in weights.items()})
    return ours


def tokens(n):
    generator = torch.Generator().manual_seed(n)
    return torch.randn(2, n, D_MODEL, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize(
    "parameters",
    [
        dict(rope_type="default"),
        PLAIN,
        V3,
        PLAIN | dict(mscale=0.707, mscale_all_dim=0.707),  # DeepSeek-V2's
        PLAIN | dict(mscale=1.0, mscale_all_dim=0.5),
        PLAIN | dict(mscale_all_dim=0.5),
    ],
    ids=str,
)
def test_agrees_with_deepseek(parameters):
    theirs, config, rotary = deepseek(parameters)
    rope = Rotary(BASE, interleaved=config.rope_interleave, scaling=scaling_of(parameters))
    ours, x = ours_with(theirs, rope), tokens(11).requires_grad_()
    expected, p = run(theirs, rotary, x)
    (gradient,) = torch.autograd.grad(expected.sin().sum(), x)
    for absorb in (False, True):
        y, weights = ours(x, causal=True, absorb=absorb, return_weights=True)
        torch.testing.assert_close(weights, p, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
        (actual,) = torch.autograd.grad(y.sin().sum(), x)
        torch.testing.assert_close(actual, gradient, rtol=1e-4, atol=1e-4 * gradient.abs().max())


@torch.no_grad()
def test_yarn_without_more_is_deepseek_v3s():
    theirs, _, rotary = deepseek(V3)
    scaling, x = YaRN(FACTOR, CONTEXT), tokens(11)
    expected, _ = run(theirs, rotary, x)
    ours = ours_with(theirs, Rotary(BASE, interleaved=True, scaling=scaling))
    assert math.isclose(ours.scale, theirs.scaling)
    for absorb in (False, True):
        cache = KVCache()
        pieces = x.split([4, 1, 6], dim=1)
        y = [ours(t, causal=True, cache=cache, absorb=absorb) for t in pieces]
        torch.testing.assert_close(torch.cat(y, dim=1), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("all_dim", [None, 0.0, 0.8])
@torch.no_grad()
def test_the_reference_is_the_layer(all_dim):
    theirs, _, _ = deepseek(V3)
    scaling = YaRN(FACTOR, CONTEXT, mscale_all_dim=all_dim)
    ours, x = ours_with(theirs, Rotary(BASE, scaling=scaling)), tokens(9)
    names = ("q_proj", "kv_down", "k_rope_proj", "k_up", "v_up", "o_proj")
    matrices = [getattr(ours, name).weight.numpy().T for name in names]
    options = dict(n_heads=H, causal=True, scaling=scaling, norm=ours.kv_norm.weight.numpy())
    for absorb in (False, True):
        expected = latent_attention(x.numpy(), *matrices, **options, absorb=absorb)
        np.testing.assert_allclose(ours(x, causal=True, absorb=absorb), expected, rtol=1e-9)


def test_a_norm_that_does_not_fit(untyped):
    ours = ours_with(deepseek(V3)[0], True)
    names = ("q_proj", "kv_down", "k_rope_proj", "k_up", "v_up", "o_proj")
    matrices = [getattr(ours, name).weight.detach().numpy().T for name in names]
    with pytest.raises(
        ValueError, match=r"norm has shape \[3\]; it should be \[d_latent\] = \[10\]"
    ):
        latent_attention(tokens(2).numpy(), *matrices, n_heads=H, norm=np.ones(3))
