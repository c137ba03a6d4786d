"""Rotary positions on queries and keys against a copy of the same bytes, and against torch."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_src.rope.layer import apply_rotation, cos_sin
from benchmarks.running import Bench, add_goal, add_rate, add_share

GOAL = 0.85  # of the copy's bytes per second
D, WIDTH, N = 128, 2048, 4096
TOKENS = (16384, 65536)  # the smaller case moves little more than a chip's cache holds


def run(bench: Bench) -> list[dict]:
    """A row for each size, pairing, direction and implementation."""
    rows = []
    for tokens in bench.size(TOKENS, (64,)):
        for interleaved in (False, True):
            rows += _case(bench, tokens, interleaved)
    return rows


def _case(bench: Bench, tokens: int, interleaved: bool) -> list[dict]:
    n, d = bench.size((N, D), (32, 16))
    shape = (tokens // n, bench.size(WIDTH // D, 2), n, d)
    q, k, dq, dk = (bench.randn(*shape) for _ in range(4))
    leaves = [x.requires_grad_() for x in (q, k)]
    cos, sin = cos_sin(torch.arange(n, device=bench.device), d)
    labels = dict(tokens=tokens, pairs="interleaved" if interleaved else "half-split")
    n_bytes = 2 * (q.nbytes + k.nbytes) + cos.nbytes + sin.nbytes

    def turn(impl: str) -> tuple[Tensor, ...]:
        return apply_rotation(*leaves, cos, sin, interleaved=interleaved, impl=impl)

    def turn_back(impl: str) -> Callable[[], tuple[Tensor, ...]]:
        turned = turn(impl)
        return lambda: torch.autograd.grad(turned, leaves, (dq, dk), retain_graph=True)

    copy = bench.copy_row(n_bytes, **labels, direction="either")
    rows = [copy]
    forward, backward = turn("torch"), turn_back("torch")()
    for impl in ("triton", "torch"):
        row = bench.row(
            lambda impl=impl: turn(impl), like=forward, impl=impl, **labels, direction="forward"
        )
        rows.append(_judged(row, n_bytes, copy))
        row = bench.row(
            _first_made(turn_back, impl), like=backward, impl=impl, **labels, direction="backward"
        )
        rows.append(_judged(row, n_bytes, copy))
    return rows


def _first_made(make: Callable, impl: str) -> Callable[[], tuple[Tensor, ...]]:
    """What make(impl) returns, made by the first call, so that its failure is recorded too."""
    made: list[Callable] = []

    def call() -> tuple[Tensor, ...]:
        if not made:
            made.append(make(impl))
        return made[0]()

    return call


def _judged(row: dict, n_bytes: int, copy: dict) -> dict:
    row = add_share(add_rate(row, n_bytes), copy)
    return add_goal(row, GOAL, row["of_copy"]) if row["impl"] == "triton" else row
