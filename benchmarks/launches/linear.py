"""The launches of linear attention's kernels and the delta rule's, for compiling without a GPU."""

from typing import Any

import torch

from attention_src.linear.kernel.launch import (
    chunk_size,
    decays_launch,
    delta_launch,
    gated_outputs_launch,
    outputs_launch,
    states_launch,
)
from attention_src.triton_support.launch import Launch


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Every kernel of the topic at a usual size, on tensors without data."""
    batch, n_heads, n = 4, 16, 4096

    def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device="meta")

    q = k = v = o = empty(batch, n_heads, n, d, dtype=dtype)
    one, channels = empty(batch, n_heads, n, 1), empty(batch, n_heads, n, d)
    start = last = empty(batch, n_heads, d, d)
    chip = dict(capability=capability)

    def walk(channels: bool) -> tuple[torch.Tensor, dict[str, Any]]:
        """The states between chunks, and the options that the launches share."""
        chunk = chunk_size(dtype, capability, channels)
        states = empty(batch, n_heads, n // chunk, d, d, dtype=torch.float32 if channels else dtype)
        return states, dict(chunk=chunk, **chip)

    states, options = walk(False)
    decays = empty(batch, n_heads, 2 * n, 1)  # of whole chunks
    more_states, more_options = walk(True)
    gated = (q, k, v, channels, more_states, o)
    return {
        "chunk_decays": decays_launch(one, decays, chunk=options["chunk"]),
        "chunk_states": states_launch(k, v, decays, start, states, last, **options),
        "chunk_outputs": outputs_launch(q, k, v, decays, states, o, **options),
        "gated_outputs": gated_outputs_launch(*gated, **more_options),
        "gated_outputs of v": gated_outputs_launch(*gated, gates_of_v=True, **more_options),
        "delta_forward": delta_launch(q, k, v, one[..., 0], one[..., 0], o, last, **chip),
    }
