"""The launches of the flash kernels on data that is not there: what to compile for other chips."""

from typing import Any

import torch

from attention_src.flash.kernel.backward import dkdv_launch, dq_launch
from attention_src.flash.kernel.forward import forward_launch
from attention_src.flash.visibility import Rule
from attention_src.triton_support.launch import Launch


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Forward in its three forms, and both halves of the backward pass, which are causal here.

    Args:
        dtype: of q, k and v
        d: d_k and d_v
        capability: the chip, 75 to 100
    Returns: by name, on the meta device
    """
    q = o = torch.empty(4, 16, 4096, d, dtype=dtype, device="meta")
    k = v = torch.empty(4, 4, 4096, d, dtype=dtype, device="meta")
    lse = torch.empty(4, 16, 4096, device="meta")
    full, causal = Rule(4096, 4096), Rule(4096, 4096, causal=True)
    windowed = Rule(4096, 4096, window=1024, sinks=4)
    scale = d**-0.5
    chip: Any = dict(capability=capability)
    made = {
        f"flash_forward {name}": forward_launch(q, k, v, None, o, lse, rule, scale, **chip)
        for name, rule in (("full", full), ("causal", causal), ("windowed", windowed))
    }
    given = q, k, v, None
    made["flash_dq"] = dq_launch(*given, o, lse, o, lse, lse, lse, q, causal, scale, **chip)
    made["flash_dkdv"] = dkdv_launch(*given, o, lse, lse, k, v, causal, scale, **chip)
    return made
