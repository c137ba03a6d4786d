"""How fast SmolLM2 generates, with a cache and without."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.caches import is_none
from attention_src.models.smollm2.experiments import ORDINARY, Progress, say
from attention_src.models.smollm2.generate import generate_ids
from attention_src.models.smollm2.sampling import chooser
from attention_src.shapes import check_size


@dataclass(frozen=True)
class Speed:
    """One generation, timed.

    n: tokens in the prompt
    prefill_s: seconds until the first new token
    tokens_per_s: of those that follow
    cache_bytes: of the caches at the end, 0 without
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
        cache: None or "none", or as for `SmolLM2.new_caches`
        impl: of attention
    Returns: Speed
    Raises:
        ValueError: n below 1 or n_new below 2; an unknown cache or impl
    """
    n, n_new = check_size(n, "n", at_least=1), check_size(n_new, "n_new", at_least=2)
    ids = torch.randint(*ORDINARY, (n,), generator=torch.Generator().manual_seed(0))
    caches = None if is_none(cache) else model.new_caches(cache, max_tokens=n + n_new)
    times = [time.perf_counter()]

    def note(token: int) -> None:
        times.append(time.perf_counter())

    generate_ids(model, [ids.tolist()], n_new, chooser(), frozenset(), caches, impl, note)
    held = sum(c.nbytes for c in caches or ())
    return Speed(n, times[1] - times[0], (n_new - 1) / (times[-1] - times[1]), held)


def with_and_without_cache(
    model: SmolLM2,
    *,
    contexts: Sequence[int] = (64, 256, 512),
    n_new: int = 5,
    progress: Progress = print,
) -> dict[str, list[Speed]]:
    """Time generation with a contiguous cache and with none, at growing contexts.

    Args:
        model: SmolLM2
        contexts: prompt lengths
        n_new: tokens to generate at each
    Returns: by "contiguous" and "none" one Speed for each context
    Raises:
        ValueError: as `generation_speed`
    Cost: without a cache, n_new passes over the whole context.
    """
    generation_speed(model, 8, 2)  # the first pass of all is slower
    found: dict[str, list[Speed]] = {"contiguous": [], "none": []}
    for cache, speeds in found.items():
        for n in contexts:
            say(progress, f"cache {cache}: {n_new} tokens after {n}")
            speeds.append(generation_speed(model, n, n_new, cache=cache))
    return found
