"""The delta rule's recurrence and its chunks, on tensors whose shapes were checked."""

import torch
from torch import Tensor

from attention_src.linear.layer_parts import between, from_start, of_all, run, to_end


def run_delta(
    form: str,
    chunk: int,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    beta: Tensor,
    log_gates: Tensor,
    state: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gated delta rule on checked arguments, all in the dtype of computation.

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

    Position i finds what the state held, and what each earlier j of the block added:

        added_i = β_i (v_i − G_i S^T k_i − Σ_{j<i} (k_i·k_j) G_ij added_j)

    with G_i, G_ij the gates since the block's start and since j: a triangular system. Its solution
    is linear in the state, so `write` and `erase` do without it: all blocks could do them at once.
    """
    since_start, since = from_start(log_gates), between(log_gates)[..., 0]
    overlap = beta * (k @ k.mT) * since  # [B, H, n, n]; only below the diagonal is it read
    targets = beta * torch.cat([v, since_start * k], dim=-1)  # [B, H, n, d_v + d_k]
    solution = torch.linalg.solve_triangular(overlap, targets, upper=False, unitriangular=True)
    write, erase = solution.split([v.shape[-1], k.shape[-1]], dim=-1)
    added = write - erase @ state  # [B, H, n, d_v]
    o = ((q @ k.mT) * since) @ added + since_start * (q @ state)
    state = of_all(log_gates)[..., None] * state + (k * to_end(log_gates)).mT @ added
    return o, state
