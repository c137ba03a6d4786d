"""The selective scan's launches at a usual size, for compiling without a GPU."""

import torch

from attention_src.ssm.kernel import backward_launch, forward_launch, tile_sizes
from attention_src.triton_support.launch import Launch


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Every kernel of the topic, on tensors without data; nothing here depends on a head size."""
    if d != 64:
        return {}
    batch, n, channels, N = 4, 4096, 2048, 16
    sizes = tile_sizes(channels, N, capability)
    tiles, blocks = n // sizes["BLOCK_T"], channels // sizes["BLOCK_D"]

    def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device="meta")

    rows, per_token = (batch, n, channels), (batch, n, N)
    tensors = dict(
        x=empty(*rows, dtype=dtype),
        dt=empty(*rows, dtype=dtype),
        A=empty(channels, N),
        B=empty(*per_token, dtype=dtype),
        C=empty(*per_token, dtype=dtype),
        D=empty(channels),
    )
    state = empty(batch, channels, N)
    states = empty(batch, tiles, channels, N)
    start = tensors | dict(start=state)
    outputs = dict(y=empty(*rows, dtype=dtype), last=state, states=states)
    after = tensors | dict(states=states, dy=empty(*rows, dtype=dtype), dlast=state)
    shares = empty(blocks, *per_token)
    gradients = dict(
        dx=empty(*rows, dtype=dtype),
        ddt=empty(*rows, dtype=dtype),
        dA=state,
        dB=shares,
        dC=shares,
        dD=empty(batch, channels),
        dstart=state,
    )
    return {
        "selective_scan_forward": forward_launch(
            start, outputs, capability=capability, states=False
        ),
        "selective_scan_forward states": forward_launch(
            start, outputs, capability=capability, states=True
        ),
        "selective_scan_backward": backward_launch(after, gradients, capability=capability),
    }
