"""The layer in special cases: empty tensors, strides, fully masked rows, NaN, bad input."""

import numpy as np
import pytest
import torch

from attention_src.attention import reference
from attention_src.attention.layer import (
    attention,
    attention_lse,
    attention_scores,
    attention_weights,
)
from attention_src.testing import make_qkv

IMPLS = ("dense", "sdpa")


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("empty", ["n_k", "n_q", "B", "d_v"])
def test_empty(impl, empty):
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
        for x in make_qkv(3, 5, 2, 3, n_heads=2, n_kv_heads=1, batch=1, dtype=torch.float64)
    )
    mask = np.random.default_rng(0).random((3, 5)) < 0.6
    mask[1] = False
    for options in (dict(), dict(causal=True), dict(mask=mask)):
        assert torch.autograd.gradcheck(lambda *x: attention(*x, impl=impl, **options), (q, k, v))  # noqa: B023
    if impl == "dense":
        assert torch.autograd.gradgradcheck(
            lambda *x: attention(*x, mask=mask, impl=impl), (q, k, v)
        )


@pytest.mark.parametrize("causal", [False, True])
def test_scores_are_scaled_products_or_minus_infinity(causal):
    q, k, _ = make_qkv(3, 5, n_heads=4, n_kv_heads=2, dtype=torch.float64)
    mask = np.random.default_rng(0).random((3, 5)) < 0.6
    s = attention_scores(q, k, mask=mask, causal=causal, scale=0.3)
    for h, i, j in np.ndindex(4, 3, 5):
        visible = mask[i, j] and (not causal or j <= i + 2)  # query i is at position i + 5 - 3
        expected = 0.3 * q[:, h, i].mul(k[:, h // 2, j]).sum(-1) if visible else -torch.inf
        torch.testing.assert_close(s[:, h, i, j], torch.as_tensor(expected).expand(len(q)).double())
    assert attention_scores(q.half(), k.half()).dtype == torch.float32


def test_the_gradient_of_lse_is_0_in_a_fully_masked_row():
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
    empty = attention_lse(q, k[:, :, :0])
    assert empty.shape == (2, 3, 3) and (empty == -torch.inf).all()


def test_sdpa_never_receives_a_fully_masked_row(monkeypatch):
    # What it would return for one differs between backends and versions.
    calls = []

    def fused(q, k, v, *, attn_mask, **options):
        calls.append(attn_mask.any(dim=-1).all().item())
        return q.new_ones(*q.shape[:-1], v.shape[-1])

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", fused)
    o = attention(*make_qkv(7, 3, dtype=torch.float32), causal=True, impl="sdpa")
    assert calls == [True]
    assert (o[..., :4, :] == 0).all() and (o[..., 4:, :] == 1).all()
    for empty in (dict(n_q=0, n_k=3), dict(n_q=3, n_k=0), dict(n_q=3, batch=0)):
        attention(*make_qkv(**empty, dtype=torch.float32), impl="sdpa")
    assert len(calls) == 1, "nor an empty tensor"


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("function", ["dense", "sdpa", "weights", "lse"])
def test_no_step_of_the_backward_pass_makes_a_nan(function):
    q, k, v = (x.requires_grad_() for x in make_qkv(5, 3, dtype=torch.float32))
    with torch.autograd.detect_anomaly(check_nan=True):  # raises at any NaN, even if masked later
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


def rows_without_a_score(n_q, n_k, dtype):
    """q, k, v of which some rows' visible scores are all NaN or −inf, for many reasons."""
    nan, inf = torch.nan, torch.inf
    huge = 1e30  # squared, it is no float32
    opposite = torch.tensor([inf, inf, -inf, 1])
    for name, change in dict(
        keys=lambda q, k: k.fill_(nan),
        one_number=lambda q, k: k[..., 1].fill_(nan),
        first_key=lambda q, k: k[:, :, 0].fill_(nan),
        most_keys=lambda q, k: k[:, :, : n_k // 2 + 1].fill_(nan),
        last_query=lambda q, k: q[:, :, -1, 2].fill_(nan),
        infinite=lambda q, k: (q.copy_(opposite.expand_as(q)), k.fill_(1)),
        too_large=lambda q, k: (q.fill_(huge), k.copy_(opposite.clamp(-huge, huge).expand_as(k))),
        too_low=lambda q, k: (q.fill_(inf), k.fill_(-1)),
        one_head=lambda q, k: k[0, 0].fill_(nan),
    ).items():
        q, k, v = make_qkv(n_q, n_k, 4, 4, n_heads=4, n_kv_heads=2, batch=2, dtype=dtype)
        change(q, k)
        yield name, q, k, v


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("sizes", [(1, 1), (3, 3), (2, 5), (17, 17), (2, 513)], ids=str)
@pytest.mark.parametrize("impl", ["auto", "sdpa"])
def test_no_row_loses_its_nan(impl, sizes, dtype):
    # torch's function on a CPU takes a row without a score above −inf for a fully masked one.
    padding = torch.arange(sizes[1]) < sizes[1] // 2 + 1
    for name, q, k, v in rows_without_a_score(*sizes, dtype):
        for options in ({}, dict(causal=True), dict(mask=padding), dict(bias=torch.zeros(1, 1))):
            if "bias" in options:
                options["bias"] = options["bias"].to(dtype)
            o, right = (attention(q, k, v, impl=x, **options) for x in (impl, "dense"))
            tolerance = dict(atol=0.02 if dtype == torch.bfloat16 else 1e-5)
            same = torch.isclose(o, right, equal_nan=True, **tolerance)
            assert same.all(), (name, options)


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
    (lambda: attention(Q, K, V, mask=np.ones((2, 7), bool)), r"mask\[:, None, None\]"),
    (lambda: attention(Q, K, V, mask=np.ones((1, 2, 6, 5, 7), bool)), "mask has shape"),
    (lambda: attention(Q, K, V, scale=float("inf")), "scale is inf"),
    (lambda: attention_lse(Q, K.long()), "k has dtype torch.int64"),
    (lambda: attention_weights(Q, K[0]), "k has shape"),
    (lambda: attention_scores(Q, K.double()), "k is torch.float64"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
