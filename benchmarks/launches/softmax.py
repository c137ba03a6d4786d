"""Softmax launches for compiling ahead of time: short rows, the longest whole ones, a long one."""

import torch

from attention_src.softmax.kernel import ROW_BACKWARD, ROW_FORWARD, backward_launch, forward_launch
from attention_src.triton_support.launch import Launch


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Every kernel, at row lengths that choose it; the head size does not matter."""
    if d != 64:
        return {}
    made = {}
    for n in (1024, ROW_FORWARD, 4 * ROW_FORWARD):
        x = torch.empty((4096, n), dtype=dtype, device="meta")
        made[f"softmax_forward n={n}"] = forward_launch(x, x, capability=capability)
    for n in (1024, ROW_BACKWARD, 4 * ROW_FORWARD):
        x = torch.empty((4096, n), dtype=dtype, device="meta")
        made[f"softmax_backward n={n}"] = backward_launch(x, x, x, capability=capability)
    return made
