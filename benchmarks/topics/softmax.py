"""Softmax against a copy of the same bytes, and against torch's own, forward and backward."""

import torch

from attention_src.softmax.kernel import softmax_backward, softmax_forward
from benchmarks.running import Bench, add_rate, add_share

WIDTHS = (64, 256, 1024, 4096, 16384, 50257, 131072)


def run(bench: Bench) -> list[dict]:
    """A row for each direction, row length and implementation."""
    rows = []
    for n in bench.size(WIDTHS, (8, 200)):
        n_rows = bench.size(2**28, 1024) // n  # 512 MiB of scores in bfloat16
        rows += _forward(bench, n_rows, n)
        rows += _backward(bench, n_rows, n)
    return rows


def _forward(bench: Bench, n_rows: int, n: int) -> list[dict]:
    x = bench.randn(n_rows, n)
    functions = {
        "triton": lambda: softmax_forward(x),
        "torch": lambda: x.softmax(-1),
    }
    return _rows(bench, functions, 2 * x.nbytes, x.softmax(-1), direction="forward", n=n)


def _backward(bench: Bench, n_rows: int, n: int) -> list[dict]:
    p, dp = bench.randn(n_rows, n).softmax(-1), bench.randn(n_rows, n)

    def fused() -> torch.Tensor:
        return torch.ops.aten._softmax_backward_data(dp, p, -1, dp.dtype)

    functions = {"triton": lambda: softmax_backward(p, dp), "torch": fused}
    return _rows(bench, functions, 3 * p.nbytes, fused(), direction="backward", n=n)


def _rows(bench: Bench, functions: dict, n_bytes: int, like: torch.Tensor, **labels) -> list[dict]:
    copy = bench.copy_row(n_bytes, **labels)
    rows = [copy]
    for impl, f in functions.items():
        row = bench.row(f, like=like, impl=impl, **labels)
        rows.append(add_share(add_rate(row, n_bytes), copy))
    return rows
