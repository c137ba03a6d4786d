"""One new query over a long cache: contiguous, paged and int8, against a copy of the same bytes."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_src.kvcache.cache_quantized import quantize_symmetric
from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged
from benchmarks.running import Bench, add_rate, add_share, faster

SIZE = dict(batch=64, n_heads=64, n_kv_heads=8, n=16384, d=128)
TINY = dict(batch=2, n_heads=4, n_kv_heads=2, n=48, d=16)
PAGE = 16  # tokens


def run(bench: Bench) -> list[dict]:
    """Measure decoding over each cache.

    Args:
        bench: where and how to measure
    Returns: for each cache a row of a copy of the same bytes and one of the kernel; for the
        contiguous cache also one of torch's own function
    """
    batch, n_heads, n_kv_heads, n, d = bench.size(SIZE, TINY).values()
    q = bench.randn(batch, n_heads, 1, d, dtype=torch.float16)
    k, v = (bench.randn(batch, n_kv_heads, n, d, dtype=torch.float16) for _ in range(2))
    lengths = torch.full((batch,), n, dtype=torch.int32, device=bench.device)
    scale = d**-0.5

    def sdpa() -> Tensor:
        return scaled_dot_product_attention(q, k, v, enable_gqa=True)

    o = sdpa()

    def pair(cache: str, f: Callable[[], Tensor], *read: Tensor) -> list[dict]:
        """The rows of the copy and the kernel; most of the bytes are reads."""
        n_bytes = sum(x.nbytes for x in (q, *read, o))
        copy = bench.copy_row(n_bytes, cache=cache)
        row = add_rate(bench.row(f, like=o, impl="triton", cache=cache), n_bytes)
        return [copy, add_share(row, copy)]

    pages = _paged(k, v)
    codes = (*_codes(k), *_codes(v))
    contiguous = pair("contiguous", lambda: decode_contiguous(q, k, v, lengths, scale), k, v)
    paged = pair("paged", lambda: decode_paged(q, *pages, lengths, scale), *pages)
    copy, int8 = pair("int8", lambda: decode_int8(q, *codes, lengths, scale), *codes)
    int8 = int8 | dict(over_float16=faster(int8, contiguous[1]))
    rival = bench.row(sdpa, impl="sdpa", cache="contiguous")
    rival["triton_is"] = faster(contiguous[1], rival)
    return [*contiguous, rival, *paged, copy, int8]


def _codes(x: Tensor) -> tuple[Tensor, Tensor]:
    """int8 codes [B, H_kv, n, d], and a float32 scale for each token: [B, H_kv, n]."""
    codes, scale = quantize_symmetric(x)
    return codes, scale[..., 0]


def _paged(k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """k and v as pages in random order, and the block table."""
    batch, _, n, _ = k.shape
    n_blocks = n // PAGE
    order = torch.randperm(batch * n_blocks, device=k.device)
    pages = []
    for x in (k, v):
        cut = x.unflatten(2, (n_blocks, PAGE)).transpose(1, 2).flatten(0, 1)
        page = torch.empty_like(cut)
        page[order] = cut
        pages.append(page)
    k_pages, v_pages = pages
    return k_pages, v_pages, order.reshape(batch, n_blocks).to(torch.int32)
