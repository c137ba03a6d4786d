"""The three gates for the dense and the fused layer: forward and all gradients, awkward sizes.

The oracle is attention.reference in float64, on the very numbers that the layer was given. Plain is
the equation in the input's own dtype, rounded after every step.
"""

import itertools

import numpy as np
import pytest
import torch

from attention_src.attention import reference
from attention_src.attention.layer import attention, attention_lse, attention_weights
from attention_src.attention.masks import (
    causal_mask,
    document_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)
from attention_src.testing import assert_sharp, assert_within_budget, make_qkv, probe_mask

IMPLS = ("dense", "sdpa")
SHARP = {torch.float32: 1e-5, torch.float64: 1e-13}
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# n_q, n_k, d_k, d_v, H, H_kv: distinct primes, one position, one beside a block, grouped heads.
SIZES = [
    (5, 7, 11, 13, 3, 3),
    (7, 5, 13, 11, 6, 2),
    (1, 1, 3, 2, 2, 2),
    (1, 37, 17, 19, 5, 1),
    (37, 1, 2, 3, 2, 1),
    (63, 65, 8, 8, 4, 2),
    (17, 129, 64, 64, 2, 2),
]


def rules(n_q, n_k):
    """Masks and causal: none, causal, both, a mask per sequence, rows without a key."""
    rng = np.random.default_rng(n_q * 1009 + n_k)
    some = rng.random((2, 1, n_q, n_k)) < 0.5
    some[0, 0, 0] = False  # a fully masked row
    return [
        dict(),
        dict(causal=True),
        dict(mask=some),
        dict(mask=torch.from_numpy(some), causal=True),
        dict(mask=padding_mask([n_k, n_k // 2], n_k), scale=0.3),
        dict(mask=np.zeros((n_q, n_k), dtype=bool)),
    ]


def repeat_heads(q, *others):
    """Float64 copies of k and v with one head for each head of q."""
    return [np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in others]


def exact(q, k, v, do, **options):
    """o, dq, dk, dv in float64 from the oracle; grouped heads are summed back."""
    q64, k64, v64, do64 = (x.detach().double().numpy() for x in (q, k, v, do))
    K, V = repeat_heads(q64, k64, v64)
    if isinstance(options.get("mask"), torch.Tensor):
        options["mask"] = options["mask"].numpy()
    o = reference.attention(q64, K, V, **options)
    dq, dk, dv = reference.attention_backward(q64, K, V, do64, **options)
    group = q.shape[1] // k.shape[1]
    dk, dv = (g.reshape(g.shape[0], -1, group, *g.shape[2:]).sum(axis=2) for g in (dk, dv))
    return o, dq, dk, dv


def plain(q, k, v, mask=None, causal=False, scale=None):
    """The equation in the inputs' own dtype, rounded after every step."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    visible = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if mask is not None:
        visible = visible & torch.as_tensor(mask)
    if causal:
        visible = visible & torch.from_numpy(causal_mask(q.shape[-2], k.shape[-2]))
    s = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    dead = ~visible.any(dim=-1, keepdim=True)
    s = s.masked_fill(~(visible | dead), -torch.inf)
    return (s.softmax(dim=-1) @ v).masked_fill(dead, 0)


def results(function, q, k, v, do, **options):
    """o, dq, dk, dv of a function of tensors, by autograd."""
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    o = function(*leaves, **options)
    o.backward(do)
    return [o.detach(), *(leaf.grad for leaf in leaves)]


def inputs(size, dtype, scale_of_q=1.0, seed=0):
    n_q, n_k, d_k, d_v, n_heads, n_kv_heads = size
    heads = dict(n_heads=n_heads, n_kv_heads=n_kv_heads)
    q, k, v = make_qkv(n_q, n_k, d_k, d_v, **heads, dtype=dtype, size=scale_of_q, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    return q, k, v, torch.randn(2, n_heads, n_q, d_v, generator=generator).to(dtype)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(impl, dtype, size):
    arguments = inputs(size, dtype)
    for options in rules(*size[:2]):
        actual = results(attention, *arguments, impl=impl, **options)
        right = exact(*arguments, **options)
        rounded = results(plain, *arguments, **options)
        for name, a, e, p in zip(("o", "dq", "dk", "dv"), actual, right, rounded, strict=True):
            assert a.dtype == dtype
            if dtype in SHARP:
                assert_sharp(a, e, rtol=SHARP[dtype], name=name)
            # Torch's fused function on a CPU has a fast exponential, good to 20 units in the last
            # place, so in float32 it is held to the sharp gate. Float64 is the oracle's own dtype.
            if dtype in (torch.float16, torch.bfloat16) or (impl, dtype) == (
                "dense",
                torch.float32,
            ):
                assert_within_budget(a, e, p, name=name)


@pytest.mark.parametrize("impl", IMPLS)
def test_logits_of_1e4(impl):
    arguments = inputs((5, 41, 7, 3, 4, 2), torch.float32, scale_of_q=1e4)
    scores = arguments[0] @ arguments[1].repeat_interleave(2, dim=1).mT / 7**0.5
    assert scores.abs().max() > 1e4
    for options in (dict(), dict(causal=True)):
        actual = results(attention, *arguments, impl=impl, **options)
        right = exact(*arguments, **options)
        rounded = results(plain, *arguments, **options)
        for name, a, e, p in zip(("o", "dq", "dk", "dv"), actual, right, rounded, strict=True):
            assert_within_budget(a, e, p, name=name)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_exact_logits_of_1e4_in_half_precision(impl, dtype):
    # Scores of exactly ±16384: every product is a power of two, so the answer is exact.
    q = torch.full((1, 1, 2, 1), 128.0, dtype=dtype)
    k = torch.tensor([128.0, -128.0, 128.0], dtype=dtype).reshape(1, 1, 3, 1)
    v = torch.tensor([1.0, 7.0, 3.0], dtype=dtype).reshape(1, 1, 3, 1)
    o, *gradients = results(
        lambda *x: attention(*x, scale=1.0, impl=impl), q, k, v, torch.ones_like(q)
    )
    assert o.flatten().tolist() == [2.0, 2.0]
    assert gradients[2].flatten().tolist() == [1.0, 0.0, 1.0]
    assert all(g.isfinite().all() for g in gradients)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("n_q", "n_k"), [(7, 7), (5, 11), (11, 5), (1, 13), (63, 65), (2, 130)])
def test_probe(impl, dtype, n_q, n_k):
    def probe(visible, **options):
        probe_mask(lambda q, k, v: attention(q, k, v, impl=impl, **options), visible, dtype=dtype)

    probe(np.ones((n_q, n_k), dtype=bool))
    probe(causal_mask(n_q, n_k), causal=True)
    probe(window_mask(n_q, n_k, 3, 1), mask=window_mask(n_q, n_k, 3, 1))
    probe(np.zeros((n_q, n_k), dtype=bool), mask=np.zeros((1, 1, 1, n_k), dtype=bool))
    if n_q == n_k:
        ids = np.arange(n_k) // 3
        probe(document_mask(ids) & causal_mask(n_k), mask=document_mask(ids), causal=True)
        probe(prefix_mask(n_k, 4), mask=torch.from_numpy(prefix_mask(n_k, 4)))


@pytest.mark.parametrize("impl", IMPLS)
def test_mask_shapes_broadcast(impl):
    q, k, v = make_qkv(5, 7, n_heads=4, n_kv_heads=2, dtype=torch.float64)
    K, V = repeat_heads(q, k.numpy(), v.numpy())
    rng = np.random.default_rng(0)
    for shape in itertools.product((1, 2), (1, 4), (1, 5), (1, 7)):
        for cut in range(4):
            mask = rng.random(shape)[(0,) * cut] < 0.7
            expected = reference.attention(q.numpy(), K, V, mask=mask)
            actual = attention(q, k, v, mask=mask, impl=impl)
            np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("empty", ["n_k", "n_q", "B", "d_v"])
def test_nothing_to_do(impl, empty):
    size = dict(n_q=5, n_k=7, d_k=3, d_v=2, batch=2) | {dict(B="batch").get(empty, empty): 0}
    q, k, v = (x.requires_grad_() for x in make_qkv(**size, dtype=torch.float32))
    for options in (dict(), dict(causal=True), dict(mask=np.ones((1, size["n_k"]), dtype=bool))):
        o = attention(q, k, v, impl=impl, **options)
        assert o.shape == (size["batch"], 3, size["n_q"], size["d_v"])
        assert (o == 0).all()
        for gradient in torch.autograd.grad(o.sum(), (q, k, v)):
            assert (gradient == 0).all()


@pytest.mark.parametrize("impl", IMPLS)
def test_strides_do_not_matter(impl):
    q, k, v = make_qkv(11, 13, 5, 7, dtype=torch.float32)
    # As a projection leaves them, [B, n, H, d] seen as [B, H, n, d]; every other number; expanded.
    views = [
        (q.transpose(1, 2).contiguous().transpose(1, 2), k, v),
        (q, torch.stack([k, k * torch.nan], dim=-1)[..., 0], v),
        (q, k, v.flip(-2).contiguous().flip(-2)),
        (q.mT.contiguous().mT, k.mT.contiguous().mT, v.mT.contiguous().mT),
    ]
    assert not views[0][0].is_contiguous() and not views[1][1].is_contiguous()
    expected = attention(q, k, v, causal=True, impl=impl)
    for view in views:
        torch.testing.assert_close(attention(*view, causal=True, impl=impl), expected)
    shared = attention(q, k[:, :1].expand(-1, 3, -1, -1), v, impl=impl)
    torch.testing.assert_close(shared, attention(q, k[:, :1].repeat(1, 3, 1, 1), v, impl=impl))


@pytest.mark.parametrize("impl", IMPLS)
def test_gradcheck(impl):
    q, k, v = (
        x.requires_grad_()
        for x in make_qkv(3, 5, 2, 3, n_heads=4, n_kv_heads=2, batch=1, dtype=torch.float64)
    )
    mask = np.random.default_rng(0).random((3, 5)) < 0.6
    mask[1] = False
    for options in (dict(), dict(causal=True), dict(mask=mask)):
        assert torch.autograd.gradcheck(lambda *x: attention(*x, impl=impl, **options), (q, k, v))  # noqa: B023
    if impl == "dense":
        assert torch.autograd.gradgradcheck(
            lambda *x: attention(*x, mask=mask, impl=impl), (q, k, v)
        )


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_weights_and_lse(size):
    q, k, _, _ = inputs(size, torch.float64)
    (K,) = repeat_heads(q, k.numpy())
    for options in rules(*size[:2]):
        lse, p = attention_lse(q, k, **options), attention_weights(q, k, **options)
        options = {name: np.asarray(x) if name == "mask" else x for name, x in options.items()}
        expected = reference.attention_lse(q.numpy(), K, **options)
        np.testing.assert_allclose(lse, expected, rtol=1e-11, atol=1e-12)
        expected = reference.attention_weights(q.numpy(), K, **options)
        np.testing.assert_allclose(p, expected, rtol=1e-11, atol=1e-15)
    for dtype in (torch.float16, torch.bfloat16):
        assert attention_lse(q.to(dtype), k.to(dtype)).dtype == torch.float32


def test_lse_has_a_gradient_and_none_where_nothing_is_seen():
    q, k, _ = (x.requires_grad_() for x in make_qkv(3, 5, dtype=torch.float64))
    mask = torch.tensor([[True] * 5, [False] * 5, [True, False] * 2 + [True]])
    lse = attention_lse(q, k, mask=mask)
    lse[..., [0, 2]].sum().backward(retain_graph=True)
    # d lse / d s = p, so dq = scale * p k.
    p = reference.attention_weights(q.detach().numpy(), k.detach().numpy(), mask=mask.numpy())
    np.testing.assert_allclose(q.grad, 5**-0.5 * p @ k.detach().numpy(), rtol=1e-11, atol=1e-15)
    q.grad = None
    lse[..., 1].sum().backward()
    assert (q.grad == 0).all()
    nothing = attention_lse(q, k[:, :, :0])
    assert nothing.shape == (2, 3, 3) and (nothing == -torch.inf).all()


def test_no_backend_ever_meets_a_fully_masked_row(monkeypatch):
    # What it would make of one differs between backends and versions.
    seen = []

    def fused(q, k, v, *, attn_mask, **options):
        seen.append(attn_mask.any(dim=-1).all().item())
        return q.new_ones(*q.shape[:-1], v.shape[-1])

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", fused)
    o = attention(*make_qkv(7, 3, dtype=torch.float32), causal=True, impl="sdpa")
    assert seen == [True]
    assert (o[..., :4, :] == 0).all() and (o[..., 4:, :] == 1).all()
    for nothing in (dict(n_q=0, n_k=3), dict(n_q=3, n_k=0), dict(n_q=3, batch=0)):
        attention(*make_qkv(**nothing, dtype=torch.float32), impl="sdpa")
    assert len(seen) == 1, "nor an empty tensor"


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("function", ["dense", "sdpa", "weights", "lse"])
def test_no_step_of_the_backward_pass_makes_a_nan(function):
    q, k, v = (x.requires_grad_() for x in make_qkv(5, 3, dtype=torch.float32))
    with torch.autograd.detect_anomaly(
        check_nan=True
    ):  # raises at the first NaN, even a hidden one
        if function == "lse":
            lse = attention_lse(q, k, causal=True)
            lse.masked_fill(lse == -torch.inf, 0).sum().backward()
        elif function == "weights":
            attention_weights(q, k, causal=True).square().sum().backward()
        else:
            attention(q, k, v, causal=True, impl=function).square().sum().backward()
    assert (q.grad[..., :2, :] == 0).all() and (q.grad[..., 3:, :] != 0).all()


def test_auto_is_sdpa():
    arguments = make_qkv(37, 41, dtype=torch.float32)
    auto, sdpa = attention(*arguments), attention(*arguments, impl="sdpa")
    assert torch.equal(auto, sdpa)


def test_nan_keys_and_values_reach_every_row_that_sees_them():
    for impl in IMPLS:
        for n in (5, 41):
            for which in (1, 2):
                arguments = list(make_qkv(n, dtype=torch.float32))
                arguments[which][0, 1, 2, 0] = torch.nan
                o = attention(*arguments, impl=impl)
                assert o[0, 1].isnan().any(dim=-1).all()
                assert not o[1].isnan().any() and not o[0, 0].isnan().any()


Q, K, V = (torch.ones(2, 6, 5, 4), torch.ones(2, 3, 7, 4), torch.ones(2, 3, 7, 8))
BAD = [
    (lambda: attention(Q, K, V, impl="triton"), "impl is 'triton'.*'auto', 'dense', 'sdpa'"),
    (lambda: attention(Q[0], K, V), r"q has shape \[6, 5, 4\].*q\[None, None\]"),
    (lambda: attention(Q, K[..., :3], V), "k has d_k=3 but q has d_k=4"),
    (lambda: attention(Q, K, V[:, :, :5]), "v has n_k=5 but k has n_k=7"),
    (lambda: attention(Q, K[:1], V), "k has B=1 but q has B=2"),
    (lambda: attention(Q, K, V[:1]), "v has B=1 but q has B=2"),
    (lambda: attention(Q, K, V[:, :1]), "v has H_kv=1 heads but k has H_kv=3"),
    (lambda: attention(Q[:, :4], K, V), "k has H_kv=3 heads, which does not divide the H=4"),
    (lambda: attention(Q, K[:, :0], V[:, :0]), "k has H_kv=0 heads"),
    (lambda: attention(Q[..., :0], K[..., :0], V), "q has d_k=0"),
    (lambda: attention(Q.long(), K, V), r"q has dtype torch.int64; it should be floating point"),
    (lambda: attention(Q, K.half(), V), r"k is torch.float16.*k.to\(q\)"),
    (lambda: attention(Q, K, V.to("meta")), "v is torch.float32 on meta but q is"),
    (lambda: attention(Q.numpy(), K, V), "q is a ndarray; it should be a torch tensor"),
    (lambda: attention(Q, K, V, mask=torch.zeros(5, 7)), "mask has dtype torch.float32.*== 0"),
    (lambda: attention(Q, K, V, mask=np.ones((5, 7), int)), "mask has dtype torch.int64.*== 1"),
    (lambda: attention(Q, K, V, mask=np.ones((2, 7), bool)), r"mask\[:, None, None, :\]"),
    (lambda: attention(Q, K, V, mask=np.ones((1, 2, 6, 5, 7), bool)), "mask has shape"),
    (lambda: attention(Q, K, V, scale=float("inf")), "scale is inf"),
    (lambda: attention_lse(Q, K.long()), "k has dtype torch.int64"),
    (lambda: attention_weights(Q, K[0]), "k has shape"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
