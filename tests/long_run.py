"""A long run over many shapes: how much memory is left behind? test_memory runs a short one.

    python tests/long_run.py 10240 [name ...]

makes so many calls of each function, no two with the same signature, after 300 others, and prints
the KiB by which Python's memory (tracemalloc) and the process (its resident set) grew, and seconds.
"""

import gc
import itertools
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from attention_src.attention.layer import attention
from attention_src.attention.reference import attention as reference
from attention_src.flash.layer import flash_attention
from attention_src.kvcache.cache import KVCache, PagedKVCache, QuantizedKVCache, WindowedKVCache
from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged
from attention_src.kvcache.layer import decode_attention
from attention_src.linear.kernel import chunkwise_forward, delta_forward
from attention_src.linear.layer import gated_delta_rule, linear_attention
from attention_src.rope.kernel import rope_forward
from attention_src.rope.layer import cos_sin, rotate_qk
from attention_src.softmax.kernel import softmax_forward
from attention_src.ssm.kernel import selective_scan_forward
from attention_src.ssm.layer import selective_scan, ssd
from attention_src.triton_support.launch import Launch

WARM_UP = 300  # more than MOST_PLANS; and calls should be a multiple: plans are dropped together
Sizes = tuple[int, int, int, int, int]


def signatures() -> Iterator[Sizes]:
    """B, H, n_q, n_k, d: more than 11,000 of them, all different and all small."""
    return itertools.product(range(1, 6), range(1, 5), range(1, 13), range(1, 13), range(2, 10, 2))


def qkv(sizes: Sizes) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    B, H, n_q, n_k, d = sizes
    return torch.ones(B, H, n_q, d), torch.ones(B, H, n_k, d), torch.ones(B, H, n_k, d)


def row(sizes: Sizes) -> tuple[torch.Tensor, ...]:
    """Sequences as long as n_q, of width n_k: q, k, v and a gate for each position."""
    B, H, n, d_v, d = sizes
    q, v = torch.ones(B, H, n, d), torch.ones(B, H, n, d_v)
    return q, q, v, torch.zeros(B, H, n)


def flash(sizes: Sizes, impl: str) -> None:
    q, k, v = qkv(sizes if impl == "tiled" else (*sizes[:4], sizes[4] + 14))
    lengths = torch.full((len(q),), k.shape[2], dtype=torch.int32)
    flash_attention(q, k, v, causal=True, key_lengths=lengths, impl=impl)


def flash_backward(sizes: Sizes, impl: str) -> None:
    sizes = sizes if impl == "tiled" else (*sizes[:4], sizes[4] + 14)  # kernels take 16 at least
    q, k, v = (x.requires_grad_() for x in qkv(sizes))
    flash_attention(q, k, v, impl=impl).sum().backward()


def decode(sizes: Sizes, kind: Callable) -> None:
    q, k, v = qkv(sizes)
    cache = kind()
    cache.append(k, v)
    decode_attention(q[:, :, :1], cache)


def decode_kernels(sizes: Sizes) -> None:
    B, H, group, _, d = sizes
    _, k, v = qkv(sizes)
    q, lengths = torch.ones(B, H * group, 1, d), torch.full((B,), k.shape[2], dtype=torch.int32)
    decode_contiguous(q, k, v, lengths, 1.0)
    table = torch.zeros(B, 2, dtype=torch.int32)
    decode_paged(q, k, v, table, lengths, 1.0)
    codes, scales = k.to(torch.int8), k[..., 0]
    decode_int8(q, codes, scales, codes, scales, lengths, 1.0)


def linear_kernels(sizes: Sizes) -> None:
    q, k, v, gates = row(sizes)
    state = torch.zeros(*q.shape[:2], q.shape[3], v.shape[3])
    chunkwise_forward(q, k, v, gates[..., None], state)
    delta_forward(q, k, v, gates, gates, state)


def scan(sizes: Sizes, run: Callable) -> None:
    B, H, n, N, d = sizes
    N += 12 * (H - 1)
    x, BC = torch.ones(B, n, d), torch.ones(B, n, N)
    if run is selective_scan:
        run(x, x, -torch.ones(d, N), BC, BC)
    else:
        run(x, x, -torch.ones(d, N), BC, BC, torch.ones(d), torch.zeros(B, d, N))


def dual(sizes: Sizes) -> None:
    q, _, v, gates = row(sizes)
    ssd(v, gates, -torch.ones(v.shape[1]), q[:, 0], q[:, 0])


def rope(sizes: Sizes, run: Callable) -> None:
    B, H, n, H_kv, d = sizes
    q, k = torch.ones(B, H, n, d), torch.ones(B, H_kv, n, d)
    if run is rotate_qk:
        run(q, k, torch.arange(n))
    else:
        run(q, k, *cos_sin(torch.arange(n), d), False)


def kept(sizes: Sizes, held: dict = {}) -> None:  # noqa: B006  it is to grow
    """What all others should not do: keep something for each signature."""
    held[sizes] = object()


RUNS: dict[str, Callable[[Sizes], object]] = {
    "reference": lambda sizes: reference(*(x.numpy() for x in qkv(sizes)), causal=True),
    "dense": lambda sizes: attention(*qkv(sizes), impl="dense"),
    "sdpa": lambda sizes: attention(*qkv(sizes), causal=True),
    "tiled": lambda sizes: flash(sizes, "tiled"),
    "tiled, backward": lambda sizes: flash_backward(sizes, "tiled"),
    "linear": lambda sizes: linear_attention(*row(sizes)[:3]),
    "delta": lambda sizes: gated_delta_rule(*row(sizes), row(sizes)[3]),
    "scan": lambda sizes: scan(sizes, selective_scan),
    "ssd": dual,
    "rope": lambda sizes: rope(sizes, rotate_qk),
    "decode": lambda sizes: decode(sizes, KVCache),
    "decode, windowed": lambda sizes: decode(sizes, lambda: WindowedKVCache(window=4)),
    "decode, paged": lambda sizes: decode(sizes, lambda: PagedKVCache(n_pages=20, page_size=4)),
    "decode, quantized": lambda sizes: decode(sizes, lambda: QuantizedKVCache(8)),
    "flash kernel": lambda sizes: flash(sizes, "triton"),
    "flash kernel, backward": lambda sizes: flash_backward(sizes, "triton"),
    "decode kernels": decode_kernels,
    "linear kernels": linear_kernels,
    "scan kernel": lambda sizes: scan(sizes, selective_scan_forward),
    "softmax kernel": lambda sizes: softmax_forward(torch.ones(sizes)),
    "kept": kept,
    "rope kernel": lambda sizes: rope(sizes, rope_forward),
}


def resident() -> int:
    """Bytes of this process that are in memory, after all garbage is gone."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def grown(run: Callable[[Sizes], object], calls: int) -> tuple[float, float]:
    """KiB of Python's memory and of the process that new signatures left behind."""
    each = signatures()
    for sizes in itertools.islice(each, WARM_UP):
        run(sizes)
    before = resident(), tracemalloc.get_traced_memory()[0]
    for sizes in itertools.islice(each, calls):
        run(sizes)
    after = resident(), tracemalloc.get_traced_memory()[0]
    return (after[1] - before[1]) / 1024, (after[0] - before[0]) / 1024


if __name__ == "__main__":
    # Kernels are planned, not run: the interpreter would take hours.
    Launch.run = lambda self: None  # type: ignore[method-assign]
    torch.set_num_threads(1)
    tracemalloc.start()
    for name in sys.argv[2:] or RUNS:
        start = time.process_time()
        python, process = grown(RUNS[name], int(sys.argv[1]))
        seconds = time.process_time() - start
        print(f"{name:24}{python:8.0f}{process:8.0f}{seconds:8.1f}", flush=True)
