"""The delta rule on torch tensors, with gradients, with and without a gate for each position."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_form, check_same_length
from attention_src.linear.layer_delta_steps import run_delta
from attention_src.linear.layer_parts import (
    IMPLS,
    answer,
    beside,
    gates,
    initial,
    tensors,
    uses_kernel,
)
from attention_src.shapes import check_impl
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton


def delta_rule(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H n d_k"],
    v: Float[Tensor, "B H n d_v"],
    beta: Float[Tensor, "B H n"],
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_k d_v"]]:
    """Replace, by a fraction β, the value that the state holds for a key.

        S_t = S_{t−1} + β_t (v_t − S_{t−1} k_t) k_t^T,   o_t = S_t q_t

    Args:
        q: [B, H, n, d_k]  queries; they are not scaled
        k: [B, H, n, d_k]  keys; used as they are. Normalise them: with β |k|² above 2 the state
            grows without bound
        v: [B, H, n, d_v]  values
        beta: [B, H, n]  β, how much of the old value is replaced: 0 none, 1 all (if |k| = 1); any
            floating dtype
        form: "parallel", "recurrent" or "chunkwise"; they differ in cost and in rounding only
        chunk: positions in a chunk, for "chunkwise"
        initial_state: [B, H, d_k, d_v]  S^T that earlier positions left; None = nothing. It is
            kept transposed, because a state of this topic has a row for each channel of the key
        return_state: whether to return the state S^T after the last position too
        impl: "torch", "triton" (the kernel: chunkwise, in chunks of its own size; gradients are
            made by the PyTorch form) or "auto": "triton" for CUDA tensors of float16, bfloat16 or
            float32 in the chunkwise form, else "torch"
    Returns: [B, H, n, d_v]  o, in q's dtype; with return_state (o, state), the state in float32 at
        least
    Raises:
        ValueError: shapes, dtypes or devices that do not fit; a form, chunk or impl that does not
            exist
    Cost: for each head: parallel O(n²) memory and a triangular solve, n² (5 d_k + 3 d_v) FLOP;
        recurrent 6 n d_k d_v FLOP; chunkwise n (chunk (5 d_k + 3 d_v) + 6 d_k d_v) FLOP.
    Source: Yang et al. 2024, arXiv:2406.06484, sections 2.2 and 3 (their UT transform is our
        triangular solve, their W and U our `erase` and `write`).
    """
    check_impl(impl, IMPLS)
    chunk = check_form(form, chunk)
    (q, k, v), dtype = tensors(q, k, v)
    ungated = k.new_zeros(k.shape[:-1])
    kernel = uses_kernel(impl, form, q)
    o, state = _delta(q, k, v, beta, ungated, form, chunk, initial_state, dtype if kernel else None)
    return answer(o, state, dtype, return_state)


def gated_delta_rule(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H n d_k"],
    v: Float[Tensor, "B H n d_v"],
    beta: Float[Tensor, "B H n"],
    log_gates: Float[Tensor, "B H n"],
    *,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_k d_v"]]:
    """The delta rule on a state that decays first, by one gate for each position.

        S_t = g_t S_{t−1} + β_t (v_t − g_t S_{t−1} k_t) k_t^T,   o_t = S_t q_t,   g = exp(log_gates)

    Args:
        q, k, v, beta: as for `delta_rule`
        log_gates: [B, H, n]  natural logarithms of the gates, at most 0; −inf forgets all; any
            floating dtype. Under torch.compile their values are not looked at
        form, chunk, initial_state, return_state, impl: as for `delta_rule`
    Returns: as `delta_rule`
    Raises:
        ValueError: as `delta_rule`; a log gate above 0
    Cost: as `delta_rule`.
    Source: Yang, Kautz & Hatamizadeh 2024, arXiv:2412.06464, section 3.1 (their α_t is our g_t).
    """
    check_impl(impl, IMPLS)
    chunk = check_form(form, chunk)
    (q, k, v), dtype = tensors(q, k, v)
    log_gates = gates(log_gates, "[B, H, n]", k, k.shape[:-1])
    kernel = uses_kernel(impl, form, q)
    o, state = _delta(
        q, k, v, beta, log_gates, form, chunk, initial_state, dtype if kernel else None
    )
    return answer(o, state, dtype, return_state)


def _delta(
    q: Tensor, k: Tensor, v: Tensor, beta: Any, log_gates: Tensor, form, chunk, state, kernel_dtype
):
    """What both functions do once there are gates; by the kernel if there is a dtype for it."""
    check_same_length(q, k)
    beta = beside(beta, "beta", "[B, H, n]", k, k.shape[:-1])
    if kernel_dtype is not None:
        from attention_src.linear.kernel import delta_forward

        rows = (x.to(kernel_dtype) for x in (q, k, v))
        return delta_forward(*rows, beta, log_gates, initial(state, k, v).contiguous())
    return run_delta(form, chunk, q, k, v, beta, log_gates, initial(state, k, v))
