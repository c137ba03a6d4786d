"""Linear attention and the delta rule as Triton kernels; the operators that layers call."""

from attention_src.linear.kernel.operators import (
    chunkwise_backward,
    chunkwise_forward,
    delta_forward,
)

__all__ = ["chunkwise_backward", "chunkwise_forward", "delta_forward"]
