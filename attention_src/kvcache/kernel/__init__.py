"""Decoding as Triton kernels; the operators that layers call."""

from attention_src.kvcache.kernel.operators import decode_contiguous, decode_int8, decode_paged

__all__ = ["decode_contiguous", "decode_int8", "decode_paged"]
