"""FlashAttention as Triton kernels; the operators that layers call."""

from attention_src.flash.kernel.operators import flash_backward, flash_forward

__all__ = ["flash_backward", "flash_forward"]
