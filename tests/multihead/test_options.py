"""Norms, partial rotation, biases, scale, windows, softcap, sinks and dropout of the module."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from attention_src.attention.masks import window_mask
from attention_src.kvcache.cache import KVCache, PagedKVCache, WindowedKVCache
from attention_src.multihead.layer import MultiHeadAttention, Rotary
from attention_src.multihead.reference import multihead_attention, rms_norm
from attention_src.rope.reference import rotate

EXACT = dict(rtol=1e-10, atol=1e-12)
N, D_MODEL, H, H_KV, D_K, D_V = 7, 11, 6, 2, 10, 3


def make(**options):
    torch.manual_seed(0)
    heads = dict(n_kv_heads=H_KV, d_k=D_K, d_v=D_V)
    module = MultiHeadAttention(D_MODEL, H, **(dict(impl="dense") | heads | options)).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 1 if parameter.ndim < 2 else parameter.shape[-1] ** -0.5)
    return module.eval()


def tokens(n=N, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, n, D_MODEL, dtype=torch.float64, generator=generator)


def by_hand(module, x, *, scale=D_K**-0.5, change=lambda s: s, rotated=lambda x: x):
    """The equation in float64, one head after the other, for a causal module without norms."""
    x = x.numpy()
    w = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    q, k, v = (x @ w[f"{name}_proj.weight"].T + w.get(f"{name}_proj.bias", 0) for name in "qkv")
    visible = window_mask(x.shape[1], None, module.window or x.shape[1], module.sinks)
    outputs = []
    for h in range(H):
        g = h // (H // H_KV)
        q_h, k_h = q[..., h * D_K : (h + 1) * D_K], k[..., g * D_K : (g + 1) * D_K]
        s = change(scale * rotated(q_h) @ rotated(k_h).swapaxes(1, 2))
        e = np.where(visible, np.exp(s), 0)
        sink = np.exp(w["sink_logits"][h]) if "sink_logits" in w else 0
        p = e / (e.sum(axis=-1, keepdims=True) + sink)
        outputs.append(p @ v[..., g * D_V : (g + 1) * D_V])
    return np.concatenate(outputs, axis=-1) @ w["o_proj.weight"].T + w.get("o_proj.bias", 0)


def close(actual, expected, **tolerance):
    np.testing.assert_allclose(actual.detach(), expected, **(EXACT | tolerance))


@pytest.mark.parametrize("bias", [False, True, "qkv", "o", "q"])
def test_biases(bias):
    module, x = make(bias=bias), tokens()
    letters = {True: "qkvo", False: ""}.get(bias, bias)
    names = {name for name in module.state_dict() if name.endswith("bias")}
    assert names == {f"{letter}_proj.bias" for letter in letters}
    close(module(x, causal=True), by_hand(module, x))


@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled"])
def test_scale(impl):
    module, x = make(scale=0.7, impl=impl), tokens()
    close(module(x, causal=True), by_hand(module, x, scale=0.7))


@pytest.mark.parametrize("norm", ["head", "width"])
def test_norms(norm):
    module, x = make(qk_norm=norm, norm_eps=0.1), tokens()
    width_q, width_k = (D_K, D_K) if norm == "head" else (H * D_K, H_KV * D_K)
    assert module.q_norm.weight.shape == (width_q,) and module.k_norm.weight.shape == (width_k,)
    weights = [getattr(module, f"{name}_proj").weight.detach().numpy().T for name in "qkvo"]
    gains = dict(q_gain=module.q_norm.weight, k_gain=module.k_norm.weight)
    gains = {name: gain.detach().numpy() for name, gain in gains.items()}
    heads = dict(n_heads=H, n_kv_heads=H_KV)
    expected = multihead_attention(x.numpy(), *weights, **heads, causal=True, **gains, eps=0.1)
    close(module(x, causal=True), expected)


def test_norms_come_before_the_rotation():
    module, x = make(qk_norm="head", rope=True), tokens()
    plain = make()
    plain.load_state_dict({n: w for n, w in module.state_dict().items() if "norm" not in n})
    norms = (module.q_norm, module.k_norm)
    gains = iter(H * [norm.weight.detach().numpy() for norm in norms])  # q, k of one head, q, k ...

    def rotated(head):
        return rotate(rms_norm(head, next(gains)), np.arange(N))

    close(module(x, causal=True), by_hand(plain, x, rotated=rotated))


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("d_rotary", [2, 6, D_K])
def test_partial_rotation(interleaved, d_rotary):
    how = dict(base=50.0, interleaved=interleaved)
    module, x = make(rope=Rotary(**how, d_rotary=d_rotary)), tokens()

    def rotated(heads):
        first = rotate(heads[..., :d_rotary], np.arange(N), **how)
        return np.concatenate([first, heads[..., d_rotary:]], axis=-1)

    close(module(x, causal=True), by_hand(module, x, rotated=rotated))


@pytest.mark.parametrize("impl", ["auto", "dense", "sdpa", "tiled"])
@pytest.mark.parametrize(("window", "sinks"), [(1, 0), (3, 0), (2, 2), (N + 1, 1)])
def test_windows(impl, window, sinks):
    module, x = make(window=window, sinks=sinks, impl=impl), tokens()
    close(module(x, causal=True), by_hand(module, x))
    if impl != "tiled":
        mask = np.random.default_rng(0).random((N, N)) < 0.7
        plain = make(impl=impl)
        expected = plain(x, mask=(mask & window_mask(N, N, window, sinks))[None, None])
        close(module(x, causal=True, mask=mask[None, None]), expected.detach())


@given(
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    window=st.integers(1, 6),
    sinks=st.integers(0, 3),
    impl=st.sampled_from(["auto", "dense", "tiled"]),
    paged=st.booleans(),
)
def test_a_window_holds_in_a_cache_of_all_tokens(cuts, window, sinks, impl, paged):
    module, x = make(window=window, sinks=sinks, rope=True, impl=impl), tokens(sum(cuts))
    cache = PagedKVCache(page_size=3, n_pages=32) if paged else KVCache()
    with torch.no_grad():
        y = [module(piece, causal=True, cache=cache) for piece in x.split(cuts, dim=1)]
    close(torch.cat(y, dim=1), module(x, causal=True).detach())


@given(
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    window=st.integers(1, 6),
    kept=st.integers(1, 6),
    sinks=st.integers(0, 3),
    kept_sinks=st.integers(0, 3),
)
@example(cuts=[4, 1], window=2, kept=2, sinks=0, kept_sinks=1)
def test_two_windows_hide_what_either_hides(cuts, window, kept, sinks, kept_sinks):
    n = sum(cuts)
    module, x = make(window=window, sinks=sinks), tokens(n)
    cache = WindowedKVCache(kept, kept_sinks)
    with torch.no_grad():
        y = [module(piece, causal=True, cache=cache) for piece in x.split(cuts, dim=1)]
    mask = window_mask(n, n, kept, kept_sinks)[None, None]
    close(torch.cat(y, dim=1), module(x, causal=True, mask=mask).detach())


def test_a_window_holds_for_sequences_of_different_lengths():
    module, x = make(window=3, rope=True), tokens(8)
    cache = PagedKVCache(page_size=2, n_pages=32)
    with torch.no_grad():
        k = module._split(module.k_proj(x[:, :5]), H_KV)
        k, _ = module.rope(k, k, torch.arange(5))
        v = module._split(module.v_proj(x[:, :5]), H_KV)
        cache.append(k, v, lengths=torch.tensor([5, 3]))
        y = torch.cat([module(x[:, i : i + 1], cache=cache) for i in (5, 6, 7)], dim=1)
    for b, n in enumerate((5, 3)):
        alone = torch.cat([x[b : b + 1, :n], x[b : b + 1, 5:]], dim=1)
        close(y[b : b + 1], module(alone, causal=True)[:, n:].detach())


CHANGES = [dict(softcap=0.7), dict(sink_logits=True), dict(softcap=2.0, sink_logits=True, window=3)]


def capped(softcap=None, **_):
    return (lambda s: softcap * np.tanh(s / softcap)) if softcap else (lambda s: s)


@pytest.mark.parametrize("impl", ["auto", "dense", "tiled"])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_softcap_and_sink_logits(impl, changes):
    module, x = make(impl=impl, **changes), tokens()
    expected = by_hand(module, x, change=capped(**changes))
    close(module(x, causal=True), expected)
    y, p = module(x, causal=True, return_weights=True)
    close(y, expected)
    assert ((1 - p.sum(dim=-1)).abs() > 1e-3).all() == ("sink_logits" in changes)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("make_cache", [KVCache, lambda: PagedKVCache(3, 32)])
def test_softcap_and_sink_logits_with_a_cache(changes, make_cache):
    module, x, cache = make(**changes), tokens(), make_cache()
    with torch.no_grad():
        y = [module(piece, causal=True, cache=cache) for piece in x.split([3, 1, 2, 1], dim=1)]
    close(torch.cat(y, dim=1), by_hand(module, x, change=capped(**changes)))


def test_sink_logits_learn():
    module, x = make(sink_logits=True), tokens()
    (gradient,) = torch.autograd.grad(module(x, causal=True).sin().sum(), module.sink_logits)
    assert (gradient != 0).all()


def test_dropout_is_for_training():
    module, x = make(dropout=0.25), tokens(3)
    expected = module(x, causal=True).detach()
    module.train()
    torch.manual_seed(0)
    with torch.no_grad():
        runs = module(x[:1].expand(400, -1, -1), causal=True)
    assert not torch.equal(runs[0], runs[1])
    error = (runs.mean(dim=0) - expected[0]).abs() / runs.std(dim=0)
    assert (error < 4 / 400**0.5).all()  # four standard errors
    module.impl = "tiled"
    with pytest.raises(ValueError, match="dropout is given, but impl is 'tiled'"):
        module(x, causal=True)
    close(module.eval()(x, causal=True), expected)


BAD = [
    (dict(qk_norm="heads"), "qk_norm is 'heads'; it should be None, 'head' or 'width'"),
    (dict(qk_norm="head", norm_eps=-1.0), "norm_eps is -1.0"),
    (dict(bias="qx"), "bias is 'qx'; it should be True, False or letters out of 'qkvo'"),
    (dict(scale=float("nan")), "scale is nan"),
    (dict(window=0), "window is 0; it should be at least 1"),
    (dict(dropout=1.0), "dropout is 1.0; it should be at least 0 and below 1"),
    (dict(sinks=2), "sinks is 2, but window is None"),
    (dict(rope=Rotary(d_rotary=3)), "d_rotary is 3; it should be even, and at most d_k=10"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_options(untyped, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_a_window_needs_causal_and_clear_masks():
    with pytest.raises(ValueError, match="causal is False, but this module has a window"):
        make(window=3)(tokens())
    with pytest.raises(ValueError, match="its first axis may be either"):
        make(window=3)(tokens(2), causal=True, mask=np.ones((2, 2), dtype=bool))


@pytest.mark.parametrize("make_cache", [lambda: None, KVCache, lambda: WindowedKVCache(4, 1)])
def test_weights_have_the_window(make_cache):
    module, x, cache = make(window=2, sinks=1), tokens(), make_cache()
    with torch.no_grad():
        y, p = module(x, causal=True, cache=cache, return_weights=True)
    close(y, by_hand(module, x))
    assert ((p > 0).numpy() == window_mask(N, N, 2, 1)).all()
