"""Rope launches for compiling ahead of time: both pairings."""

import torch

from attention_src.rope.kernel import rope_launch
from attention_src.triton_support.launch import Launch


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Both pairings at a realistic size; forward and backward are the same compiled kernel.

    Args:
        dtype: of q and k
        d: width of a query
        capability: the chip, 75 to 100
    Returns: by name, on the meta device
    """
    q = torch.empty(4, 16, 4096, d, dtype=dtype, device="meta")
    k = torch.empty(4, 4, 4096, d, dtype=dtype, device="meta")
    cos = sin = torch.empty(4096, d // 2, device="meta")
    return {
        f"rope {name}": rope_launch(q, k, q, k, cos, sin, interleaved=flag, capability=capability)
        for name, flag in (("half-split", False), ("interleaved", True))
    }
