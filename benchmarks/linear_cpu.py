"""Linear attention on a CPU: cost that grows with n, the crossover with SDPA, and decoding.

Everything runs in one thread. A time is the least processor time of several runs, so that other
work on the machine hardly matters.

python -m benchmarks.linear_cpu             measure, print the table, keep the result
python -m benchmarks.linear_cpu --smoke     tiny sizes, nothing is kept
"""

import argparse
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_src.linear.layer import delta_rule, gated_linear_attention, linear_attention
from attention_src.timing import fastest_ms
from benchmarks.record import format_table, provenance, save

BATCH, HEADS, D = 1, 2, 64
LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384)
REPEATS = 5


def main() -> None:
    """Print three tables, and save their rows unless --smoke is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear_cpu", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing is kept")
    smoke = parser.parse_args().smoke
    lengths = (8, 16, 32) if smoke else LENGTHS
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rows = growth(lengths)
    tables = {"growth": rows, "summary": summary(rows, lengths), "decode": decode(lengths)}
    for title, table in tables.items():
        print(f"\n{title}\n{format_table(table)}")
    if not smoke:
        source = provenance() | dict(chip="cpu", processor=processor(), threads=1)
        kept = [dict(table=title) | row for title, table in tables.items() for row in table]
        print(f"kept in {save('linear', kept, source)}")


def growth(lengths: tuple[int, ...]) -> list[dict]:
    """A row for each length, implementation and direction."""
    rows = []
    for n in lengths:
        for name, (run, arguments) in implementations(n).items():
            for direction, f in directions(run, arguments).items():
                took_ms = fastest_ms({name: f}, REPEATS, clock="processor")[name]
                row = dict(impl=name, direction=direction, n=n, processor_ms=took_ms)
                rows.append(row)
    return rows


def implementations(n: int) -> dict[str, tuple[Callable, list[Tensor]]]:
    """The functions to time, with their arguments for a causal sequence."""
    q, k, v = (torch.randn(BATCH, HEADS, n, D) for _ in range(3))
    k = F.normalize(k, dim=-1)
    log_gates, beta = F.logsigmoid(torch.randn_like(k) + 3), torch.rand(BATCH, HEADS, n)
    return {
        "sdpa": (partial(F.scaled_dot_product_attention, is_causal=True), [q, k, v]),
        "linear": (linear_attention, [q, k, v]),
        "gated linear": (gated_linear_attention, [q, k, v, log_gates]),
        "delta rule": (delta_rule, [q, k, v, beta]),
    }


def directions(run: Callable, arguments: list[Tensor]) -> dict[str, Callable]:
    """Forward without gradients; both = forward and backward."""
    leaves = [x.clone().requires_grad_() for x in arguments]

    def forward() -> Tensor:
        with torch.no_grad():
            return run(*arguments)

    return {
        "forward": forward,
        "both": lambda: torch.autograd.grad(run(*leaves).sum(), leaves),
    }


def summary(rows: list[dict], lengths: tuple[int, ...]) -> list[dict]:
    """For each implementation: how its time grows, and the length from which it beats SDPA."""
    ms = {(row["impl"], row["direction"], row["n"]): row["processor_ms"] for row in rows}
    long, short, out = lengths[-1], lengths[-3], []
    for impl, direction in dict.fromkeys(key[:2] for key in ms):
        row: dict[str, Any] = dict(impl=impl, direction=direction)
        row[f"{long}_over_{short}"] = ms[impl, direction, long] / ms[impl, direction, short]
        if impl != "sdpa":
            slower = [n for n in lengths if ms[impl, direction, n] >= ms["sdpa", direction, n]]
            longer = [n for n in lengths if not slower or n > slower[-1]]
            row |= dict(faster_than_sdpa_from=longer[0] if longer else "nowhere measured")
        out.append(row)
    return out


def decode(lengths: tuple[int, ...]) -> list[dict]:
    """One more token after n: from the state, and from a cache of keys and values."""
    rows = []
    for n in lengths:
        run, arguments = implementations(n)["linear"]
        _, state = run(*arguments, return_state=True)
        q, k, v = (x[:, :, -1:] for x in arguments)
        keys, values = arguments[1:]
        one = dict(form="recurrent", initial_state=state, return_state=True)
        steps: dict[str, Callable] = {
            "linear": lambda one=one, q=q, k=k, v=v: linear_attention(q, k, v, **one),
            "sdpa": lambda q=q, k=keys, v=values: F.scaled_dot_product_attention(q, k, v),
        }
        for impl, step in steps.items():
            with torch.no_grad():
                took_ms = fastest_ms({impl: step}, 20 * REPEATS, clock="processor")[impl]
            rows.append(dict(impl=impl, context=n, processor_ms=took_ms))
    return rows


def processor() -> str:
    """The CPU's name, if the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
