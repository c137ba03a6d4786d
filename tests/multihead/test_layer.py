"""The module against torch's own with copied weights, and against the NumPy reference."""

import numpy as np
import pytest
import torch

from attention_src.attention.masks import causal_mask, padding_mask
from attention_src.kvcache.cache import KVCache
from attention_src.multihead.layer import MultiHeadAttention
from attention_src.multihead.reference import multihead_attention

IMPLS = ("auto", "dense", "sdpa")  # those that take a mask; the others are below


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def parameters_of(theirs):
    """The parameters of a torch.nn.MultiheadAttention, by our names."""
    found = dict(zip("qkv", theirs.in_proj_weight.chunk(3), strict=True), o=theirs.out_proj.weight)
    parameters = {f"{name}_proj.weight": weight for name, weight in found.items()}
    if theirs.in_proj_bias is not None:
        found = dict(zip("qkv", theirs.in_proj_bias.chunk(3), strict=True), o=theirs.out_proj.bias)
        parameters |= {f"{name}_proj.bias": bias for name, bias in found.items()}
    return parameters


@pytest.mark.parametrize(("impl", "bias"), [("auto", True), ("dense", False), ("sdpa", True)])
def test_agrees_with_torchs_module(impl, bias):
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(12, 3, bias=bias, batch_first=True).double()
    if bias:
        with torch.no_grad():  # they are initialised to 0, which would hide a missing one
            theirs.in_proj_bias.normal_()
            theirs.out_proj.bias.normal_()
    ours = MultiHeadAttention(12, 3, bias=bias, impl=impl).double()
    ours.load_state_dict(parameters_of(theirs))
    x, context = random(2, 5, 12), random(2, 7, 12, seed=1)
    padding = torch.from_numpy(padding_mask([7, 3], 7))
    cases = [
        ((x, None), dict(), dict()),
        ((x, None), dict(causal=True), dict(attn_mask=~torch.from_numpy(causal_mask(5)))),
        ((x, context), dict(), dict()),
        ((x, context), dict(mask=padding), dict(key_padding_mask=~padding[:, 0, 0])),
    ]
    for (a, b), options, their_options in cases:
        pairs = []
        for module in (ours, theirs):
            leaves = [leaf.clone().requires_grad_() for leaf in ((a,) if b is None else (a, b))]
            c = leaves[-1]
            if module is ours:
                y = ours(*leaves, **options)
            else:
                y = theirs(leaves[0], c, c, need_weights=False, **their_options)[0]
            gradients = torch.autograd.grad((y * random(2, 5, 12, seed=2)).sum(), leaves)
            pairs.append((y, *gradients))
        for actual, expected in zip(*pairs, strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(3, 3), (6, 2), (5, 1)])
def test_agrees_with_the_reference(impl, n_heads, n_kv_heads):
    torch.manual_seed(0)
    module = MultiHeadAttention(7, n_heads, n_kv_heads=n_kv_heads, d_k=3, d_v=2, impl=impl).double()
    assert module.q_proj.weight.shape == (n_heads * 3, 7)
    assert module.k_proj.weight.shape == (n_kv_heads * 3, 7)
    assert module.v_proj.weight.shape == (n_kv_heads * 2, 7)
    assert module.o_proj.weight.shape == (7, n_heads * 2)
    projections = (module.q_proj, module.k_proj, module.v_proj, module.o_proj)
    weights = [p.weight.detach().numpy().T for p in projections]
    x, context = random(2, 5, 7), random(2, 11, 7, seed=1)
    mask = np.random.default_rng(0).random((2, 1, 5, 11)) < 0.5
    mask[1, 0, 2] = False  # a fully masked row
    for options in (dict(), dict(mask=mask), dict(mask=mask, causal=True)):
        heads = dict(n_heads=n_heads, n_kv_heads=n_kv_heads)
        expected = multihead_attention(
            x.numpy(), *weights, context=context.numpy(), **heads, **options
        )
        actual = module(x, context, **options).detach()
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-13)
    assert (module(x, context, mask=mask)[1, 2] == 0).all()


def test_defaults_and_parameters():
    module = MultiHeadAttention(512, 8)
    assert (module.d_k, module.d_v, module.n_kv_heads) == (64, 64, 8)
    assert sum(p.numel() for p in module.parameters()) == 4 * 512 * 512
    assert sum(p.numel() for p in MultiHeadAttention(512, 8, bias=True).parameters()) == (
        4 * 512 * 512 + 4 * 512
    )
    assert MultiHeadAttention(8, 2, d_k=5).d_v == 5


def test_a_rotation_needs_one_sequence(untyped):
    with pytest.raises(ValueError, match="context is given, but rope is about"):
        MultiHeadAttention(8, 2, rope=True)(X, X)


@pytest.mark.parametrize("impl", ["tiled", "triton"])
def test_flash_implementations_agree(impl):
    torch.manual_seed(0)
    module = MultiHeadAttention(64, 4, n_kv_heads=2, rope=True)
    x = torch.randn(1, 7, 64, requires_grad=True)
    results = []
    for module.impl in ("dense", impl):
        y = module(x, causal=True)
        leaves = (x, *module.parameters())
        results.append((y, *torch.autograd.grad((y * y.detach().cos()).sum(), leaves)))
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=f"mask is given, but impl is '{impl}'"):
        module(x, mask=torch.ones(7, 7) > 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtypes(dtype):
    module = MultiHeadAttention(8, 2).to(dtype)
    assert module(torch.ones(2, 3, 8, dtype=dtype)).dtype == dtype


def test_empty_context_and_sequence():
    module = MultiHeadAttention(8, 2)
    assert (module(torch.ones(2, 3, 8), torch.ones(2, 0, 8)) == 0).all()
    assert module(torch.ones(2, 0, 8)).shape == (2, 0, 8)


BAD_SIZES = [
    (dict(d_model=7, n_heads=2), "n_heads is 2, which does not divide d_model=7"),
    (dict(d_model=0, n_heads=2), "d_model is 0; it should be at least 1"),
    (dict(d_model=8, n_heads=0), "n_heads is 0"),
    (dict(d_model=8, n_heads=2.0), "n_heads is 2.0; it should be a whole number"),
    (dict(d_model=8, n_heads=4, n_kv_heads=3), "H_kv=3 heads, which does not divide"),
    (dict(d_model=8, n_heads=4, n_kv_heads=0), "n_kv_heads is 0"),
    (dict(d_model=8, n_heads=2, d_k=0), "d_k is 0"),
    (dict(d_model=8, n_heads=2, d_v=-1), "d_v is -1"),
    (dict(d_model=8, n_heads=2, impl="cuda"), "impl is 'cuda'.*'auto', 'dense', 'sdpa'"),
    (dict(d_model=8, n_heads=2, rope="yes"), "rope is 'yes'; it should be True, False or a Rotary"),
    (dict(d_model=8, n_heads=2, d_k=3, rope=True), "d_k is 3, but rope turns pairs"),
]


@pytest.mark.parametrize(("sizes", "message"), BAD_SIZES)
def test_bad_sizes(untyped, sizes, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**sizes)


X = torch.ones(2, 3, 8)
BAD = [
    ((torch.ones(3, 8),), {}, r"x has shape \[3, 8\]; it should be \[B, n, d_model=8\]"),
    ((torch.ones(2, 3, 7),), {}, r"x has shape \[2, 3, 7\]"),
    ((X, torch.ones(2, 3, 7)), {}, r"context has shape \[2, 3, 7\]"),
    ((X, torch.ones(1, 3, 8)), {}, "k has B=1 but q has B=2"),
    ((X.long(),), {}, r"x is torch.int64; .*torch.float32"),
    ((X.double(),), {}, r"x is torch.float64"),
    ((X.numpy(),), {}, "x is ndarray"),
    ((X,), dict(mask=torch.zeros(3, 3)), "mask has dtype torch.float32.*Pass mask == 0"),
    ((X,), dict(mask=torch.ones(2, 1, 3, 4) > 0), "mask has shape"),
    ((X,), dict(cache=object(), causal=True), r"cache is a object; .*attention_src\.kvcache"),
    ((X,), dict(cache=KVCache()), "causal is False, but x has 3 tokens"),
    ((X, X), dict(cache=KVCache(), causal=True), "context is given, but cache is about"),
    ((X,), dict(positions=[0, 1, 2]), "positions is given, but .* rope=False"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), BAD)
def test_bad_input(untyped, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(8, 2)(*arguments, **options)
