"""Independent implementations: PyTorch's SDPA and FlexAttention; Llama, Gemma 2 and GPT-OSS."""

import types

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.attention.masks import causal_mask, to_additive
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


def assert_same_with_gradients(peer, leaves, do, rule, compared, impls=IMPLS):
    """Gradients of q, k, v, and of those options of the rule that are among the leaves."""
    do = do * compared
    right = peer.detach() * compared, *torch.autograd.grad(peer, leaves, do, retain_graph=True)
    for impl in impls:
        o = flash_attention(*leaves[:3], **rule, impl=impl)
        actual = o.detach() * compared, *torch.autograd.grad(o, leaves, do, retain_graph=True)
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
        t = i + lengths[b] - N_Q  # a sequence's last query is at its last key
        mask = j < lengths[b]
        if causal or window:
            mask = mask & (j <= t)
        return mask & ((t - j < window) | (j < sinks)) if window else mask

    block_mask = create_block_mask(mask_mod, 2, None, N_Q, N_K, device="cpu", BLOCK_SIZE=16)
    options = dict(block_mask=block_mask, scale=rule.get("scale"), enable_gqa=True)
    peer = flex_attention(q, k, v, **options, return_lse=True)
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


SLOPES = torch.from_numpy(alibi_slopes(6))
TABLE = torch.randn(6, 8, generator=torch.Generator().manual_seed(0)).double()


def alibi_mod(s, b, h, i, j):
    return s - SLOPES[h].to(s.dtype) * (i + N_K - N_Q - j).abs()


def capped_mod(s, b, h, i, j):
    return 2.0 * torch.tanh(s / 2.0)


def table_mod(s, b, h, i, j):
    """Exact buckets only: one number for each distance up to 6 back, and one for all others."""
    return s + TABLE[h, (i + N_K - N_Q - j).clamp(0, 7)].to(s.dtype)


def both_mod(s, b, h, i, j):
    return alibi_mod(capped_mod(s, b, h, i, j), b, h, i, j)


def windowed(back, ahead):
    """FlexAttention's mask for a window of two sides."""

    def visible(b, h, i, j):
        t = i + N_K - N_Q
        return (t - j < back) & (j <= t + ahead)

    return visible


distances = (torch.arange(N_Q)[:, None] + N_K - N_Q - torch.arange(N_K)).clamp(0, 7)
FLEX = [
    (alibi_mod, None, dict(bias=Alibi(SLOPES))),
    (capped_mod, None, dict(softcap=2.0)),
    (table_mod, None, dict(bias=TABLE[:, distances])),
    (None, windowed(7, 5), dict(window=7, lookahead=5)),
    (both_mod, windowed(11, 2), dict(window=11, lookahead=2, bias=Alibi(SLOPES), softcap=2.0)),
]


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.filterwarnings("ignore:return_lse is deprecated")
@pytest.mark.parametrize(("score_mod", "mask_mod", "options"), FLEX)
def test_flex_attention_with_changed_scores(score_mod, mask_mod, options):
    q, k, v = (x.detach() for x in inputs()[0])  # on a CPU it has no backward pass
    block_mask = mask_mod and create_block_mask(mask_mod, None, None, N_Q, N_K, device="cpu")
    peer = flex_attention(
        q, k, v, score_mod=score_mod, block_mask=block_mask, enable_gqa=True, return_lse=True
    )
    for impl in IMPLS if "softcap" not in options else ("dense", "tiled"):
        actual = flash_attention_with_lse(q, k, v, **options, impl=impl)
        torch.testing.assert_close(actual, peer, rtol=1e-6, atol=1e-6)  # its lse is in float32


@pytest.mark.parametrize("kind", ["alibi", "table", "padding"])
def test_sdpa_with_a_bias(kind):
    leaves, do = inputs()
    if kind == "alibi":
        rule = dict(bias=Alibi(SLOPES))
        t, j = torch.arange(N_Q)[:, None] + N_K - N_Q, torch.arange(N_K)
        added = -SLOPES[:, None, None] * (t - j).abs()
    else:
        learned = TABLE.clone() if kind == "table" else torch.randn(2, 1, 1, N_K).double()
        leaves.append(learned.requires_grad_())
        added = learned[:, distances] if kind == "table" else learned
        rule = dict(bias=added)
        if kind == "padding":
            added = added.expand(-1, -1, N_Q, N_K)
    peer = torch.nn.functional.scaled_dot_product_attention(
        *leaves[:3], attn_mask=added, enable_gqa=True
    )
    assert_same_with_gradients(peer, leaves, do, rule, torch.ones(1))


def causal_and(bias=0.0):
    return bias + torch.from_numpy(to_additive(causal_mask(N_Q, N_K), "float64"))


def test_gemma2_with_a_softcap():
    gemma2 = pytest.importorskip("transformers.models.gemma2.modeling_gemma2")
    leaves, do = inputs(torch.float32)  # its softmax is in float32, whatever the inputs' dtype
    module = types.SimpleNamespace(num_key_value_groups=3, training=False)
    peer, _ = gemma2.eager_attention_forward(
        module, *leaves, causal_and().float(), scaling=2.0, softcap=1.5
    )
    peer = peer.transpose(1, 2)
    right = peer, *torch.autograd.grad(peer, leaves, do)
    for impl in ("dense", "tiled"):
        o = flash_attention(*leaves, causal=True, scale=2.0, softcap=1.5, impl=impl)
        actual = o, *torch.autograd.grad(o, leaves, do)
        torch.testing.assert_close(actual, right, rtol=1e-4, atol=1e-5)


def test_gpt_oss_with_learned_sinks():
    gpt_oss = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss")
    leaves, do = inputs()
    sinks = torch.tensor([0.5, -1.0, 3.0, 0.0, 2.0, -4.0]).double().requires_grad_()
    leaves = [*leaves, sinks]
    module = types.SimpleNamespace(num_key_value_groups=3, training=False, sinks=sinks)
    peer, _ = gpt_oss.eager_attention_forward(module, *leaves[:3], causal_and(), scaling=0.7)
    rule = dict(causal=True, scale=0.7, sink_logits=sinks)
    assert_same_with_gradients(
        peer.transpose(1, 2), leaves, do, rule, torch.ones(1), ("dense", "tiled")
    )
