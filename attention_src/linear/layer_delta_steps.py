"""The gated delta rule on validated tensors, for its layer and for the kernel's backward."""

import torch
from torch import Tensor

from attention_src.linear.layer_parts import (
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    run,
)


def run_delta(
    form: str, chunk: int, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, log_gates: Tensor,
    state: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gated delta rule; all tensors are in the dtype of computation.

    Args:
        form, chunk: as for `delta_rule`
        q, k: [B, H, n, d_k];  v: [B, H, n, d_v]
        beta, log_gates: [B, H, n]
        state: [B, H, d_k, d_v]  the state before the first position
    Returns: o [B, H, n, d_v], the state after the last position [B, H, d_k, d_v]
    """
    sequences = [q, k, v, beta[..., None], log_gates[..., None]]
    return run(form, chunk, _token, _block, sequences, state)


def _token(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, log_gates: Tensor, state: Tensor):
    """One position: q, k [B, H, d_k], v [B, H, d_v], beta, log_gates [B, H, 1]."""
    state = log_gates.exp()[..., None] * state  # [B, H, d_k, d_v]
    held = torch.einsum("bhk,bhkv->bhv", k, state)  # the value held for this key
    state = state + k[..., :, None] * (beta * (v - held))[..., None, :]
    return torch.einsum("bhk,bhkv->bhv", q, state), state


def _block(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, log_gates: Tensor, state: Tensor):
    """n positions at once: q, k [B, H, n, d_k], v [B, H, n, d_v], beta, log_gates [B, H, n, 1].

    As `reference_delta._block`, with one solution for write and erase.
    """
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # [B, H, n, 1]
    between, whole = decay_between(log_gates)[..., 0], decay_whole(log_gates)
    overlap = beta * (k @ k.mT) * between  # [B, H, n, n]; read below the diagonal only
    targets = beta * torch.cat([v, from_start * k], dim=-1)  # [B, H, n, d_v + d_k]
    solution = torch.linalg.solve_triangular(overlap, targets, upper=False, unitriangular=True)
    write, erase = solution.split([v.shape[-1], k.shape[-1]], dim=-1)
    added = write - erase @ state  # [B, H, n, d_v]
    o = ((q @ k.mT) * between) @ added + from_start * (q @ state)
    return o, whole[..., None] * state + (k * to_end).mT @ added
