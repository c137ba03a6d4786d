"""Where a token's time goes, and what bounds it: parts, products, reading, a busy machine."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_src.models.smollm2 import SmolLM2, operations
from attention_src.models.smollm2.experiments.speed import fastest_threads
from attention_src.models.smollm2.forward import forward
from attention_src.models.smollm2.generate import generate_ids
from attention_src.models.smollm2.int4 import PackedMatrix
from attention_src.models.smollm2.one_token.token import compiled_loops
from attention_src.models.smollm2.operations import project
from attention_src.timing import fastest_ms, now_ms

FORWARD = sys.modules[forward.__module__]
STEPS = {  # what the forward pass calls, and how the table names it
    "rms_norm": "norms",
    "split_qkv": "rotation",
    "apply_rotation": "rotation",
    "attend_with_cache": "attention and cache",
    "feed_forward": "silu and gate",
    "project": "products",
}
COMPILED = {  # the same for one token on packed weights
    "add_norm": "norms",
    "attend": "rotation, attention and cache",
    "gate": "silu and gate",
}
SPIN = "while True: pass"


def token(models: Mapping[str, SmolLM2], ids: list[int], n_new: int, repeats: int) -> list[dict]:
    """How long each part of the forward pass takes for a token after ids, with its Python.

    "the rest" is what no function stands for: sums, views, the embedding, angles, checks.
    """
    rows = []
    for name, model in models.items():
        runs = [_parts_ms(model, ids, n_new) for _ in range(repeats)]
        least = min(runs, key=lambda spent: sum(spent.values()))
        whole = sum(least.values())
        for part, ms in least.items():
            row = dict(context=len(ids), by=name, part=part, ms=ms / n_new, share=ms / whole)
            rows.append(row)
    return rows


def _parts_ms(model: SmolLM2, ids: list[int], n_new: int) -> dict[str, float]:
    """Milliseconds of n_new passes, by part; each without the parts that it calls."""
    spent: dict[str, float] = defaultdict(float)
    nested = 0.0

    def timed(function: Callable, part: str) -> Callable:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal nested
            outer, nested, start_ms = nested, 0.0, now_ms()
            result = function(*arguments, **options)
            took = now_ms() - start_ms
            last = any(x is model.weights.unembedding for x in arguments)
            spent["unembedding" if last and part == "products" else part] += took - nested
            nested = outer + took
            return result

        return run

    caches = model.new_caches()
    new = model.logits(ids, caches=caches, last=True).argmax(-1)
    with ExitStack() as stack:
        for name, part in STEPS.items():
            stack.enter_context(patch.object(FORWARD, name, timed(getattr(FORWARD, name), part)))
        stack.enter_context(patch.object(operations, "project", timed(project, "products")))
        multiply = timed(PackedMatrix.multiply_rows, "products")
        stack.enter_context(patch.object(PackedMatrix, "multiply_rows", multiply))
        for name, part in COMPILED.items() if compiled_loops() else ():
            loop = timed(getattr(compiled_loops(), name), part)
            stack.enter_context(patch.object(compiled_loops(), name, loop))
        logits = timed(model.logits, "the rest")
        for _ in range(n_new):
            new = logits(new, caches=caches, last=True).argmax(-1)
    return dict(spent)


def products(models: Mapping[str, SmolLM2], rows: tuple[int, ...], repeats: int) -> list[dict]:
    """All matrix products of one pass, for each number of rows: `project` and torch's own."""
    matrices, packed = (all_matrices(models[name]) for name in ("float32", "int4"))
    stored = [m.T.contiguous() for m in matrices]  # [d_out, d_in], as nn.Linear has them
    n_weights, found = sum(m.numel() for m in matrices), []
    for n in rows:
        made = {d: torch.randn(1, n, d) for d in {m.shape[0] for m in matrices}}
        x = [made[m.shape[0]] for m in matrices]
        ways = {
            "project": partial(multiply_all, project, x, matrices),
            "x @ w": partial(multiply_all, torch.matmul, x, matrices),
            "nn.Linear": partial(multiply_all, F.linear, x, stored),
            "project, int4": partial(multiply_all, project, x, packed),
        }
        for name, ms in fastest_ms(ways, repeats).items():
            n_bytes = sum(m.nbytes for m in (packed if "int4" in name else matrices))
            rate = dict(gb_per_s=n_bytes / ms / 1e6, gflop_per_s=2e-6 * n * n_weights / ms)
            found.append(dict(rows=n, by=name, ms=ms, **rate))
    return found


def multiply_all(multiply: Callable, inputs: list[Tensor], matrices: list) -> list[Tensor]:
    """Multiply every input by its matrix."""
    return [multiply(x, m) for x, m in zip(inputs, matrices, strict=True)]


def floor(models: Mapping[str, SmolLM2], repeats: int, speed: list[dict]) -> list[dict]:
    """Compare the time of a token with that of reading every weight once."""
    read, n_bytes = {}, {}
    for name, model in models.items():
        stored = [_stored(m) for m in all_matrices(model)]
        flat = [x.flatten().view(torch.float32) for xs in stored for x in xs]
        n_bytes[name] = sum(x.nbytes for x in flat)
        read[name] = partial(_sum_all, flat)
    least, rows = fastest_ms(read, repeats), []
    for name, ms in least.items():
        steps = {"read every weight": ms}
        for row in speed:
            if row["what"] == "decode" and row["by"] == name:
                steps[f"a token after {row['context']}"] = row["ms"]
        for step, took in steps.items():
            rate = dict(gb_per_s=n_bytes[name] / took / 1e6, times_the_floor=took / ms)
            rows.append(dict(by=name, step=step, ms=took, **rate))
    return rows


def all_matrices(model: SmolLM2) -> list[Any]:
    """Every matrix that a pass multiplies by, as [d_in, d_out]."""
    layers = model.weights.layers
    matrices = [m for layer in layers for m in (layer.qkv, layer.output, layer.gate_up, layer.down)]
    return [*matrices, model.weights.unembedding]


def _stored(matrix: Any) -> list[Tensor]:
    return [matrix.codes, matrix.scale_zero] if isinstance(matrix, PackedMatrix) else [matrix]


def _sum_all(parts: list[Tensor]) -> list[Tensor]:
    return [x.sum() for x in parts]


def busy(
    models: Mapping[str, SmolLM2], ids: list[int], n_new: int, repeats: int, threads: int
) -> list[dict]:
    """Tokens/s with each number of threads, alone and beside programs that keep all cores busy.

    The last column is the number that `fastest_threads` chooses then.
    """
    rows = []
    for others in (0, threads):
        spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(others)]
        try:
            for name, model in models.items():
                torch.set_num_threads(threads)
                chosen = fastest_threads(model)
                for n in range(1, threads + 1):
                    torch.set_num_threads(n)
                    per_s = _median_tokens_per_s(model, ids, n_new, repeats)
                    row = dict(other_programs=others, by=name, threads=n, tokens_per_s=per_s)
                    rows.append(row | dict(chosen=chosen))
        finally:
            torch.set_num_threads(threads)
            for process in spinning:
                process.kill()
                process.wait()
    return rows


def _median_tokens_per_s(model: SmolLM2, ids: list[int], n_new: int, repeats: int) -> float:
    """The median, because the fastest run among other programs is luck."""
    found = []
    for _ in range(repeats):
        times_ms: list[float] = []
        record = partial(_record, times_ms)
        generate_ids(model, [ids], 1 + n_new, caches=model.new_caches(), on_token=record)
        found.append(1e3 * n_new / (times_ms[-1] - times_ms[0]))
    return sorted(found)[len(found) // 2]


def _record(times_ms: list[float], token: int) -> None:
    times_ms.append(now_ms())
