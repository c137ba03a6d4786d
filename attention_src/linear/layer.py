"""Linear attention on torch tensors, with gradients: one meaning, three forms.

    parallel     all weights at once, as a matrix: O(n²)
    recurrent    one position after another, with a state in place of keys and values: O(n)
    chunkwise    parallel inside a chunk, recurrent from chunk to chunk: O(n), in matrix products

Computed, and summed up in the state, in float32 at least; answered in q's dtype. A state is
[B, H, d_k, d_v] in every function of this topic, and it is all that the past leaves behind: with it
as initial_state, a later call continues the sequence, which is how a model writes token by token.
Gates for each channel are in `layer_gated`, the delta rule in `layer_delta`; import all from here.
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
    answer,
    features,
    initial,
    run,
    tensors,
    uses_kernel,
)
from attention_src.shapes import check_impl
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton

__all__ = ["IMPLS", "delta_rule", "gated_delta_rule", "gated_linear_attention", "linear_attention"]


def linear_attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H n_k d_k"],
    v: Float[Tensor, "B H n_k d_v"],
    *,
    feature_map: str | None = "elu",
    causal: bool = True,
    decay: Any = None,
    normalize: bool = True,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> (
    Float[Tensor, "B H n_q d_v"]
    | tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H d_phi d_s"]]
):
    """Attention whose weights are dot products of features, plain or with a decay for each head.

        w_ij = φ(q_i)·φ(k_j) γ^(i−j)   for j <= i  (not causal: for all j, without γ)
        o_i  = Σ_j w_ij v_j / Σ_j w_ij             (normalize=False: without the division)

        S_t  = γ S_{t−1} + φ(k_t) v_t^T,   o_t = S_t^T φ(q_t)      the same, as a recurrence

    Args:
        q: [B, H, n_q, d_k]  queries; they are not scaled: pass d_k ** -0.5 * q if you want that
        k: [B, H, n_k, d_k]  keys, with as many heads as q; n_k = n_q if causal
        v: [B, H, n_k, d_v]  values
        feature_map: φ: "elu" (elu + 1), "relu", "taylor" (1, x, x⊗x / sqrt(2)), None = identity
        causal: position i sees the keys up to its own
        decay: γ in (0, 1], one number or one for each head [H]; None = 1. Causal only. A tensor
            gets a gradient; under torch.compile its values are not looked at
        normalize: divide by the sum of the weights. Where that sum is exactly 0, o = 0 and the
            gradients are 0; with feature_map=None weights may be negative and their sum
            arbitrarily close to 0
        form: "parallel", "recurrent" or "chunkwise"; they differ in cost and in rounding only
        chunk: positions in a chunk, for "chunkwise"
        initial_state: [B, H, d_phi, d_v]  what earlier positions left; None = nothing. With
            normalize, v has a last column of ones, so it is [B, H, d_phi, d_v + 1]: its last
            column is the sum of φ(k)
        return_state: whether to return the state after the last position too
        impl: "torch", "triton" (the kernels: causal and chunkwise, in chunks of their own size;
            with normalize in float32) or "auto": "triton" for CUDA tensors of float16, bfloat16 or
            float32 in the causal chunkwise form, else "torch"
    Returns: [B, H, n_q, d_v]  o, in q's dtype; with return_state (o, state), the state in float32
        at least
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; a form, feature map, chunk or impl
            that does not exist; γ out of range, or without causal
    Cost: for each head: parallel 2 n² (d_phi + d_v) FLOP and O(n²) memory; recurrent
        4 n d_phi d_v FLOP; chunkwise 2 n (chunk (d_phi + d_v) + 2 d_phi d_v) FLOP.
    Source: Katharopoulos et al. 2020, arXiv:2006.16236, Eqs. 8-12 (their S_i, Z_i are our state and
        its last column). Decay: Sun et al. 2023, arXiv:2307.08621, Eqs. 5-7 (their D is γ^(i−j)).
    """
    check_impl(impl, IMPLS)
    chunk = check_form(form, chunk)
    (q, k, v), dtype = tensors(q, k, v)
    gamma = _gamma(decay, q, causal)
    phi_q, phi_k = features(q, feature_map), features(k, feature_map)
    if normalize:  # values with a 1 at the end: their weighted sum ends with the sum of weights
        v = torch.cat([v, v.new_ones(*v.shape[:-1], 1)], dim=-1)
    state = initial(initial_state, phi_k, v)
    kernel = uses_kernel(impl, form, q, fits=causal)
    if causal:
        check_same_length(q, k)
    elif kernel:
        raise ValueError('causal is False; impl="triton" looks back only. Choose impl="torch"')
    if kernel:
        rows = [phi_q, phi_k, v]
        if not normalize:  # sums of weights may exceed what half precision holds
            rows = [x.to(dtype) for x in rows]
        o, state = _kernel(gamma, rows, state)
    elif causal:
        longest = q.shape[-2] if form == "parallel" else min(chunk, q.shape[-2])
        powers = gamma ** torch.arange(longest + 1, device=q.device)[:, None]  # γ^t
        token, block = partial(_token, gamma), partial(_block, powers)
        o, state = run(form, chunk, token, block, [phi_q, phi_k, v], state)
    else:
        o, state = _bidirectional(phi_q, phi_k, v, state, form, chunk)
    if normalize:
        l = o[..., -1:]  # [B, H, n_q, 1]  the sum of the weights
        o = (o[..., :-1] / l.masked_fill(l == 0, 1)).masked_fill(l == 0, 0)
    return answer(o, state, dtype, return_state)


def _kernel(gamma: Tensor, rows: list[Tensor], state: Tensor):
    """All positions by the kernels, with the same gate for each; rows: q, k, v."""
    from attention_src.linear.kernel import chunkwise_forward

    gates = gamma.log().expand(*rows[0].shape[:3], 1)
    o, state = chunkwise_forward(*rows, gates, state.contiguous())
    return o.to(state.dtype), state


def _token(gamma: Tensor, q: Tensor, k: Tensor, v: Tensor, state: Tensor):
    """One position: q, k [B, H, d_phi], v [B, H, d_v]."""
    state = gamma * state + k[..., :, None] * v[..., None, :]  # [B, H, d_phi, d_v]
    return torch.einsum("bhk,bhkv->bhv", q, state), state


def _block(powers: Tensor, q: Tensor, k: Tensor, v: Tensor, state: Tensor):
    """n positions at once: q, k [B, H, n, d_phi], v [B, H, n, d_v], powers γ^t [H, n + 1, 1].

    γ^(i+1) is left of the old state at position i, and γ^(n−1−j) of key j at the end.
    """
    n = q.shape[-2]
    i = torch.arange(n, device=q.device)
    lag = i[:, None] - i  # [n, n]
    fading = powers[..., lag.clamp(min=0), 0].masked_fill(lag < 0, 0)  # [H, n, n]  γ^(i−j)
    w = (q @ k.mT) * fading  # [B, H, n, n]
    o = w @ v + powers[..., 1 : n + 1, :] * (q @ state)
    state = powers[..., n : n + 1, :] * state + (powers[..., :n, :].flip(-2) * k).mT @ v
    return o, state


def _bidirectional(q: Tensor, k: Tensor, v: Tensor, state: Tensor, form: str, chunk: int):
    """All keys for every query: n_q and n_k may differ, and the state is summed up first."""
    o = (q @ k.mT) @ v + q @ state if form == "parallel" else None
    size = {"parallel": max(k.shape[-2], 1), "recurrent": 1, "chunkwise": chunk}[form]
    for k_here, v_here in zip(k.split(size, dim=-2), v.split(size, dim=-2), strict=True):
        state = state + k_here.mT @ v_here
    return (q @ state if o is None else o), state


def _gamma(decay: Any, q: Tensor, causal: bool) -> Float[Tensor, "*heads 1 1"]:
    """γ as [1, 1] or [H, 1, 1], to be multiplied with a state or with weights."""
    if decay is None:
        return q.new_ones(1, 1)
    if not causal:
        raise ValueError(
            "decay is given but causal is False: γ^(i−j) grows without bound for later keys. "
            "decay should be None, or causal True"
        )
    try:
        gamma = torch.as_tensor(decay, dtype=q.dtype, device=q.device)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"decay is {decay!r}; it should be a number, or one for each head"
        ) from None
    check_decay(gamma, q.shape[:2])
    if gamma.numel() and not torch.compiler.is_compiling():
        check_decay_values(float(gamma.detach().min()), float(gamma.detach().max()))
    return gamma[..., None, None]
