"""What the tests of this topic compare with: attention.reference in float64, under the same mask.

Gradients are differences of two sums that may cancel (a query with a single visible key has
dq = 0), so errors are measured relative to the size of the terms.
"""

import numpy as np
import torch

from attention_src.attention import reference
from attention_src.attention.masks import causal_mask, window_mask
from attention_src.testing import make_qkv

NAMES = ("o", "lse", "dq", "dk", "dv")


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


def exact(q, k, v, do, dlse, *, scale=None, **rule):
    """o, lse, dq, dk, dv in float64, and the sizes that bound the rounding of each."""
    q, k, v, do, dlse = (x.detach().double().cpu().numpy() for x in (q, k, v, do, dlse))
    group = q.shape[1] // k.shape[1]
    K, V = (np.repeat(x, group, axis=1) for x in (k, v))
    options = dict(mask=visible_mask(q.shape[2], k.shape[2], **rule), scale=scale)
    o = reference.attention(q, K, V, **options)
    lse = reference.attention_lse(q, K, **options)
    dq, dk, dv = reference.attention_backward(q, K, V, do, **options)
    # The path through lse: d lse_i / d s_ij = p_ij.
    p = reference.attention_weights(q, K, **options)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    through = scale * p * dlse[..., None]
    dq, dk = dq + through @ K, dk + through.swapaxes(-1, -2) @ q
    # Sizes: every product with absolute values, every difference as a sum.
    parts = np.abs(do) @ np.abs(V).swapaxes(-1, -2)
    parts = parts + (np.abs(o) * np.abs(do)).sum(axis=-1, keepdims=True) + np.abs(dlse)[..., None]
    parts = abs(scale) * p * parts * (1 + abs(scale) * np.abs(q) @ np.abs(K).swapaxes(-1, -2))
    sizes = (
        p @ np.abs(V),
        1 + abs(scale) * (np.abs(q) @ np.abs(K).swapaxes(-1, -2)).max(axis=-1, initial=0),
        parts @ np.abs(K),
        parts.swapaxes(-1, -2) @ np.abs(q),
        p.swapaxes(-1, -2) @ np.abs(do),
    )
    right = [o, lse, dq, *(summed(x, group) for x in (dk, dv))]
    return right, [*sizes[:3], *(summed(x, group) for x in sizes[3:])]


def plain(q, k, v, *, scale=None, **rule):
    """o and lse by the equation in the inputs' own dtype, rounded after every step."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    visible = torch.from_numpy(visible_mask(q.shape[2], k.shape[2], **rule))
    s = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    fully_masked = ~visible.any(dim=-1, keepdim=True)
    s = s.masked_fill(~(visible | fully_masked), -torch.inf)
    o = (s.softmax(dim=-1) @ v).masked_fill(fully_masked, 0)
    lse = s.logsumexp(dim=-1).masked_fill(fully_masked[..., 0], -torch.inf)
    return o, lse.to(torch.promote_types(q.dtype, torch.float32))


def summed(x, group):
    """Add up the gradients of the query heads that share a key/value head."""
    return x.reshape(x.shape[0], x.shape[1] // group, group, *x.shape[2:]).sum(axis=2)


def results(function, q, k, v, do, dlse, **options):
    """o, lse, dq, dk, dv of a function that returns o and lse, by autograd through both."""
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    o, lse = function(*leaves, **options)
    gradients = torch.autograd.grad((o, lse), leaves, (do, dlse))
    return [o.detach(), lse.detach(), *gradients]


def assert_close(actual, right, sizes, *, units, context=""):
    """Every entry within `units` roundings of the largest size; infinities in the same places."""
    assert len(actual) == len(right) == len(sizes)
    for name, a, e, size in zip(NAMES, actual, right, sizes, strict=False):
        a = torch.as_tensor(a)
        eps = torch.finfo(a.dtype).eps
        a = a.double().cpu().numpy()
        assert a.shape == e.shape, f"{name} has shape {a.shape}, not {e.shape}; {context}"
        finite = np.isfinite(e)
        assert np.array_equal(np.where(finite, 0, a), np.where(finite, 0, e)), f"{name} {context}"
        error = np.abs(np.where(finite, a, 0) - np.where(finite, e, 0)).max(initial=0)
        allowed = units * eps * size.max(initial=0)
        assert error <= allowed, f"{name}: error {error:.3g}, allowed {allowed:.3g}; {context}"
