"""What the tests of this topic compare with: attention.reference in float64, under the same mask.

Gradients are differences of two sums that may cancel (a query with a single visible key has
dq = 0), so errors are measured relative to the size of the terms.
"""

import numpy as np
import torch

from attention_src.attention import reference
from attention_src.attention.bias import Alibi
from attention_src.attention.masks import causal_mask, window_mask
from attention_src.testing import make_qkv

NAMES = ("o", "lse", "dq", "dk", "dv")  # then dbias and dsink, where there are any


def visible_mask(n_q, n_k, *, causal=False, window=None, sinks=0, lookahead=0, key_lengths=None):
    """The layer's visibility as a mask [B or 1, 1, n_q, n_k]: a sequence ends at its length."""
    lengths = [n_k] if key_lengths is None else [min(max(int(n), 0), n_k) for n in key_lengths]
    mask = np.zeros((len(lengths), 1, n_q, n_k), dtype=bool)
    for b, length in enumerate(lengths):
        rows = np.ones((n_q, length), dtype=bool)
        if causal:
            rows = rows & causal_mask(n_q, length)
        if window is not None:
            rows = rows & window_mask(n_q, length, window, sinks, lookahead)
        mask[b, 0, :, :length] = rows
    return mask


def arguments(size, dtype=torch.float64, *, batch=2, scale_of_q=1.0, seed=0):
    """q, k, v, do, dlse for a size (n_q, n_k, d_k, d_v, H, H_kv)."""
    n_q, n_k, d_k, d_v, n_heads, n_kv_heads = size
    heads = dict(batch=batch, n_heads=n_heads, n_kv_heads=n_kv_heads)
    q, k, v = make_qkv(n_q, n_k, d_k, d_v, **heads, dtype=dtype, size=scale_of_q, seed=seed)
    rng = np.random.default_rng(seed + 1)
    do = torch.from_numpy(rng.standard_normal((batch, n_heads, n_q, d_v))).to(dtype)
    dlse = torch.from_numpy(rng.standard_normal((batch, n_heads, n_q)))
    return q, k, v, do, dlse.to(torch.promote_types(dtype, torch.float32))


def exact(q, k, v, do, dlse, *, scale=None, bias=None, softcap=None, sink_logits=None, **rule):
    """o, lse, dq, dk, dv in float64, and the sizes that bound the rounding of each.

    Then dbias, if bias is a tensor, and dsink, if there are sinks.
    """
    q, k, v, do, dlse = (x.detach().double().cpu().numpy() for x in (q, k, v, do, dlse))
    n_heads, n_q, n_k = q.shape[1], q.shape[2], k.shape[2]
    group = n_heads // k.shape[1]
    K, V = (np.repeat(x, group, axis=1) for x in (k, v))
    added = bias_matrix(bias, n_q, n_k, rule.get("key_lengths"))
    sinks = None if sink_logits is None else float64(sink_logits)
    options = dict(mask=visible_mask(n_q, n_k, **rule), scale=scale)
    options |= dict(bias=added, softcap=softcap, sink_logits=sinks)
    o = reference.attention(q, K, V, **options)
    lse = reference.attention_lse(q, K, **options)
    dq, dk, dv = reference.attention_backward(q, K, V, do, **options)
    # The path through lse: d lse_i / d s_ij = p_ij.
    p = reference.attention_weights(q, K, **options)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    slope = scale * np.ones_like(p)
    if softcap is not None:
        slope = scale / np.cosh(np.clip(scale * q @ K.swapaxes(-1, -2) / softcap, -300, 300)) ** 2
    through = slope * p * dlse[..., None]
    dq, dk = dq + through @ K, dk + through.swapaxes(-1, -2) @ q
    # Sizes: every product with absolute values, every difference as a sum.
    terms = 1 + abs(scale) * np.abs(q) @ np.abs(K).swapaxes(-1, -2) + (softcap or 0)
    if added is not None:
        terms = terms + np.abs(np.where(np.isfinite(added), added, 0))
    ends = (np.abs(o) * np.abs(do)).sum(axis=-1, keepdims=True) + np.abs(dlse)[..., None]
    parts = p * (np.abs(do) @ np.abs(V).swapaxes(-1, -2) + ends) * terms
    scaled = abs(scale) * parts
    sizes = [
        p @ np.abs(V),
        terms.max(axis=-1, initial=1),
        scaled @ np.abs(K),
        summed(scaled.swapaxes(-1, -2) @ np.abs(q), group),
        summed(p.swapaxes(-1, -2) @ np.abs(do), group),
    ]
    right = [o, lse, dq, *(summed(x, group) for x in (dk, dv))]
    delta = (o * do).sum(axis=-1, keepdims=True) - dlse[..., None]
    if isinstance(bias, torch.Tensor):
        ds = p * (do @ V.swapaxes(-1, -2) - delta)
        right.append(summed_to(ds, bias.shape))
        sizes.append(summed_to(parts, bias.shape))
    if sinks is not None:
        with np.errstate(invalid="ignore", over="ignore"):  # lse and a sink may both be −inf
            p_sink = np.exp(np.nan_to_num(sinks[:, None] - lse, nan=-np.inf))[..., None]
        most = np.abs(np.where(np.isfinite(sinks), sinks, 0))[:, None, None]
        most = terms.max(axis=-1, keepdims=True, initial=1) + most
        right.append(summed_to(-p_sink * delta, (n_heads, 1, 1))[:, 0, 0])
        sizes.append(summed_to(p_sink * ends * most, (n_heads, 1, 1))[:, 0, 0])
    return right, sizes


def bias_matrix(bias, n_q, n_k, key_lengths=None):
    """A bias as float64 numbers: a tensor's own, or those of an `Alibi` by distance from t."""
    if not isinstance(bias, Alibi):
        return None if bias is None else float64(bias)
    lengths = np.array([n_k] if key_lengths is None else [min(max(n, 0), n_k) for n in key_lengths])
    t = np.arange(n_q) + lengths[:, None] - n_q  # [B or 1, n_q]
    distance = np.abs(t[:, None, :, None] - np.arange(n_k))
    return -float64(bias.slopes)[:, None, None] * distance


def plain(q, k, v, *, scale=None, bias=None, softcap=None, sink_logits=None, **rule):
    """o and lse by the equation in the inputs' own dtype, rounded after every step."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    visible = torch.from_numpy(visible_mask(q.shape[2], k.shape[2], **rule))
    s = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        s = softcap * torch.tanh(s / softcap)
    if isinstance(bias, Alibi):
        bias = torch.from_numpy(bias_matrix(bias, *s.shape[2:], rule.get("key_lengths")))
    if bias is not None:
        s = s + bias.to(s.dtype)
    s = s.masked_fill(~visible, -torch.inf)
    if sink_logits is not None:
        s = torch.cat([s, sink_logits.to(s.dtype)[:, None, None].expand(*s.shape[:3], 1)], dim=-1)
    fully_masked = (s == -torch.inf).all(dim=-1, keepdim=True)
    s = s.masked_fill(fully_masked, 0)
    o = (s.softmax(dim=-1)[..., : k.shape[2]] @ v).masked_fill(fully_masked, 0)
    lse = s.logsumexp(dim=-1).masked_fill(fully_masked[..., 0], -torch.inf)
    return o, lse.to(torch.promote_types(q.dtype, torch.float32))


def float64(x):
    """An array or tensor as float64 numbers."""
    if isinstance(x, torch.Tensor):
        x = x.detach().double().cpu().numpy()
    return np.asarray(x, dtype=np.float64)


def summed_to(x, shape):
    """Add up along the axes on which something of this shape was broadcast."""
    full = (1,) * (x.ndim - len(shape)) + tuple(shape)
    axes = tuple(a for a, n in enumerate(full) if n == 1)
    return x.sum(axis=axes, keepdims=True).reshape(shape)


def summed(x, group):
    """Add up the gradients of the query heads that share a key/value head."""
    return x.reshape(x.shape[0], x.shape[1] // group, group, *x.shape[2:]).sum(axis=2)


def results(function, q, k, v, do, dlse, **options):
    """o, lse, dq, dk, dv of a function that returns o and lse, by autograd through both.

    Then dbias, if bias is a tensor, and dsink, if there are sinks.
    """
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    for name in ("bias", "sink_logits"):
        if isinstance(options.get(name), torch.Tensor):
            options[name] = options[name].detach().requires_grad_()
            leaves.append(options[name])
    o, lse = function(*leaves[:3], **options)
    gradients = torch.autograd.grad((o, lse), leaves, (do, dlse))
    return [o.detach(), lse.detach(), *gradients]


def assert_close(actual, right, sizes, *, units, context=""):
    """Every entry within `units` roundings of the largest size; infinities in the same places."""
    assert len(actual) == len(right) == len(sizes)
    names = (*NAMES, "dbias or dsink", "dsink")[: len(actual)]
    for name, a, e, size in zip(names, actual, right, sizes, strict=True):
        a = torch.as_tensor(a)
        eps = torch.finfo(a.dtype).eps
        a = a.double().cpu().numpy()
        assert a.shape == e.shape, f"{name} has shape {a.shape}, not {e.shape}; {context}"
        finite = np.isfinite(e)
        assert np.array_equal(np.where(finite, 0, a), np.where(finite, 0, e)), f"{name} {context}"
        error = np.abs(np.where(finite, a, 0) - np.where(finite, e, 0)).max(initial=0)
        allowed = units * eps * size.max(initial=0)
        assert error <= allowed, f"{name}: error {error:.3g}, allowed {allowed:.3g}; {context}"
