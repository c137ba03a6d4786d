"""With how many threads SmolLM2 is fastest."""

import torch

from attention_src.models.smollm2.model import SmolLM2
from attention_src.models.smollm2.operations import project
from attention_src.timing import now_ms

TRIAL_MS = 200.0  # long enough for other programs to interfere


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
