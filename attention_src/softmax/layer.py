"""Softmax on torch tensors, with gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.shapes import check_impl
from attention_src.tensors import check_tensors, kernel_takes
from attention_src.triton_support import interpreter  # noqa: F401  before anything imports triton


def softmax(x: Float[Tensor, "*rows n_k"], *, impl: str = "auto") -> Float[Tensor, "*rows n_k"]:
    """Softmax over the last axis.

        p_j = exp(x_j - m) / sum_i exp(x_i - m),  m = max_i x_i

    Args:
        x: [..., n_k]  scores, any floating dtype; computed in float32 at least
        impl: "triton" (one fused kernel each way; float16, bfloat16 and float32), "torch", or
            "auto": "triton" for CUDA tensors of those dtypes, "torch" for all others
    Returns: [..., n_k]  weights in x's dtype. A row that is all −inf gets weights 0 and gradients
        0; a row that holds a NaN becomes NaN.
    Raises:
        ValueError: x is not floating point or has no axis; impl is not one of the above, or is
            "triton" for a tensor that kernels cannot take
    Cost: n_k exponentials a row. The kernel reads and writes each number once, "torch" several
        times.
    """
    check_impl(impl, ("auto", "torch", "triton"))
    check_tensors(x=x)
    if x.ndim == 0:
        raise ValueError("x is a single number; it should be a row of scores, [..., n_k]")
    if impl == "auto":
        impl = "triton" if kernel_takes(x) else "torch"
    if impl == "triton":
        from attention_src.softmax.kernel import softmax_forward

        return softmax_forward(x)
    # torch.softmax makes NaN of a row that is all -inf, and NaN gradients. Give it zeros there.
    hidden = (x == -torch.inf).all(dim=-1, keepdim=True)
    return x.masked_fill(hidden, 0).softmax(dim=-1).masked_fill(hidden, 0)
