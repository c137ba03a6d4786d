"""Linear attention with a gate for each channel of the key (GLA), on tensors, with gradients."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_form, check_same_length
from attention_src.linear.layer_parts import (
    IMPLS,
    answer,
    between,
    from_start,
    gates,
    initial,
    of_all,
    run,
    tensors,
    to_end,
    uses_kernel,
)
from attention_src.shapes import check_impl
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

SUB = 16  # positions whose products of gates are made pair by pair


def gated_linear_attention(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H n d_k"],
    v: Float[Tensor, "B H n d_v"],
    log_gates: Float[Tensor, "B H n d_k"],
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_k d_v"]]:
    """Causal linear attention that forgets each channel of the key at its own, chosen pace.

        S_t  = diag(g_t) S_{t−1} + k_t v_t^T,   o_t = S_t^T q_t,   g = exp(log_gates)
        w_ij = Σ_c q_ic k_jc Π_{t=j+1..i} g_tc   for j <= i,   o = w v

    Args:
        q: [B, H, n, d_k]  queries; they are not scaled, and no feature map is applied
        k: [B, H, n, d_k]  keys
        v: [B, H, n, d_v]  values
        log_gates: [B, H, n, d_k]  natural logarithms of the gates, at most 0; −inf forgets all;
            any floating dtype. Under torch.compile their values are not looked at
        form: "parallel", "recurrent" or "chunkwise"; they differ in cost and in rounding only
        chunk: positions in a chunk, for "chunkwise"
        initial_state: [B, H, d_k, d_v]  what earlier positions left; None = nothing
        return_state: whether to return the state after the last position too
        impl: "torch", "triton" (the kernels: chunkwise, in chunks of their own size; d_k and d_v up
            to 256) or "auto": "triton" for CUDA tensors of float16, bfloat16 or float32 where those
            conditions hold, else "torch"
    Returns: [B, H, n, d_v]  o, in q's dtype; with return_state (o, state), the state in float32 at
        least
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; a form, chunk or impl that does not
            exist; a log gate above 0
    Cost: for each head: parallel 2 n² (d_k + d_v) FLOP; recurrent 4 n d_k d_v FLOP; chunkwise
        2 n (chunk (d_k + d_v) + 2 d_k d_v) FLOP; memory for gates O(16 n d_k).
    Source: Yang et al. 2023, arXiv:2312.06635, section 4 (their α_t is our g_t; the 16 x 16 blocks
        are their secondary-level chunking).
    """
    check_impl(impl, IMPLS)
    chunk = check_form(form, chunk)
    (q, k, v), dtype = tensors(q, k, v)
    check_same_length(q, k)
    log_gates = gates(log_gates, "[B, H, n, d_k]", k, k.shape)
    state = initial(initial_state, k, v)
    fits = max(q.shape[-1], v.shape[-1]) <= 256
    if uses_kernel(impl, form, q, fits):
        from attention_src.linear.kernel import chunkwise_forward

        rows = (x.to(dtype) for x in (q, k, v))
        o, state = chunkwise_forward(*rows, log_gates, state.contiguous())
        return answer(o, state, dtype, return_state)
    o, state = run(form, chunk, _token, _block, [q, k, v, log_gates], state)
    return answer(o, state, dtype, return_state)


def _token(q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, state: Tensor):
    """One position: q, k, log_gates [B, H, d_k], v [B, H, d_v]."""
    state = log_gates.exp()[..., :, None] * state + k[..., :, None] * v[..., None, :]
    return torch.einsum("bhk,bhkv->bhv", q, state), state


def _block(q: Tensor, k: Tensor, v: Tensor, log_gates: Tensor, state: Tensor):
    """n positions at once: q, k, log_gates [B, H, n, d_k], v [B, H, n, d_v]."""
    o = _weights(q, k, log_gates) @ v + (q * from_start(log_gates)) @ state
    state = of_all(log_gates)[..., :, None] * state + (k * to_end(log_gates)).mT @ v
    return o, state


def _weights(q: Tensor, k: Tensor, log_gates: Tensor) -> Float[Tensor, "B H n n"]:
    """w_ij = Σ_c q_ic k_jc Π_{t=j+1..i} g_tc for j <= i, in bands of 16 rows.

    Inside a band the product belongs to each pair and channel. For keys before the band it falls
    apart at the band's start: of the gates from j to there, and from there to i. Neither factor
    exceeds 1, however strong the gates.
    """
    bands = []
    for start in range(0, max(q.shape[-2], 1), SUB):
        rows = slice(start, start + SUB)
        q_band, gates_band = q[..., rows, :], log_gates[..., rows, :]
        earlier = k[..., :start, :] * to_end(log_gates[..., :start, :])  # [B, H, start, d_k]
        before = (q_band * from_start(gates_band)) @ earlier.mT  # [B, H, 16, start]
        inside = torch.einsum("bhic,bhjc,bhijc->bhij", q_band, k[..., rows, :], between(gates_band))
        after = q.new_zeros(*inside.shape[:-1], q.shape[-2] - start - inside.shape[-1])
        bands.append(torch.cat([before, inside, after], dim=-1))
    return torch.cat(bands, dim=-2)
