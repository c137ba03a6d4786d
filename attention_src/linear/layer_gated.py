"""Linear attention with gates, for each channel of the key (GLA) or one for all, on tensors."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_form, check_same_length, gate_channels
from attention_src.linear.layer_parts import (
    check_gates,
    check_qkv_tensors,
    decay_between,
    decay_from_start,
    decay_to_end,
    decay_whole,
    finish,
    run,
    start_state,
    uses_kernel,
)
from attention_src.tensors import call_kernel, without_autocast
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

SUB = 16  # positions in a band, where decays are computed for each pair and channel


@without_autocast
def gated_linear_attention(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H n d_k"],
    v: Float[Tensor, "B H n d_v"],
    log_gates: Float[Tensor, "B H n d_g"],
    *,
    scale: float | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_k d_v"]]:
    """As `reference_gated.gated_linear_attention`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k: [B, H, n, d_k]
        v: [B, H, n, d_v]
        log_gates: [B, H, n, d_k] or [B, H, n, 1], of any floating dtype; not validated under
            torch.compile
        scale, form, chunk, return_state: as for the reference
        initial_state: [B, H, d_k, d_v], as return_state=True gives it, or in half precision, which
            is computed with in float32
        impl: "torch", "triton" (the kernels: chunkwise, in chunks of their own size; d_k and d_v up
            to 256 with a gate for each channel) or "auto": "triton" for CUDA tensors of float16,
            bfloat16 or float32 where those conditions hold, else "torch"
    Returns: [B, H, n, d_v]  o, in q's dtype; with return_state (o, state), the state in float32 at
        least
    Raises:
        ValueError: as the reference; dtypes, devices or heads that differ; an unknown impl, or
            "triton" where it does not apply
    Cost: for each head: parallel 2 n² (d_k + d_v) FLOP; recurrent 4 n d_k d_v FLOP; chunkwise
        2 n (chunk (d_k + d_v) + 2 d_k d_v) FLOP; memory for gates O(16 n d_k), with one gate
        O(chunk n).
    Source: as for the reference; the 16 x 16 blocks are the paper's secondary-level chunking.
    """
    chunk = check_form(form, chunk, return_state=return_state)
    (q, k, v), dtype = check_qkv_tensors(q, k, v, scale)
    check_same_length(q, k)
    wanted = (*k.shape[:-1], gate_channels(log_gates, k.shape[-1]))
    log_gates = check_gates(log_gates, "[B, H, n, d_k] or [B, H, n, 1]", k, wanted)
    size = (*k.shape[:2], k.shape[-1], v.shape[-1])
    state = start_state(initial_state, "[B, H, d_k, d_v]", size, k=k)
    fits = log_gates.shape[-1] == 1 or max(q.shape[-1], v.shape[-1]) <= 256
    if uses_kernel(impl, form, q, fits=fits):
        from attention_src.linear.kernel import chunkwise_forward

        q, k, v = (x.to(dtype) for x in (q, k, v))
        o, state = call_kernel(chunkwise_forward, "torch", q, k, v, log_gates, state.contiguous())
    else:
        o, state = run_gated(form, chunk, q, k, v, log_gates, state)
    return finish(o, state, dtype, return_state)


def run_gated(
    form: str, chunk: int, q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Gated linear attention; all tensors are in the dtype of computation.

    Args:
        form, chunk: as for `gated_linear_attention`
        q, k: [B, H, n, d_k];  v: [B, H, n, d_v]
        log_gates: [B, H, n, d_k] or [B, H, n, 1]
        state: [B, H, d_k, d_v]  the state before the first position
    Returns: o [B, H, n, d_v], the state after the last position [B, H, d_k, d_v]
    """
    return run(form, chunk, _token, _block, [q, k, v, log_gates], state)


def _token(q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, state: Tensor):
    """One position: q, k [B, H, d_k], v [B, H, d_v], log_gates [B, H, d_k] or [B, H, 1]."""
    state = log_gates.exp()[..., :, None] * state + k[..., :, None] * v[..., None, :]
    return torch.einsum("bhk,bhkv->bhv", q, state), state


def _block(q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, state: Tensor):
    """n positions at once: q, k [B, H, n, d_k], v [B, H, n, d_v], log_gates [B, H, n, d_k or 1]."""
    from_start, to_end = decay_from_start(log_gates), decay_to_end(log_gates)  # as log_gates
    if log_gates.shape[-1] == 1:
        w = (q @ k.mT) * decay_between(log_gates)[..., 0]  # [B, H, n, n]
    else:
        w = _weights(q, k, log_gates)
    o = w @ v + (q * from_start) @ state
    return o, decay_whole(log_gates)[..., :, None] * state + (k * to_end).mT @ v


def _weights(q: Tensor, k: Tensor, log_gates: Tensor) -> Float[Tensor, "B H n n"]:
    """w_ij = Σ_c q_ic k_jc Π_{t=j+1..i} g_tc for j <= i, in bands of 16 rows.

    Inside a band the product is computed for each pair and channel. For a key before the band it
    splits at the band's start: the decay from j to the start, times the decay from the start to i.
    Neither factor exceeds 1, however strong the gates.
    """
    bands = []
    for start in range(0, max(q.shape[-2], 1), SUB):
        rows = slice(start, start + SUB)
        q_band, gates_band = q[..., rows, :], log_gates[..., rows, :]
        earlier = k[..., :start, :] * decay_to_end(log_gates[..., :start, :])  # [B, H, start, d_k]
        before = (q_band * decay_from_start(gates_band)) @ earlier.mT  # [B, H, 16, start]
        between = decay_between(gates_band)  # [B, H, 16, 16, d_k]
        inside = torch.einsum("bhic,bhjc,bhijc->bhij", q_band, k[..., rows, :], between)
        after = q.new_zeros(*inside.shape[:-1], q.shape[-2] - start - inside.shape[-1])
        bands.append(torch.cat([before, inside, after], dim=-1))
    return torch.cat(bands, dim=-2)
