"""One new query over a long cache: contiguous, paged and int8, against a copy of the same bytes."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged
from attention_src.kvcache.quantized import quantize_symmetric
from benchmarks.running import Bench, add_goal, add_rate, add_share, faster

GOAL = 0.85  # of the copy's bytes per second
GOAL_INT8 = 1.6  # times as fast as float16
SIZE = dict(batch=64, n_heads=64, n_kv_heads=8, n=16384, d=128)
TINY = dict(batch=2, n_heads=4, n_kv_heads=2, n=48, d=16)
PAGE = 16  # tokens


def run(bench: Bench) -> list[dict]:
    """A row for each cache and for torch's own function over the contiguous one."""
    size = bench.size(SIZE, TINY)
    q = bench.randn(size["batch"], size["n_heads"], 1, size["d"], dtype=torch.float16)
    k, v = (_keys(bench, **size) for _ in range(2))
    lengths = torch.full((size["batch"],), size["n"], dtype=torch.int32, device=bench.device)
    scale = size["d"] ** -0.5
    o = scaled_dot_product_attention(q, k, v, enable_gqa=True)

    def row(impl: str, cache: str, f: Callable[[], Tensor], *read: Tensor) -> tuple[dict, dict]:
        """The copy's row and f's; what f reads is nearly all that it moves."""
        n_bytes = sum(x.nbytes for x in (q, *read, o))
        copy = bench.copy_row(n_bytes, cache=cache)
        timed = bench.row(f, like=o, impl=impl, cache=cache)
        return copy, add_share(add_rate(timed, n_bytes), copy)

    def judged(cache: str, f: Callable[[], Tensor], *read: Tensor) -> list[dict]:
        copy, ours = row("triton", cache, f, *read)
        return [copy, add_goal(ours, GOAL, ours["of_copy"])]

    rows = judged("contiguous", lambda: decode_contiguous(q, k, v, lengths, scale), k, v)
    ours = rows[1]
    sdpa = row(
        "sdpa",
        "contiguous",
        lambda: scaled_dot_product_attention(q, k, v, enable_gqa=True),
        k,
        v,
    )[1]
    rows.append(sdpa | dict(triton_is=faster(ours, sdpa)))
    codes = [_codes(x) for x in (k, v)]
    pages = _paged(k, v)
    del k, v
    rows += judged("paged", lambda: decode_paged(q, *pages, lengths, scale), *pages)
    (k8, k_scale), (v8, v_scale) = codes
    copy, int8 = judged(
        "int8",
        lambda: decode_int8(q, k8, k_scale, v8, v_scale, lengths, scale),
        *(k8, k_scale, v8, v_scale),
    )
    ratio = faster(int8, ours)
    return [*rows, copy, add_goal(int8 | dict(of_float16=ratio), GOAL_INT8, ratio)]


def _keys(bench: Bench, *, batch: int, n_kv_heads: int, n: int, d: int, n_heads: int) -> Tensor:
    return bench.randn(batch, n_kv_heads, n, d, dtype=torch.float16)


def _codes(x: Tensor) -> tuple[Tensor, Tensor]:
    """int8 [B, H_kv, n, d], and one float32 scale for each token: [B, H_kv, n]."""
    codes, scale = quantize_symmetric(x)
    return codes, scale[..., 0]


def _paged(k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """k and v cut into pages in random order, and the block table that finds them."""
    batch, n_kv_heads, n, d = k.shape
    order = torch.randperm(batch * n // PAGE, device=k.device)
    pages = []
    for x in (k, v):
        cut = x.unflatten(2, (n // PAGE, PAGE)).transpose(1, 2).flatten(0, 1)
        page = torch.empty_like(cut, memory_format=torch.contiguous_format)
        page[order] = cut
        pages.append(page)
    return *pages, order.reshape(batch, n // PAGE).to(torch.int32)
