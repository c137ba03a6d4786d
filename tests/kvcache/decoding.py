"""What the tests of the decode kernels share: a problem, in the form that each operator takes.

A problem is q, and dense k and v with the length of each sequence. What an operator must not read
(keys after a sequence's end, unused pages, their entries in the table) is NaN or out of range.
"""

import numpy as np
import torch
from kernel_support import DEVICE

from attention_src.attention import reference
from attention_src.attention.masks import padding_mask
from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged

SCALE = 0.37
NO_PAGES = (-1, 2**31 - 1)


def random_problem(batch, n_heads, n_kv_heads, n, d_k, d_v, lengths, dtype, *, size=1.0, seed=0):
    """q [B, H, 1, d_k], k [B, H_kv, n, d_k], v [B, H_kv, n, d_v], lengths int32 [B]."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator).to(DEVICE, dtype)

    q = (size * normal(batch, n_heads, 1, d_k)).to(dtype)
    k, v = normal(batch, n_kv_heads, n, d_k), normal(batch, n_kv_heads, n, d_v)
    return q, k, v, torch.tensor(lengths, dtype=torch.int32, device=DEVICE)


def past_end(lengths, n):
    """bool [B, 1, n, 1]  keys after the end of their sequence."""
    return (torch.arange(n, device=lengths.device) >= lengths[:, None])[:, None, :, None]


def exact(q, k, v, lengths, scale=SCALE):
    """o in float64, from the reference."""
    hidden = past_end(lengths, k.shape[2])
    q64, k64, v64 = (
        x.detach().double().cpu().numpy()
        for x in (q, k.masked_fill(hidden, 0), v.masked_fill(hidden, 0))
    )
    k64, v64 = (np.repeat(x, q.shape[1] // k.shape[1], axis=1) for x in (k64, v64))
    mask = padding_mask(lengths.cpu().numpy(), k.shape[2])
    return reference.attention(q64, k64, v64, mask=mask, scale=scale)


def plain(q, k, v, lengths, scale=SCALE):
    """The equation in the inputs' own dtype, rounded after every step."""
    hidden = past_end(lengths, k.shape[2])
    group = q.shape[1] // k.shape[1]
    k, v = (x.masked_fill(hidden, 0).repeat_interleave(group, dim=1) for x in (k, v))
    s = ((q @ k.mT) * scale).masked_fill(hidden.mT, -torch.inf)
    fully_masked = hidden.all(dim=2, keepdim=True)  # [B, 1, 1, 1]
    return (s.masked_fill(fully_masked, 0).softmax(dim=-1) @ v).masked_fill(fully_masked, 0)


def contiguous(q, k, v, lengths, scale=SCALE, n_splits=None):
    """decode_contiguous, with NaN after the end of each sequence."""
    hidden = past_end(lengths, k.shape[2])
    k, v = k.masked_fill(hidden, torch.nan), v.masked_fill(hidden, torch.nan)
    return decode_contiguous(q, k, v, lengths, scale, n_splits)


def to_pages(k, v, lengths, page_size, seed=0):
    """k_pages, v_pages, block_table: pages in random order, among as many pages of NaN."""
    batch, n_kv_heads, n, _ = k.shape
    rng = np.random.default_rng(seed)
    max_pages = -(-n // page_size) + 1
    order = rng.permutation(2 * batch * max_pages)[: batch * max_pages].reshape(batch, max_pages)
    table = torch.from_numpy(order.astype(np.int32)).to(k.device)
    shape = (2 * batch * max_pages, n_kv_heads, page_size)
    k_pages = k.new_full((*shape, k.shape[3]), torch.nan)
    v_pages = v.new_full((*shape, v.shape[3]), torch.nan)
    for b, length in enumerate(lengths.tolist()):
        for start in range(0, length, page_size):
            part = slice(start, min(start + page_size, length))
            page = table[b, start // page_size]
            k_pages[page, :, : part.stop - start] = k[b, :, part]
            v_pages[page, :, : part.stop - start] = v[b, :, part]
        used = -(-length // page_size)
        table[b, used:] = torch.from_numpy(rng.choice(NO_PAGES, max_pages - used).astype(np.int32))
    return k_pages, v_pages, table


def paged(q, k, v, lengths, scale=SCALE, n_splits=None, page_size=5):
    """decode_paged on `to_pages`."""
    pages = to_pages(k, v, lengths, page_size)
    return decode_paged(q, *pages, lengths, scale, n_splits)


def quantize(x):
    """int8 codes and one float32 scale for each row: x ≈ codes * scale."""
    scale = x.float().abs().amax(dim=-1).clamp(min=1e-30) / 127
    return (x.float() / scale[..., None]).round().to(torch.int8), scale


def dequantized(x):
    """x after rounding to int8, in float64."""
    codes, scale = quantize(x)
    return codes.double() * scale.double()[..., None]


def int8(q, k, v, lengths, scale=SCALE, n_splits=None):
    """decode_int8 on the codes of k and v, with scales of NaN after the end of each sequence."""
    (k, k_scale), (v, v_scale) = quantize(k), quantize(v)
    hidden = past_end(lengths, k.shape[2])[..., 0]
    k_scale, v_scale = (x.masked_fill(hidden, torch.nan) for x in (k_scale, v_scale))
    return decode_int8(q, k, k_scale, v, v_scale, lengths, scale, n_splits)


OPERATORS = {"contiguous": contiguous, "paged": paged, "int8": int8}


def as_stored(name, x):
    """k or v as an operator stores it: in float64, for int8 after rounding."""
    return dequantized(x) if name == "int8" else x.double()
