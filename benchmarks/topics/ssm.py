"""The selective scan against a copy of the same bytes, and against the time of its exponentials.

A copy is out of reach: each number of the state takes an exponential, exp(dt A), at every step, and
a multiprocessor computes 16 a cycle. On an H100 these alone take 2.2 times as long as the copy, so
0.46 of its speed is the bound. A kernel could go beyond by computing some exponentials with
multiplications, which ours does not.
"""

import torch

from attention_src.ssm.kernel import selective_scan_forward
from attention_src.triton_support.launch import capability
from benchmarks.running import Bench, add_rate, add_share

# A cycle of a multiprocessor: CUDA C++ Programming Guide, "Arithmetic Instructions".
EXPONENTIALS = 16
# Cycles a second of all multiprocessors, by compute capability: an A100 and an H100 SXM at the
# clocks that they keep under load.
CYCLES = {80: 108 * 1.41e9, 90: 132 * 1.755e9}
SIZE = dict(batch=4, n=4096, d=4096, N=16)
TINY = dict(batch=1, n=6, d=2, N=2)


def copy_share(
    n_bytes: int, bytes_per_s: float, capability: int, *, batch: int, n: int, d: int, N: int
) -> float:
    """The bound: how fast the scan can be, as a share of a copy's speed, by exponentials alone.

        (n_bytes / bytes_per_s) / (batch n d N / (16 multiprocessors clock_hz))

    Args:
        n_bytes: that the scan reads and writes
        bytes_per_s: of a copy
        capability: the chip, a key of CYCLES
        batch, n, d, N: sequences, tokens, channels, and numbers of state for each
    Returns: at most 1, where exponentials are no bound
    """
    exponentials_per_s = EXPONENTIALS * CYCLES[capability]
    return min(1.0, n_bytes / bytes_per_s / (batch * n * d * N / exponentials_per_s))


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
        rows += [copy, _with_bound(row, copy, n_bytes) if f is forward else row]
    return rows


def _with_bound(row: dict, copy: dict, n_bytes: int) -> dict:
    """The row with its share of the bound, of_bound; None for a chip whose clock is not known."""
    measured = row["of_copy"] is not None and torch.cuda.is_available()
    chip = capability(torch.empty(0, device="cuda")) if measured else 0
    if chip not in CYCLES:
        return row | dict(of_bound=None)
    bound = copy_share(n_bytes, 1e9 * copy["gb_per_s"], chip, **SIZE)
    return row | dict(of_bound=row["of_copy"] / bound)
