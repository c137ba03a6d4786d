"""Independent implementations, same visibility: PyTorch's SDPA and FlexAttention, and Llama's."""

import types

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attention_src.attention.masks import to_additive
from attention_src.flash.layer import flash_attention, flash_attention_with_lse
from flash.oracle import arguments, visible_mask

IMPLS = ("dense", "sdpa", "tiled")
N_Q, N_K = 37, 53
RULES = [
    dict(),
    dict(causal=True),
    dict(window=11),
    dict(window=7, sinks=3),
    dict(key_lengths=[53, 20]),
    dict(window=19, sinks=2, key_lengths=[31, 45], scale=0.25),
]


def inputs(dtype=torch.float64):
    q, k, v, do, _ = arguments((N_Q, N_K, 16, 24, 6, 2), dtype)
    return [x.requires_grad_() for x in (q, k, v)], do


def visible(rule):
    """The mask, and which rows to compare: peers differ in what a fully masked row gives."""
    mask = torch.from_numpy(visible_mask(N_Q, N_K, **without_scale(rule)))
    return mask, mask.any(dim=-1)[..., None]


def without_scale(rule):
    return {name: value for name, value in rule.items() if name != "scale"}


def assert_same_with_gradients(peer, leaves, do, rule, compared):
    do = do * compared
    right = peer.detach() * compared, *torch.autograd.grad(peer, leaves, do)
    for impl in IMPLS:
        o = flash_attention(*leaves, **rule, impl=impl)
        actual = o.detach() * compared, *torch.autograd.grad(o, leaves, do)
        torch.testing.assert_close(actual, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sdpa(rule):
    leaves, do = inputs()
    mask, compared = visible(rule)
    peer = torch.nn.functional.scaled_dot_product_attention(
        *leaves, attn_mask=mask | ~compared, scale=rule.get("scale"), enable_gqa=True
    )
    assert_same_with_gradients(peer, leaves, do, rule, compared)


def test_sdpas_own_causal_on_a_square():
    # Its is_causal is top-left: the same as ours only where n_q = n_k.
    (q, k, v), do = inputs()
    leaves = [q, *(x[:, :, :N_Q].detach().requires_grad_() for x in (k, v))]
    peer = torch.nn.functional.scaled_dot_product_attention(
        *leaves, is_causal=True, enable_gqa=True
    )
    assert_same_with_gradients(peer, leaves, do, dict(causal=True), torch.ones(1))


@pytest.mark.filterwarnings("ignore:return_lse is deprecated")
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_flex_attention(rule):
    q, k, v = (x.detach() for x in inputs(torch.float32)[0])  # on a CPU it has no backward pass
    causal, window, sinks = rule.get("causal", False), rule.get("window"), rule.get("sinks", 0)
    lengths = torch.tensor(rule.get("key_lengths", [N_K, N_K]))

    def mask_mod(b, h, i, j):
        t = i + N_K - N_Q
        mask = j < lengths[b]
        if causal or window:
            mask = mask & (j <= t)
        return mask & ((t - j < window) | (j < sinks)) if window else mask

    block_mask = create_block_mask(mask_mod, 2, None, N_Q, N_K, device="cpu", BLOCK_SIZE=16)
    options = dict(block_mask=block_mask, scale=rule.get("scale"), enable_gqa=True)
    peer = flex_attention(q, k, v, **options, return_lse=True)
    assert visible(rule)[1].all()
    for impl in IMPLS:
        actual = flash_attention_with_lse(q, k, v, **rule, impl=impl)
        torch.testing.assert_close(actual, peer, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_llama(rule):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    leaves, do = inputs()
    mask, compared = visible(rule)
    module = types.SimpleNamespace(num_key_value_groups=3, training=False)
    peer, _ = llama.eager_attention_forward(
        module,
        *leaves,
        to_additive(mask | ~compared, torch.float64),
        scaling=rule.get("scale", 16**-0.5),
    )
    # Its softmax is in float32, whatever the inputs' dtype.
    o = flash_attention(*leaves, **rule, impl="tiled")
    torch.testing.assert_close(o * compared, peer.transpose(1, 2) * compared, rtol=1e-5, atol=1e-5)
    gradients = [torch.autograd.grad(x * compared, leaves, do) for x in (o, peer.transpose(1, 2))]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)
