"""Exact attention against every backend of torch's SDPA and against FlexAttention.

Sizes as in the FlashAttention-3 paper (Shah et al. 2024, arXiv:2407.08608, section 4.1): 16k tokens
per batch, n_heads * d = 2,048. A causal mask halves the FLOP, and backward counts as 2.5 times
forward. Forward is timed as in training: it saves what its backward needs.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from attention_src.costs import attention_flops
from attention_src.flash.layer import flash_attention
from benchmarks.running import Bench, faster

N_TOKENS, WIDTH = 16384, 2048
SIZES = {128: (1024, 2048, 4096, 8192, 16384), 64: (4096, 16384)}
BACKENDS = {
    "sdpa flash": SDPBackend.FLASH_ATTENTION,
    "sdpa efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa cudnn": SDPBackend.CUDNN_ATTENTION,
    "sdpa math": SDPBackend.MATH,
}
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def run(bench: Bench) -> list[dict]:
    """One row per head size, mask, length, implementation and direction.

    Args:
        bench: the machine to measure on
    Returns: the table
    """
    rows = []
    for d, lengths in bench.size(SIZES, {16: (24,)}).items():
        for causal in (False, True):
            for n in bench.in_time(lengths):
                rows += _case(bench, d, causal, n)
    return rows


def _case(bench: Bench, d: int, causal: bool, n: int) -> list[dict]:
    """Rows for every implementation at one size: forward, then backward."""
    batch, n_heads = bench.size((N_TOKENS // n, WIDTH // d), (1, 2))
    q, k, v, do = (bench.randn(batch, n_heads, n, d) for _ in range(4))
    leaves = [x.requires_grad_() for x in (q, k, v)]
    inputs = bench.size(leaves, [x.detach() for x in leaves])  # on a CPU Flex has no gradients
    labels = dict(d=d, causal=causal, n=n)
    flops = attention_flops(n, n, d, d, n_heads=n_heads, batch=batch) / (2 if causal else 1)

    o = scaled_dot_product_attention(q, k, v, is_causal=causal)
    gradients = torch.autograd.grad(o, leaves, do)
    forward, backward = [], []
    for impl, attend in _implementations(bench, causal, n).items():
        names = dict(**labels, impl=impl)
        row = bench.row(partial(attend, *inputs), like=o.detach(), direction="forward", **names)
        forward.append(row)
        backward.append(_backward_row(bench, attend, leaves, do, gradients, names))
    return _judged(forward, flops) + _judged(backward, 2.5 * flops)


def _backward_row(
    bench: Bench, attend: Attend, leaves: list[Tensor], do: Tensor, gradients: tuple, labels: dict
) -> dict:
    """The backward pass alone, on a graph that it keeps."""
    graph: list[Tensor] = []  # built by the first call, which is not timed

    def backward() -> tuple[Tensor, ...]:
        if not graph:
            graph.append(attend(*leaves))
        return torch.autograd.grad(graph[0], leaves, do, retain_graph=True)

    return bench.row(backward, like=gradients, direction="backward", **labels)


def _implementations(bench: Bench, causal: bool, n: int) -> dict[str, Attend]:
    """Ours first, then each rival."""

    def triton(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flash_attention(q, k, v, causal=causal, impl="triton")

    rivals = {impl: _sdpa(backend, causal) for impl, backend in BACKENDS.items()}
    return {"triton": triton, **rivals, "flex": _flex(bench, causal, n)}


def _sdpa(backend: SDPBackend, causal: bool) -> Attend:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return attend


def _flex(bench: Bench, causal: bool, n: int) -> Attend:
    """FlexAttention, compiled for this size; its block mask is built beforehand, untimed."""
    torch._dynamo.reset()  # otherwise it refuses to recompile after a few sizes
    torch._functorch.config.donated_buffer = False  # several backward passes share one graph
    backend = bench.size("inductor", "eager")
    compiled = torch.compile(flex_attention, fullgraph=True, dynamic=False, backend=backend)

    def visible(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return j <= i

    mask = create_block_mask(visible, None, None, n, n, device=bench.device) if causal else None
    return lambda q, k, v: compiled(q, k, v, block_mask=mask)


def _judged(rows: list[dict], flops: float) -> list[dict]:
    """Rows with TFLOP/s added, and to each rival's our speed relative to it."""
    ours, *_ = rows
    judged = []
    for row in rows:
        row = row | dict(tflop_per_s=None if row["ms"] is None else flops / row["ms"] / 1e9)
        if row["impl"] != "triton":
            row["triton_is"] = faster(ours, row)
        judged.append(row)
    return judged
