"""Rotary positions on queries and keys against a copy of the same bytes, and against torch."""

import torch
from torch import Tensor

from attention_src.rope.layer import apply_rotation, cos_sin
from benchmarks.running import Bench, add_rate, add_share

D, WIDTH, N = 128, 2048, 4096
TOKENS = (16384, 65536)  # the smaller case moves little more than a chip's cache holds
PAIRS = ("half-split", "interleaved")


def run(bench: Bench) -> list[dict]:
    """A row for each size, pairing, direction and implementation."""
    rows = []
    for tokens in bench.size(TOKENS, (64,)):
        for interleaved in (False, True):
            rows += _case(bench, tokens, interleaved)
    return rows


def _case(bench: Bench, tokens: int, interleaved: bool) -> list[dict]:
    """A copy, then each implementation, forward and backward."""
    n, d = bench.size((N, D), (32, 16))
    shape = (tokens // n, bench.size(WIDTH // D, 2), n, d)
    q, k, dq, dk = (bench.randn(*shape) for _ in range(4))
    q.requires_grad_(), k.requires_grad_()
    cos, sin = cos_sin(torch.arange(n, device=bench.device), d)
    labels = dict(tokens=tokens, pairs=PAIRS[interleaved])
    n_bytes = 2 * (q.nbytes + k.nbytes) + cos.nbytes + sin.nbytes

    def rotate(impl: str) -> tuple[Tensor, Tensor]:
        return apply_rotation(q, k, cos, sin, interleaved=interleaved, impl=impl)

    copy = bench.copy_row(n_bytes, **labels, direction="either")
    rows = [copy]
    expected = rotate("torch")
    gradients = torch.autograd.grad(expected, (q, k), (dq, dk), retain_graph=True)
    for impl in ("triton", "torch"):
        graph: list[tuple[Tensor, Tensor]] = []  # made by the first call, which is not timed

        def forward(impl: str = impl) -> tuple[Tensor, Tensor]:
            return rotate(impl)

        def backward(impl: str = impl, graph: list = graph) -> tuple[Tensor, ...]:
            if not graph:
                graph.append(rotate(impl))
            return torch.autograd.grad(graph[0], (q, k), (dq, dk), retain_graph=True)

        for f, like in ((forward, expected), (backward, gradients)):
            row = bench.row(f, like=like, impl=impl, **labels, direction=f.__name__)
            rows.append(add_share(add_rate(row, n_bytes), copy))
    return rows
