"""How fast SmolLM2 generates, with and without a cache, and with how many threads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.experiments import ORDINARY, Progress, say
from attention_src.models.smollm2.generate import generate_ids
from attention_src.models.smollm2.parts import project
from attention_src.shapes import check_size
from attention_src.timing import now_ms

TRIAL_MS = 200.0  # long enough to meet the other programs


@dataclass(frozen=True)
class Speed:
    """One generation, timed.

    n: tokens in the prompt
    prefill_s: seconds until the first new token
    tokens_per_s: for the tokens after the first
    cache_bytes: of the caches at the end; 0 without a cache
    """

    n: int
    prefill_s: float
    tokens_per_s: float
    cache_bytes: int


def generation_speed(
    model: SmolLM2, n: int, n_new: int = 8, *, cache: Any = "contiguous", impl: str = "auto"
) -> Speed:
    """Time the generation of n_new tokens after n random ones, greedily.

    Args:
        model: SmolLM2
        n: tokens in the prompt
        n_new: tokens to generate, at least 2
        cache: as for `SmolLM2.new_caches`; None = no cache
        impl: of attention
    Returns: Speed
    Raises:
        ValueError: n below 1 or n_new below 2; an unknown cache or impl
    """
    n, n_new = check_size(n, "n", at_least=1), check_size(n_new, "n_new", at_least=2)
    ids = torch.randint(*ORDINARY, (n,), generator=torch.Generator().manual_seed(0))
    caches = None if cache is None else model.new_caches(cache, max_tokens=n + n_new)
    times_ms = [now_ms()]

    def record(token: int) -> None:
        times_ms.append(now_ms())

    generate_ids(model, [ids.tolist()], n_new, caches=caches, impl=impl, on_token=record)
    start, first, *_, end = times_ms
    held = sum(c.nbytes for c in caches or ())
    return Speed(n, (first - start) / 1e3, 1e3 * (n_new - 1) / (end - first), held)


def with_and_without_cache(
    model: SmolLM2,
    *,
    contexts: Sequence[int] = (64, 256, 512),
    n_new: int = 5,
    progress: Progress = print,
) -> dict[str | None, list[Speed]]:
    """Time generation with a contiguous cache and without a cache, at growing contexts.

    Args:
        model: SmolLM2
        contexts: prompt lengths
        n_new: tokens to generate after each
        progress: called with a line for each step; None = silent
    Returns: for "contiguous" and None, one Speed per context
    Raises:
        ValueError: as `generation_speed`
    Cost: without a cache, n_new passes over the whole context.
    """
    generation_speed(model, 8, 2)  # the first pass of all is slower
    found: dict[str | None, list[Speed]] = {"contiguous": [], None: []}
    for cache, speeds in found.items():
        for n in contexts:
            say(progress, f"{cache or 'no'} cache: {n_new} tokens after {n}")
            speeds.append(generation_speed(model, n, n_new, cache=cache))
    return found


def fastest_threads(model: SmolLM2) -> int:
    """How many threads are fastest right now: time some products with each number.

    The threads of a product wait for each other at its end. Where other programs keep the cores
    busy, that wait is longer than the product, and fewer threads are faster:

        torch.set_num_threads(fastest_threads(model))

    Args:
        model: SmolLM2, on the CPU
    Returns: at least 1, at most torch's own number, which stays as it is
    Cost: TRIAL_MS for each number that is tried, at most four.
    """
    most = torch.get_num_threads()
    if most == 1:
        return 1
    x, weight = model.weights.final_norm[None], model.weights.layers[0].gate_up
    per_ms = {}
    for threads in sorted({most, max(1, most - 1), max(1, most // 2), 1}, reverse=True):
        torch.set_num_threads(threads)
        project(x, weight)  # starts the threads
        start_ms, n_products = now_ms(), 0
        while now_ms() - start_ms < TRIAL_MS:
            project(x, weight)
            n_products += 1
        per_ms[threads] = n_products / (now_ms() - start_ms)
    torch.set_num_threads(most)
    return max(per_ms, key=lambda threads: per_ms[threads])
