"""What the experiments with SmolLM2 share: texts, perplexity and progress reports."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Int64
from torch import Tensor

from attention_src.models.corpus import load_text
from attention_src.models.smollm2.model import SmolLM2

Progress = Callable[[str], Any] | None
ORDINARY = (1000, 40000)  # ids that are neither special tokens nor single bytes


def say(progress: Progress, step: str) -> None:
    """Report a step.

    Args:
        progress: called with the step; None = say nothing
        step: what comes next
    """
    if progress is not None:
        progress(step)


def corpus_ids(model: SmolLM2, n: int, text: str = "rivers") -> Int64[Tensor, "n"]:
    """The first n token ids of one of the course's texts.

    Args:
        model: SmolLM2
        n: number of tokens, at least 2
        text: one of `corpus.TEXTS`
    Returns: int64 [n]
    Raises:
        ValueError: n below 2 or above the text's length; there is no such text
    """
    ids = model.encode(load_text(text))
    if not 2 <= n <= len(ids):
        raise ValueError(f"n is {n}; it should be from 2 to the {len(ids)} tokens of {text!r}")
    return ids[:n]


def perplexity(nll: Tensor) -> float:
    """The number of equally probable tokens that would be as uncertain.

        perplexity = exp(mean of nll)

    Args:
        nll: [n]  negative log-likelihood of each token, nats
    Returns: at least 1
    """
    return float(nll.mean().exp())
