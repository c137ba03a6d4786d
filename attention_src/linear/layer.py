"""Linear attention on torch tensors [B, H, n, d], with gradients: as `reference`.

Computed in float32 at least, also under torch.autocast; outputs have q's dtype. Call backward
outside of the autocast region, as PyTorch advises: inside, autocast rounds the products in it.

The state is [B, H, d_k, d_v], in float32 at least: a model that writes token by token passes it
from call to call. Import the other functions from here too; `layer_gated` and `layer_delta` hold
them.
"""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import (
    check_decay,
    check_decay_values,
    check_form,
    check_same_length,
)
from attention_src.linear.layer_delta import delta_rule, gated_delta_rule
from attention_src.linear.layer_gated import gated_linear_attention
from attention_src.linear.layer_parts import (
    IMPLS,
    check_qkv_tensors,
    features,
    finish,
    run,
    start_state,
    uses_kernel,
)
from attention_src.tensors import as_tensor, call_kernel, without_autocast
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

__all__ = ["IMPLS", "delta_rule", "gated_delta_rule", "gated_linear_attention", "linear_attention"]


@without_autocast
def linear_attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H n_k d_k"],
    v: Float[Tensor, "B H n_k d_v"],
    *,
    feature_map: str | None = "elu",
    causal: bool = True,
    decay: Any = None,
    normalize: bool = True,
    scale: float | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> (
    Float[Tensor, "B H n_q d_v"]
    | tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H d_phi d_s"]]
):
    """As `reference.linear_attention`, on tensors [B, H, n, d], with gradients.

    Where the sum of a query's weights is exactly 0, its gradients are 0 too.

    Args:
        q: [B, H, n_q, d_k]
        k: [B, H, n_k, d_k]  with as many heads as q
        v: [B, H, n_k, d_v]
        feature_map, causal, normalize, scale, form, chunk, return_state: as for the reference
        decay: as for the reference; a tensor gets a gradient. Not validated under torch.compile
        initial_state: [B, H, d_phi, d_v], with normalize [B, H, d_phi, d_v + 1]; as
            return_state=True gives it, or in half precision, which is computed with in float32
        impl: "torch", "triton" (the kernels: causal and chunkwise, in chunks of their own size;
            with normalize in float32) or "auto": "triton" for CUDA tensors of float16, bfloat16 or
            float32 in the causal chunkwise form, else "torch"
    Returns: [B, H, n_q, d_v]  o, in q's dtype; with return_state (o, state), the state in float32
        at least
    Raises:
        ValueError: as the reference; dtypes, devices or heads that differ; an unknown impl, or
            "triton" where it does not apply
    Cost: as for the reference.
    """
    chunk = check_form(form, chunk, causal=causal, normalize=normalize, return_state=return_state)
    (q, k, v), dtype = check_qkv_tensors(q, k, v, scale)
    gamma = _gamma(decay, q, causal)
    phi_q, phi_k = features(q, feature_map), features(k, feature_map)
    if normalize:  # values end with a 1, so their weighted sum ends with the sum of the weights
        v = torch.cat([v, v.new_ones(*v.shape[:-1], 1)], dim=-1)
    if causal:
        check_same_length(q, k)
    log_gates = gamma.log().expand(*q.shape[:3], 1)  # γ as the gate of every position
    size = (*phi_q.shape[:2], phi_k.shape[-1], v.shape[-1])
    state = start_state(initial_state, "[B, H, d_k, d_v]", size, k=k)
    kernel = uses_kernel(impl, form, q, fits=causal)
    if kernel and not causal:
        raise ValueError('causal is False; impl="triton" looks back only. Choose impl="torch"')
    rows = [phi_q, phi_k, v]
    if kernel:
        if not normalize:  # with normalize, float16 might overflow in the sum of the weights
            rows = [x.to(dtype) for x in rows]
        o, state = _kernel(rows, log_gates, state)
    elif not causal:
        o, state = _bidirectional(phi_q, phi_k, v, state, form, chunk)
    else:
        n = phi_q.shape[-2]
        longest = n if form == "parallel" else min(chunk, n)
        powers = gamma ** torch.arange(longest + 1, device=q.device)[:, None]  # γ^t
        token, block = partial(_token, gamma), partial(_block, powers)
        o, state = run(form, chunk, token, block, rows, state)
    if normalize:
        l = o[..., -1:]  # [B, H, n_q, 1]  the sum of the weights
        o = (o[..., :-1] / l.masked_fill(l == 0, 1)).masked_fill(l == 0, 0)
    return finish(o, state, dtype, return_state)


def _kernel(rows: list[Tensor], log_gates: Tensor, state: Tensor):
    """Run the kernels; rows are φ(q), φ(k) and v."""
    from attention_src.linear.kernel import chunkwise_forward

    o, state = call_kernel(chunkwise_forward, "torch", *rows, log_gates, state.contiguous())
    return o.to(state.dtype), state


def _token(gamma: Tensor, q: Tensor, k: Tensor, v: Tensor, state: Tensor):
    """One position: q, k [B, H, d_phi], v [B, H, d_v]."""
    state = gamma * state + k[..., :, None] * v[..., None, :]  # [B, H, d_phi, d_v]
    return torch.einsum("bhk,bhkv->bhv", q, state), state


def _block(powers: Tensor, q: Tensor, k: Tensor, v: Tensor, state: Tensor):
    """n positions at once: q, k [B, H, n, d_phi], v [B, H, n, d_v], powers γ^t [H, n + 1, 1].

    γ^(i+1) decays the old state up to position i, γ^(n−1−j) key j up to the block's end.
    """
    n = q.shape[-2]
    i = torch.arange(n, device=q.device)
    lag = i[:, None] - i  # [n, n]
    between = powers[..., lag.clamp(min=0), 0].masked_fill(lag < 0, 0)  # [H, n, n]  γ^(i−j)
    w = (q @ k.mT) * between  # [B, H, n, n]
    o = w @ v + powers[..., 1 : n + 1, :] * (q @ state)
    state = powers[..., n : n + 1, :] * state + (powers[..., :n, :].flip(-2) * k).mT @ v
    return o, state


def _bidirectional(q: Tensor, k: Tensor, v: Tensor, state: Tensor, form: str, chunk: int):
    """Every query sees all keys: the state is summed up first, and n_q and n_k may differ."""
    o = (q @ k.mT) @ v + q @ state if form == "parallel" else None
    size = {"parallel": max(k.shape[-2], 1), "recurrent": 1, "chunkwise": chunk}[form]
    for k_here, v_here in zip(k.split(size, dim=-2), v.split(size, dim=-2), strict=True):
        state = state + k_here.mT @ v_here
    return (q @ state if o is None else o), state


def _gamma(decay: Any, q: Tensor, causal: bool) -> Float[Tensor, "*heads 1 1"]:
    """γ as [1, 1] or [H, 1, 1], which broadcasts against states and weights."""
    if decay is None:
        return q.new_ones(1, 1)
    if not causal:
        raise ValueError(
            "decay is given but causal is False: γ^(i−j) grows without bound for later keys. "
            "decay should be None, or causal True"
        )
    what = "a number, or one for each head"
    gamma = as_tensor(decay, "decay", what, dtype=q.dtype, device=q.device)
    check_decay(gamma, q.shape[:2])
    if gamma.numel() and not torch.compiler.is_compiling():
        check_decay_values(float(gamma.detach().min()), float(gamma.detach().max()))
    return gamma[..., None, None]
