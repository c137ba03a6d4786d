"""Probes: record or change what SmolLM2 computes, without a second forward pass."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Float32
from torch import Tensor

from attention_src.attention.layer import attention_scores
from attention_src.models.smollm2.config import Config
from attention_src.softmax.layer import softmax

KEPT = ("weights", "scores", "hidden")


class Probe:
    """Is shown what the forward pass computes. This one does nothing: derive your own."""

    def hidden(self, depth: int, x: Float[Tensor, "B n d_model"]) -> None:
        """Called with the hidden states after `depth` layers: 0 is the embedding, 30 the end.

        Args:
            depth: from 0 to the number of layers
            x: [B, n, d_model]; after the last layer, before the final norm
        """

    def attended(
        self,
        layer: int,
        q: Float[Tensor, "B H n d_head"],
        k: Float[Tensor, "B H_kv n d_head"],
        v: Float[Tensor, "B H_kv n d_head"],
        o: Float[Tensor, "B H n d_head"],
    ) -> Float[Tensor, "B H n d_head"]:
        """Called with the heads of one layer.

        Args:
            layer: counted from 0
            q: [B, H, n, d_head]  rotated
            k, v: [B, H_kv, n, d_head]  k rotated; the new tokens only, without cached ones
            o: [B, H, n, d_head]
        Returns: [B, H, n, d_head]  what the model uses instead of o
        """
        return o


@dataclass(frozen=True)
class Trace:
    """Intermediate values of one pass; None where not kept. L layers, H heads, n tokens.

    tokens: n strings
    logits: [n, n_vocabulary]
    weights: [L, H, n, n]  each row sums to 1
    scores: [L, H, n, n]  scaled; −inf where hidden; weights = softmax(scores)
    hidden: [L + 1, n, d_model]  hidden states after 0 … L layers
    """

    tokens: list[str]
    logits: Float32[Tensor, "n n_vocabulary"]
    weights: Float32[Tensor, "L H n n"] | None
    scores: Float32[Tensor, "L H n n"] | None
    hidden: Float32[Tensor, "L_1 n d_model"] | None

    @property
    def norms(self) -> Float32[Tensor, "L_1 n"]:
        """[L + 1, n]  the Euclidean norm of each hidden state.

        Raises:
            ValueError: hidden states were not kept
        """
        if self.hidden is None:
            raise ValueError('hidden was not kept; trace with keep=("hidden",)')
        return self.hidden.norm(dim=-1)


class Recorder(Probe):
    """Keeps weights, scores and hidden states of one text.

    Args:
        config: the model's sizes
        n: number of tokens
        keep: any of "weights", "scores", "hidden"
        mask: as given to the model: bool, broadcast to [1, H, n, n]
    Raises:
        ValueError: an unknown name in keep
    """

    def __init__(self, config: Config, n: int, keep: Iterable[str], mask: Any = None) -> None:
        keep = (keep,) if isinstance(keep, str) else tuple(keep)
        for name in keep:
            if name not in KEPT:
                raise ValueError(f"keep holds {name!r}; it should be some of {KEPT}")
        square = (config.n_layers, config.n_heads, n, n)
        self.weights = torch.empty(square) if "weights" in keep else None
        self.scores = torch.empty(square) if "scores" in keep else None
        self.states = (
            torch.empty(config.n_layers + 1, n, config.d_model) if "hidden" in keep else None
        )
        self.mask = mask

    def hidden(self, depth: int, x: Tensor) -> None:
        """As `Probe.hidden`: keep it."""
        if self.states is not None:
            self.states[depth] = x[0]

    def attended(self, layer: int, q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> Tensor:
        """As `Probe.attended`: keep weights and scores, change nothing."""
        if self.weights is not None or self.scores is not None:
            s = attention_scores(q, k, mask=self.mask, causal=True)
            if self.scores is not None:
                self.scores[layer] = s[0]
            if self.weights is not None:
                self.weights[layer] = softmax(s)[0]
        return o

    def trace(self, tokens: list[str], logits: Tensor) -> Trace:
        """Collect what was kept.

        Args:
            tokens: n texts
            logits: [n, n_vocabulary]
        Returns: the trace
        """
        return Trace(tokens, logits, self.weights, self.scores, self.states)
