"""The selective scan against a copy of the same bytes."""

import torch

from attention_src.ssm.kernel import selective_scan_forward
from benchmarks.running import Bench, add_goal, add_rate, add_share

GOAL = 0.6  # of the copy's bytes per second
SIZE = dict(batch=4, n=4096, d=4096, N=16)
TINY = dict(batch=1, n=6, d=2, N=2)


def run(bench: Bench) -> list[dict]:
    """A copy's row and the kernel's, forward and backward."""
    batch, n, d, N = bench.size(SIZE, TINY).values()
    x, dy = bench.randn(batch, n, d), bench.randn(batch, n, d)
    dt = bench.randn(batch, n, d).sigmoid()
    B, C = (bench.randn(batch, n, N) for _ in range(2))
    A = -torch.arange(1.0, N + 1, device=bench.device).repeat(d, 1)
    D, start = torch.ones(d, device=bench.device), torch.zeros(batch, d, N, device=bench.device)
    leaves = [t.requires_grad_() for t in (x, dt, A, B, C, D)]
    graph: list[torch.Tensor] = []  # made by the first call, which is not timed

    def forward() -> torch.Tensor:
        return selective_scan_forward(*leaves, start)[0]

    def backward() -> tuple[torch.Tensor, ...]:
        if not graph:
            graph.append(forward())
        return torch.autograd.grad(graph[0], leaves, dy, retain_graph=True)

    rows = []
    # Least bytes: x, dt, B and C are read and y is written; backward also dy, dx, ddt, dB and dC.
    read = x.nbytes + dt.nbytes + B.nbytes + C.nbytes
    for direction, f, n_bytes in (
        ("forward", forward, read + x.nbytes),
        ("backward", backward, 2 * read + dy.nbytes),
    ):
        copy = bench.copy_row(n_bytes, direction=direction)
        row = add_rate(bench.row(f, impl="triton", direction=direction), n_bytes)
        row = add_share(row, copy)
        rows += [copy, add_goal(row, GOAL, row["of_copy"]) if f is forward else row]
    return rows
