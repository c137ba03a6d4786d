"""Torch's fused attention, which says in our words what it cannot differentiate."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ONLY_ONCE = (
    'impl "sdpa", which "auto" chooses too, has first derivatives only, by backward(), '
    "torch.autograd.grad or torch.func.grad. For second ones (create_graph=True, hessian), forward "
    'ones (jvp, jacfwd) and torch.func.vmap it should be "dense"'
)


def torch_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible: Tensor | None,
    scale: float,
    is_causal: bool = False,
) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention, whose backward pass has no derivative.

    Args:
        q, k, v: [B, H, n_q, d_k], [B, H_kv, n_k, d_k], [B, H_kv, n_k, d_v]
        visible: its attn_mask
        scale: of the scores
        is_causal: as there, top-left
    Returns: [B, H, n_q, d_v]
    Raises:
        RuntimeError: a second derivative, a forward one as by torch.func.jvp, or torch.func.vmap
    """
    grouped = q.shape[1] != k.shape[1]

    def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=visible, is_causal=is_causal, scale=scale, enable_gqa=grouped
        )

    if torch.compiler.is_compiling():  # which has first derivatives only, whatever it compiles
        return fused(q, k, v)
    try:
        return fused(*(q, k, v) if torch.is_inference_mode_enabled() else _Once.apply(q, k, v))
    except NotImplementedError as error:  # a forward derivative
        raise RuntimeError(ONLY_ONCE) from error


class _Once(torch.autograd.Function):
    """Returns what it is given. Its gradient can be taken once, whatever the backend could do."""

    @staticmethod
    def forward(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(x.view_as(x) for x in tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        pass

    @staticmethod
    def vmap(*_: Any) -> Any:
        raise RuntimeError(ONLY_ONCE)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return _Gradient.apply(*gradients)


class _Gradient(_Once):
    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        raise RuntimeError(ONLY_ONCE)
