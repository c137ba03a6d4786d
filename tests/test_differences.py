"""One test for each paragraph of "Where papers and libraries differ" in book/notation.md.

What is done to scores is in test_differences_scores.py.
"""

import math
import re
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attention_src.attention import layer, masks, reference
from attention_src.costs import kv_cache_bytes
from attention_src.flash import layer as flash_layer
from attention_src.flash.reference import flash_attention
from attention_src.rope.reference import frequencies, half_split_order, rotate
from attention_src.scores.reference import bilinear, dot
from attention_src.testing import make_qkv

HERE = Path(__file__).parent
NOTATION = (HERE.parent / "book" / "notation.md").read_text(encoding="utf-8")
THIS = "test_every_difference_has_its_test_and_every_test_its_difference"
CLOSE = dict(rtol=1e-12, atol=1e-12)


def qkv(*sizes, **options):
    return make_qkv(*sizes, dtype=torch.float64, **options)


def rule(mask_function, n_q, n_k):
    """A rule of FlexAttention or transformers, of (batch, head, query, key), as a mask."""
    i, j = torch.arange(n_q)[:, None], torch.arange(n_k)
    return mask_function(0, 0, i, j).numpy()


def test_every_difference_has_its_test_and_every_test_its_difference():
    section = NOTATION.split("(notation-papers)=")[1].split("\n(notation-")[0]
    paragraphs = [p for p in section.split("\n\n") if p.startswith("**")]
    named = [re.fullmatch(r"\*\*.+\?\*\* .+\\\n`(test_\w+)`\s*", p) for p in paragraphs]
    assert all(named), "a difference without a test"
    texts = (path.read_text(encoding="utf-8") for path in HERE.glob("test_differences*.py"))
    tests = [name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.M)]
    assert sorted(match[1] for match in named) == sorted(set(tests) - {THIS})  # about the page


def test_causal_alignment():
    q, k, v = qkv(3, 5)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    ours = layer.attention(q, k, v, causal=True)
    top_left = layer.attention(q, k, v, mask=np.tri(3, 5, dtype=bool))
    torch.testing.assert_close(theirs, top_left)
    assert not torch.allclose(theirs, ours)
    q = qkv(5)[0]
    square = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(square, layer.attention(q, k, v, causal=True))


def test_flexattention_is_top_left():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = qkv(3, 5)
    offsets = {0: np.tri(3, 5, dtype=bool), 5 - 3: masks.causal_mask(3, 5)}
    for offset, visible in offsets.items():
        rule = create_block_mask(lambda b, h, i, j, m=offset: i + m >= j, 1, 1, 3, 5, "cpu")
        with warnings.catch_warnings(action="ignore"):  # it is not compiled
            theirs = flex_attention(q, k, v, block_mask=rule)
        torch.testing.assert_close(theirs, layer.attention(q, k, v, mask=visible))


def test_what_a_window_counts():
    from transformers import masking_utils
    from transformers.modeling_flash_attention_utils import _process_flash_attention_kwargs

    window = rule(masking_utils.sliding_window_causal_mask_function(3), 7, 7)
    assert np.array_equal(window, masks.window_mask(7, 7, 3))
    two_sided = rule(masking_utils.sliding_window_bidirectional_mask_function(3), 7, 7)
    assert np.array_equal(np.tril(two_sided), masks.window_mask(7, 7, 3 + 1))
    # attention-gym's rule, and FlashAttention's with (3, 0).
    before = rule(lambda b, h, i, j: (i - j <= 3) & (i >= j), 7, 7)
    assert np.array_equal(before, masks.window_mask(7, 7, 3 + 1))
    takes = defaultdict(bool, window_size=True)
    given = _process_flash_attention_kwargs(7, 7, True, sliding_window=3, supports_mapping=takes)
    assert given["window_size"][0] == 3 - 1


def test_whether_a_window_is_causal():
    from transformers import masking_utils

    assert not np.triu(masks.window_mask(7, 7, 3), 1).any()
    two_sided = rule(masking_utils.sliding_window_bidirectional_mask_function(2), 7, 7)
    assert np.array_equal(two_sided, two_sided.T)
    assert np.array_equal(two_sided & masks.causal_mask(7), masks.window_mask(7, 7, 3))


def test_whose_last_key_causal_ends_at():
    q, k, v = qkv(3, 7)
    lengths = [7, 5]
    o = flash_layer.flash_attention(q, k, v, causal=True, key_lengths=lengths, impl="tiled")
    for b, n in enumerate(lengths):
        alone = (x[b].numpy() for x in (q, k[:, :, :n], v[:, :, :n]))
        np.testing.assert_allclose(o[b], reference.attention(*alone, causal=True), **CLOSE)
    padded = masks.causal_mask(3, 7) & masks.padding_mask(lengths, 7)
    later = layer.attention(q, k, v, mask=padded)
    assert torch.allclose(later[0], o[0]) and not torch.allclose(later[1], o[1])


def test_what_true_means():
    from transformers import T5Config, T5EncoderModel

    mask = np.tri(3, dtype=bool)
    q, k, v = qkv(3)
    theirs = F.scaled_dot_product_attention(q, k, v, torch.from_numpy(mask))
    torch.testing.assert_close(theirs, layer.attention(q, k, v, mask=mask))
    heads, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 3, 8)
    hidden = torch.tensor([False, False, True])
    for options in (dict(attn_mask=hidden.repeat(3, 1)), dict(key_padding_mask=hidden[None])):
        p = heads(x, x, x, **options)[1]
        assert torch.equal(p == 0, hidden.expand(1, 3, 3))
    sizes = dict(vocab_size=5, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    model = T5EncoderModel(T5Config(**sizes)).eval()
    for last, same in ((0, True), (1, False)):
        keep = torch.tensor([[1, 1, last]])
        a, b = (model(torch.tensor([[1, 2, x]]), attention_mask=keep)[0] for x in (3, 4))
        assert torch.equal(a[:, :2], b[:, :2]) == same


def test_an_empty_row():
    q, k, v = qkv(3, 5)
    nothing = torch.zeros(3, 5, dtype=torch.bool)
    assert (layer.attention(q, k, v, mask=nothing) == 0).all()
    assert (F.scaled_dot_product_attention(q, k, v, nothing) == 0).all()
    x = torch.randn(1, 3, 8)
    heads = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    for weights in (True, False):  # here True = hidden
        hide_all = dict(attn_mask=torch.ones(3, 3, dtype=torch.bool), need_weights=weights)
        assert (heads(x, x, x, **hide_all)[0].isnan() == weights).all()
    s = layer.attention_scores(q, k)
    assert s.masked_fill(~nothing, -torch.inf).softmax(dim=-1).isnan().all()
    filled = s.masked_fill(~nothing, -1e6).softmax(dim=-1) @ v
    torch.testing.assert_close(filled, v.mean(dim=-2, keepdim=True).expand(filled.shape))


def test_which_axis_is_the_head():
    x = qkv(3, n_heads=3)  # H = n
    right = layer.attention(*x)
    wrong = layer.attention(*(t.transpose(1, 2) for t in x)).transpose(1, 2)
    assert right.shape == wrong.shape and not torch.allclose(right, wrong)


def test_groups():
    H, H_kv = 8, 2
    full, grouped = (kv_cache_bytes(1, heads, 16, 16, 7) for heads in (H, H_kv))
    assert full / grouped == H / H_kv != H_kv


def test_which_query_heads_share():
    from transformers.models.llama.modeling_llama import repeat_kv

    q, k, v = qkv(5, 7, n_heads=6, n_kv_heads=2)
    G, H_kv = 3, 2
    ours = layer.attention(q, k, v, impl="dense")
    theirs = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(theirs, ours)
    torch.testing.assert_close(layer.attention(q, repeat_kv(k, G), repeat_kv(v, G)), ours)
    # x-transformers: "b kvh n d -> b (r kvh) n d"
    k_all, v_all = (x.repeat(1, G, 1, 1) for x in (k, v))
    other = layer.attention(q, k_all, v_all)
    assert not torch.allclose(other, ours)
    order = [r * H_kv + a for a in range(H_kv) for r in range(G)]
    torch.testing.assert_close(layer.attention(q[:, order], k, v), other[:, order])


def test_widths():
    q, k = np.ones((2, 3)), np.ones((5, 4))
    assert bilinear(q, k, np.ones((3, 4))).shape == (2, 5)
    with pytest.raises(ValueError, match="k has d_k=4 but q has d_k=3"):
        dot(q, k)


def test_rotary_pairs():
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    d, positions = 8, np.arange(5)
    q, k = (np.random.default_rng(seed).normal(size=(5, d)) for seed in (0, 1))
    angles = positions[:, None] * frequencies(d)
    turned = (q[:, 0::2] + 1j * q[:, 1::2]) * np.exp(1j * angles)
    paper = np.stack([turned.real, turned.imag], axis=-1).reshape(5, d)
    np.testing.assert_allclose(rotate(q, positions, interleaved=True), paper, **CLOSE)
    cos_sin = (torch.from_numpy(np.tile(f(angles), 2))[None] for f in (np.cos, np.sin))
    x = torch.from_numpy(q)[None, None]
    llama = apply_rotary_pos_emb(x, x, *cos_sin)[0][0, 0].numpy()
    np.testing.assert_allclose(rotate(q, positions), llama, **CLOSE)
    order = half_split_order(d)
    np.testing.assert_allclose(rotate(q[:, order], positions), paper[:, order], **CLOSE)
    keys = (rotate(k, positions, interleaved=way) for way in (True, False))
    mixed, right = (rotate(q, positions) @ x.T for x in keys)
    assert not np.allclose(mixed, right)


def test_letters_of_flashattention():
    q, k, v = make_qkv(5, 7)
    o, lse = flash_attention(q, k, v)
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    np.testing.assert_allclose(np.exp(lse), np.exp(s).sum(axis=-1), **CLOSE)  # the first paper's L
    lse_log2 = np.log2(np.exp2(s * math.log2(math.e)).sum(axis=-1))
    np.testing.assert_allclose(lse_log2, lse / math.log(2), **CLOSE)
    do = np.random.default_rng(1).normal(size=o.shape)
    p, dp = reference.attention_weights(q, k), do @ v.swapaxes(-1, -2)
    np.testing.assert_allclose((o * do).sum(axis=-1), (p * dp).sum(axis=-1), **CLOSE)


def test_which_side_the_input_is_on():
    linear = torch.nn.Linear(3, 5, bias=False)
    x = torch.randn(2, 3)
    assert linear.weight.shape == (5, 3)
    torch.testing.assert_close(linear(x), x @ linear.weight.T)
