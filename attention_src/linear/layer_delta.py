"""The delta rule, with and without gates, on torch tensors."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.linear.checks import check_form, check_same_length
from attention_src.linear.layer_delta_steps import run_delta
from attention_src.linear.layer_parts import (
    answer,
    check_argument,
    check_gates,
    start_state,
    tensors,
    uses_kernel,
)
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
    """As `reference_delta.delta_rule`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k: [B, H, n, d_k]
        v: [B, H, n, d_v]
        beta: [B, H, n], of any floating dtype
        form, chunk, return_state: as there
        initial_state: [B, H, d_k, d_v], in float32 at least, as return_state=True gives it
        impl: "torch", "triton" (the kernel: chunkwise, in chunks of its own size, with gradients by
            the PyTorch form) or "auto": "triton" for CUDA tensors of float16, bfloat16 or float32
            in the chunkwise form, else "torch"
    Returns: [B, H, n, d_v]  o, in q's dtype; with return_state (o, state), the state S^T in float32
        at least
    Raises:
        ValueError: as there; dtypes, devices or heads that differ; an unknown impl, or "triton" in
            another form
    """
    (q, k, v), dtype = tensors(q, k, v)
    ungated = k.new_zeros(k.shape[:-1])
    o, state = _delta((q, k, v), dtype, beta, ungated, form, chunk, initial_state, impl)
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
    """As `reference_delta.gated_delta_rule`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k, v, beta: as for `delta_rule`
        log_gates: [B, H, n], of any floating dtype; not validated under torch.compile
        form, chunk, initial_state, return_state, impl: as for `delta_rule`
    Returns: as `delta_rule`
    Raises:
        ValueError: as `delta_rule`; a log gate above 0
    """
    (q, k, v), dtype = tensors(q, k, v)
    log_gates = check_gates(log_gates, "[B, H, n]", k, k.shape[:-1])
    o, state = _delta((q, k, v), dtype, beta, log_gates, form, chunk, initial_state, impl)
    return answer(o, state, dtype, return_state)


def _delta(
    qkv: tuple[Tensor, ...], dtype: torch.dtype, beta: Any, log_gates: Tensor,
    form: str, chunk: int, initial_state: Any, impl: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Both functions, once q, k and v are validated; the ungated rule has log gates of 0."""
    chunk = check_form(form, chunk)
    q, k, v = qkv
    check_same_length(q, k)
    beta = check_argument(beta, "beta", "[B, H, n]", k, k.shape[:-1])
    size = (*k.shape[:2], k.shape[-1], v.shape[-1])
    state = start_state(initial_state, "[B, H, d_k, d_v]", size, k=k)
    if uses_kernel(impl, form, q):
        from attention_src.linear.kernel import delta_forward

        rows = (x.to(dtype) for x in (q, k, v))
        return delta_forward(*rows, beta, log_gates, state.contiguous())
    return run_delta(form, chunk, q, k, v, beta, log_gates, state)
