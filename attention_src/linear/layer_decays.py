"""What is left of a state after some gates: `decays` on tensors.

Every exponent here is a sum of log gates, which are at most 0, so nothing overflows. None is the
difference of two such sums: beside a gate near 0 that difference would have no correct digits.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def from_start(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n c"]:
    """What position i still sees of the state before the first: Π_{t=0..i} g_t."""
    return log_gates.cumsum(dim=-2).exp()


def to_end(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n c"]:
    """What the state after the last position still holds of position j: Π_{t=j+1..n−1} g_t."""
    later = torch.cat([log_gates[..., 1:, :], torch.zeros_like(log_gates[..., :1, :])], dim=-2)
    return later.flip(-2).cumsum(dim=-2).flip(-2).exp()


def between(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch n n c"]:
    """What position i still sees of position j: Π_{t=j+1..i} g_t for j <= i, and 0 for j > i."""
    i = torch.arange(log_gates.shape[-2], device=log_gates.device)[:, None, None]
    j = i.transpose(0, 1)
    gate_i = torch.where(j < i, log_gates[..., :, None, :], 0)  # [..., n, n, c]
    return gate_i.cumsum(dim=-3).exp().masked_fill(j > i, 0)


def of_all(log_gates: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch c"]:
    """What the state after the last position holds of the state before the first: Π_t g_t."""
    return log_gates.sum(dim=-2).exp()
