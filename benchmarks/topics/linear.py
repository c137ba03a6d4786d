"""Chunkwise linear attention and the delta rule against flash attention, and against fla."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_src.flash.kernel import flash_forward
from attention_src.linear.kernel import chunkwise_forward, delta_forward
from benchmarks.running import Bench, faster

FLA = "fla one gate"
TOKENS, WIDTH, D = 16384, 2048, 128
LENGTHS = (1024, 4096, 16384)


def run(bench: Bench) -> list[dict]:
    """A row for each length, direction and mechanism."""
    rows = []
    for n in bench.in_time(bench.size(LENGTHS, (24,))):
        rows += _case(bench, n)
    return rows


def _case(bench: Bench, n: int) -> list[dict]:
    d = bench.size(D, 16)
    batch, n_heads = bench.size((TOKENS // n, WIDTH // D), (1, 1))
    shape = (batch, n_heads, n)
    q, k, v, do = (bench.randn(*shape, d) for _ in range(4))
    k = torch.nn.functional.normalize(k, dim=-1)
    gate = -0.1 * bench.randn(*shape, 1, dtype=torch.float32).abs()
    gates = -0.1 * bench.randn(*shape, d, dtype=torch.float32).abs()
    beta = bench.randn(*shape, dtype=torch.float32).sigmoid()
    start = torch.zeros(batch, n_heads, d, d, device=bench.device)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    scale = d**-0.5
    mechanisms: dict[str, Callable[[], Tensor]] = {
        "flash": lambda: flash_forward(q, k, v, None, True, 0, 0, scale)[0],
        "one gate": lambda: chunkwise_forward(q, k, v, gate, start)[0],
        "channels": lambda: chunkwise_forward(q, k, v, gates, start)[0],
        "delta rule": lambda: delta_forward(q, k, v, beta, gate[..., 0], start)[0],
        FLA: lambda: _fla(q, k, v, gate),
    }
    rows: dict[tuple[str, str], dict] = {}
    for name, f in mechanisms.items():
        impl = "fla" if name == FLA else "triton"
        labels = dict(impl=impl, mechanism=name, n=n)
        like = mechanisms["one gate"]() if impl == "fla" else None
        rows["forward", name] = bench.row(f, like=like, **labels, direction="forward")
        back = _backward(f, leaves, do)
        rows["backward", name] = bench.row(back, **labels, direction="backward")
    return [_judged(key, rows) for key in rows]


def _backward(f: Callable[[], Tensor], leaves: list[Tensor], do: Tensor) -> Callable:
    """The backward pass alone: its graph is made by the first call, which is not timed."""
    graph: list[Tensor] = []

    def back() -> tuple[Tensor, ...]:
        if not graph:
            graph.append(f())
        return torch.autograd.grad(graph[0], leaves, do, retain_graph=True)

    return back


def _fla(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
    """flash-linear-attention's kernel, if installed; its layout is [B, n, H, d]."""
    from fla.ops.simple_gla import chunk_simple_gla

    rows = (x.transpose(1, 2) for x in (q, k, v))
    o, _ = chunk_simple_gla(*rows, g=gate[..., 0].transpose(1, 2), scale=1.0)
    return o.transpose(1, 2)


def _judged(key: tuple[str, str], rows: dict[tuple[str, str], dict]) -> dict:
    """The row with its ratios to flash attention, and to fla's kernel for one gate."""
    (direction, name), row = key, rows[key]
    if name == "flash":
        return row
    row = row | dict(over_flash=faster(row, rows[direction, "flash"]))
    if name != "one gate" or direction != "forward":
        return row
    return row | dict(over_fla=faster(row, rows[direction, FLA]))
