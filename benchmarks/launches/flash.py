"""The launches of the flash kernels, on tensors without data: what to compile for other chips."""

import torch

from attention_src.flash.kernel.backward import dkdv_launch, dq_launch
from attention_src.flash.kernel.config import Inputs
from attention_src.flash.kernel.forward import forward_launch
from attention_src.flash.visibility import Visibility
from attention_src.triton_support.launch import Launch


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Forward full, causal and windowed; backward causal; and each kernel with changed scores.

    Args:
        dtype: of q, k and v
        d: d_k and d_v
        capability: the chip, 75 to 100
    Returns: by name, on the meta device
    """
    n = 4096
    q = o = torch.empty(4, 16, n, d, dtype=dtype, device="meta")
    k = v = torch.empty(4, 4, n, d, dtype=dtype, device="meta")
    rows = torch.empty(4, 16, n, device="meta")
    full, causal, windowed = (
        Inputs(q, k, v, None, visibility, d**-0.5)
        for visibility in (
            Visibility(n, n),
            Visibility(n, n, causal=True),
            Visibility(n, n, window=1024, sinks=4),
        )
    )
    slopes = torch.empty(16, device="meta")
    changed = causal._replace(slopes=slopes, softcap=50.0)
    padded = dict(lse_padded=rows, delta=rows)
    by_dq = dict(o=o, lse_log2=rows, do=o, dlse_log2=rows, dq=q, **padded)
    by_dkdv = dict(do=o, dk=k, dv=v, **padded)
    return {
        "flash_forward full": forward_launch(full, o, rows, capability=capability),
        "flash_forward causal": forward_launch(causal, o, rows, capability=capability),
        "flash_forward windowed": forward_launch(windowed, o, rows, capability=capability),
        "flash_forward changed": forward_launch(changed, o, rows, capability=capability),
        "flash_dq": dq_launch(causal, **by_dq, capability=capability),
        "flash_dq changed": dq_launch(changed, **by_dq, capability=capability),
        "flash_dkdv": dkdv_launch(causal, **by_dkdv, capability=capability),
        "flash_dkdv changed": dkdv_launch(changed, **by_dkdv, capability=capability),
    }
