"""The delta rule, with and without gates, on torch tensors."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_form, check_same_length
from attention_src.linear.layer_delta_steps import run_delta
from attention_src.linear.layer_parts import (
    check_argument,
    check_gates,
    check_qkv_tensors,
    finish,
    start_state,
    uses_kernel,
)
from attention_src.tensors import call_kernel, without_autocast
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton


@without_autocast
def delta_rule(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H n d_k"],
    v: Float[Tensor, "B H n d_v"],
    beta: Float[Tensor, "B H n"],
    *,
    scale: float | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_k d_v"]]:
    """As `reference_delta.delta_rule`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k: [B, H, n, d_k]
        v: [B, H, n, d_v]
        beta: [B, H, n], of any floating dtype
        scale, form, chunk, return_state: as for the reference
        initial_state: [B, H, d_k, d_v], as return_state=True gives it, or in half precision, which
            is computed with in float32
        impl: "torch", "triton" (the kernel: chunkwise, in chunks of its own size, with gradients by
            the PyTorch form) or "auto": "triton" for CUDA tensors of float16, bfloat16 or float32
            in the chunkwise form, else "torch"
    Returns: [B, H, n, d_v]  o, in q's dtype; with return_state (o, state), the state S^T in float32
        at least
    Raises:
        ValueError: as the reference; dtypes, devices or heads that differ; an unknown impl, or
            "triton" in another form
    Cost: as for the reference.
    """
    (q, k, v), dtype = check_qkv_tensors(q, k, v, scale)
    ungated = k.new_zeros(k.shape[:-1])
    return _delta((q, k, v), dtype, beta, ungated, form, chunk, initial_state, return_state, impl)


@without_autocast
def gated_delta_rule(
    q: Float[Tensor, "B H n d_k"],
    k: Float[Tensor, "B H n d_k"],
    v: Float[Tensor, "B H n d_v"],
    beta: Float[Tensor, "B H n"],
    log_gates: Float[Tensor, "B H n"],
    *,
    scale: float | None = None,
    form: str = "chunkwise",
    chunk: int = 64,
    initial_state: Any = None,
    return_state: bool = False,
    impl: str = "auto",
) -> Float[Tensor, "B H n d_v"] | tuple[Float[Tensor, "B H n d_v"], Float[Tensor, "B H d_k d_v"]]:
    """As `reference_delta.gated_delta_rule`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k, v, beta: as for `delta_rule`
        log_gates: [B, H, n], of any floating dtype; not validated under torch.compile
        scale, form, chunk, initial_state, return_state, impl: as for `delta_rule`
    Returns: as `delta_rule`
    Raises:
        ValueError: as `delta_rule`; a log gate above 0
    """
    (q, k, v), dtype = check_qkv_tensors(q, k, v, scale)
    log_gates = check_gates(log_gates, "[B, H, n]", k, k.shape[:-1])
    return _delta((q, k, v), dtype, beta, log_gates, form, chunk, initial_state, return_state, impl)


def _delta(
    qkv: tuple[Tensor, ...], dtype: torch.dtype, beta: Any, log_gates: Tensor,
    form: str, chunk: int, initial_state: Any, return_state: bool, impl: str,
) -> Any:  # fmt: skip
    """Both functions, once q, k and v are validated; the ungated rule has log gates of 0."""
    chunk = check_form(form, chunk, return_state=return_state)
    q, k, v = qkv
    check_same_length(q, k)
    beta = check_argument(beta, "beta", "[B, H, n]", k, k.shape[:-1])
    size = (*k.shape[:2], k.shape[-1], v.shape[-1])
    state = start_state(initial_state, "[B, H, d_k, d_v]", size, k=k)
    if uses_kernel(impl, form, q):
        from attention_src.linear.kernel import delta_forward

        q, k, v = (x.to(dtype) for x in (q, k, v))
        o, state = call_kernel(delta_forward, "torch", q, k, v, beta, log_gates, state.contiguous())
    else:
        o, state = run_delta(form, chunk, q, k, v, beta, log_gates, state)
    return finish(o, state, dtype, return_state)
