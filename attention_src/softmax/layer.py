"""Softmax on torch tensors, with gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.shapes import check_impl
from attention_src.tensors import call_kernel, check_tensors, kernel_takes
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton


def softmax(x: Float[Tensor, "*rows n_k"], *, impl: str = "auto") -> Float[Tensor, "*rows n_k"]:
    """As `reference.softmax` at temperature 1, over the last axis of a tensor, with gradients.

    Args:
        x: [..., n_k]  scores, any floating dtype; computed in float32 at least
        impl: "triton" (one fused kernel each way; float16, bfloat16 and float32), "torch", or
            "auto": "triton" for CUDA tensors of those dtypes, "torch" for all others
    Returns: [..., n_k]  weights in x's dtype; a fully masked row has gradient 0
    Raises:
        ValueError: x is not floating point or has no axis; impl is not one of the above, or is
            "triton" for a tensor that kernels do not take
    Cost: the kernel reads and writes each number once, "torch" several times.
    """
    check_impl(impl, ("auto", "torch", "triton"))
    check_tensors(x=x)
    if x.ndim == 0:
        raise ValueError("x is a single number; it should be a row of scores, [..., n_k]")
    if impl == "auto":
        impl = "triton" if kernel_takes(x) else "torch"
    if impl == "triton":
        from attention_src.softmax.kernel import softmax_forward

        return call_kernel(softmax_forward, "torch", x)
    # torch.softmax gives a fully masked row NaN, and NaN gradients: pass it zeros instead.
    fully_masked = (x == -torch.inf).all(dim=-1, keepdim=True)
    return x.masked_fill(fully_masked, 0).softmax(dim=-1).masked_fill(fully_masked, 0)
