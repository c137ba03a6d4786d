"""From logits to the next token."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from attention_src.shapes import check_number, check_size, is_number
from attention_src.softmax.layer import softmax

Choose = Callable[[Float32[Tensor, "B n_vocabulary"]], Int64[Tensor, "B"]]


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn.

    Args:
        temperature: 0 = the most probable token, and nothing is drawn; below 1 makes probable
            tokens more probable
        top_k: keep the k most probable tokens; None = all
        top_p: keep the fewest most probable tokens whose probabilities sum to at least this
        seed: text b draws with seed + b; None = a new one each time
    Raises:
        ValueError: values out of range; top_k, top_p or a seed at temperature 0
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        check_number(self.temperature, "temperature", at_least=0)
        if self.top_k is not None:
            check_size(self.top_k, "top_k", at_least=1)
        if self.seed is not None:
            check_size(self.seed, "seed")
        if self.top_p is not None and not (is_number(self.top_p) and 0 < self.top_p <= 1):
            raise ValueError(f"top_p is {self.top_p!r}; it should be above 0 and at most 1")
        for name in ("top_k", "top_p", "seed"):
            value = getattr(self, name)
            if self.temperature == 0 and value is not None:
                raise ValueError(
                    f"{name} is {value}, but temperature is 0: the most probable token is taken, "
                    f"and nothing is drawn. {name} should be None, or temperature above 0"
                )


def chooser(sampling: Sampling, *, batch: int = 1, device: torch.device | str = "cpu") -> Choose:
    """Make a function that chooses the next token of each of `batch` texts.

    Args:
        sampling: temperature 0 = `greedy`
        batch: number of texts
        device: of the logits
    Returns: a function from logits [B, n_vocabulary] to ids [B]
    Raises:
        ValueError: seed + batch above 2**64
    """
    if sampling.temperature == 0:
        return greedy
    seed = None if sampling.seed is None else int(sampling.seed)
    if seed is not None and seed + batch > 2**64:
        raise ValueError(f"seed is {seed}; seed + batch should be at most 2**64")
    generators = [torch.Generator(device) for _ in range(batch)]
    for b, generator in enumerate(generators):
        generator.seed() if seed is None else generator.manual_seed(seed + b)

    def draw(logits: Tensor) -> Tensor:
        rows = zip(probabilities(logits, sampling), generators, strict=True)
        return torch.cat([torch.multinomial(row, 1, generator=g) for row, g in rows])

    return draw


def greedy(logits: Float32[Tensor, "B n_vocabulary"]) -> Int64[Tensor, "B"]:
    """Choose the most probable token.

    Args:
        logits: [B, n_vocabulary]
    Returns: int64 [B]  token ids
    """
    if logits.is_cpu and logits.dtype == torch.float32:  # NumPy is ten times as fast here
        ids = np.argmax(logits.detach().numpy(), axis=-1)
        return torch.as_tensor(ids, device=logits.device)  # not on torch's default device
    return logits.argmax(dim=-1)


def probabilities(
    logits: Float32[Tensor, "*rows n_vocabulary"], sampling: Sampling
) -> Float32[Tensor, "*rows n_vocabulary"]:
    """The distribution that a token is drawn from: temperature first, then top-k, then top-p.

        p = softmax(logits / temperature), 0 outside the kept tokens, then scaled to sum 1

    Args:
        logits: [..., n_vocabulary]
        sampling: of a temperature above 0
    Returns: [..., n_vocabulary]  each row sums to 1
    Raises:
        ValueError: the temperature is 0
    Source: Fan et al. 2018, arXiv:1805.04833 (top-k); Holtzman et al. 2020, arXiv:1904.09751,
        section 3.1 (top-p, "nucleus").
    """
    temperature, top_k, top_p = float(sampling.temperature), sampling.top_k, sampling.top_p
    if temperature == 0:
        raise ValueError("temperature is 0; to divide by, it should be above 0")
    # With the largest shifted to 0, dividing by a tiny temperature cannot overflow to inf - inf.
    scaled = (logits - logits.amax(dim=-1, keepdim=True)) / max(temperature, 1e-30)
    p, order = softmax(scaled).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        p[..., top_k:] = 0
        p = p / p.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:
        before = p.cumsum(dim=-1) - p  # sum over the more probable tokens
        p = p.masked_fill((before >= float(top_p)) & (before > 0), 0)  # the first always stays
        p = p / p.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)
