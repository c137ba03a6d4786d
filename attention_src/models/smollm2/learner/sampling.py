"""The choice of the next token by the part sample."""

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from attention_src.models.smollm2.learner.dispatch import Parts
from attention_src.models.smollm2.sampling import Choose, Sampling


def own_chooser(
    parts: Parts | None,
    ours: Choose,
    sampling: Sampling,
    batch: int,
) -> Choose:
    """The function that chooses the next token of each text: your sample if there is one.

    Args:
        parts: of the model; None = it runs on none
        ours: what chooses if parts hold no sample
        sampling: without top_k, since sample takes none; top_p None = 1
        batch: number of texts
    Returns: a function from logits [B, n_vocabulary] to ids [B]
    Raises:
        ValueError: top_k is given
    """
    if parts is None or "sample" not in parts.own:
        return ours
    seed, top_k, temperature = sampling.seed, sampling.top_k, sampling.temperature
    if top_k is not None:
        raise ValueError(f"top_k is {top_k}, but the part sample takes none; it should be None")
    generators = [np.random.default_rng(None if seed is None else seed + b) for b in range(batch)]
    p = 1.0 if sampling.top_p is None else sampling.top_p

    def choose(logits: Float32[Tensor, "B n_vocabulary"]) -> Int64[Tensor, "B"]:
        rows = zip(logits.numpy(), generators, strict=True)
        return torch.tensor([parts.sample(row, temperature, p, g.random()) for row, g in rows])

    return choose
