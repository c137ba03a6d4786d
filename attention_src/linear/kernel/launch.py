"""How the chunkwise kernels are launched: tile sizes for each chip, and reversed sequences."""

from typing import Any

import torch
from torch import Tensor

from attention_src.linear.kernel.chunks import (
    chunk_decays_kernel,
    chunk_outputs_kernel,
    chunk_states_kernel,
)
from attention_src.linear.kernel.delta import delta_forward_kernel
from attention_src.linear.kernel.gated import gated_outputs_kernel
from attention_src.triton_support.launch import Launch, triton

SUB = 16  # positions in a block, where decays are computed for each pair and channel
WIDEST = 256  # channels of a key that one program can hold


def chunk_size(dtype: torch.dtype, capability: int, channels: bool) -> int:
    """Positions in a chunk, as many as fit in registers.

    Args:
        dtype: of q, k and v
        capability: of the chip; 0, the interpreter, has short chunks, so that small tests need
            several
        channels: whether there is a gate for each channel
    Returns: 16, 32 or 64
    """
    if capability == 0:
        return 32 if channels else 16
    if capability == 75 or dtype == torch.float32:
        return SUB if channels else 32
    return 64


class Backwards:
    """A reversed view of a sequence: the same memory from the last row on, with a negative stride.

    Args:
        x: [B, H, n, d]
    """

    def __init__(self, x: Tensor):
        self.shape, self.dtype = x.shape, x.dtype
        self.base = x[:, :, -1:] if x.shape[2] else x
        self.strides = (*x.stride()[:2], -x.stride(2), x.stride(3))


Rows = Tensor | Backwards


def decays_launch(g: Rows, decays: Tensor, *, chunk: int) -> Launch:
    """Describe the sums of log gates in each chunk, with one gate for each position.

    Args:
        g: [B, H, n, 1]  log gates
        decays: float32 [B, H, chunks 2 chunk, 1], to be written. For each chunk: log2 of the decay
            from its start to each position; then what rounding to float32 dropped of each
        chunk: positions in a chunk
    Returns: the launch, not yet run
    """
    B, H, n, _ = g.shape
    arguments = _strided(g=g) | dict(decays_ptr=decays, n_heads=H, n=n, BLOCK_T=chunk)
    del arguments["stride_gd"]
    grid = (B * H * triton.cdiv(n, chunk),)
    return Launch(chunk_decays_kernel, grid, arguments, num_warps=1)


def states_launch(
    k: Rows, v: Rows, g: Rows, start: Tensor, states: Tensor, last: Tensor,
    *, chunk: int, capability: int, gates_of_v: bool = False,
) -> Launch:  # fmt: skip
    """Describe the walk that stores the state before each chunk.

    Args:
        k, v: [B, H, n, d_k], [B, H, n, d_v]
        g: [B, H, n, d_k], or with gates_of_v [B, H, n, d_v]  log gates; with one gate the decays
            that `decays_launch` wrote
        start: float32 [B, H, d_k, d_v]  the state before the first position
        states: [B, H, chunks, d_k, d_v], to be written, in float32 or, with one gate, in k's dtype
        last: float32 [B, H, d_k, d_v], to be written
        chunk: positions in a chunk
        capability: of the chip
        gates_of_v: whether the gates belong to the channels of v
    Returns: the launch, not yet run
    """
    gates = "one" if g.shape[-1] == 1 else "v" if gates_of_v else "k"
    block_k, block_v = _block(k, capability), _block(v, capability)
    if gates == "one" and block_k == 64:  # more keys for each value that is scaled
        block_k = min(128, _power(k.shape[-1]))
    blocks_k, blocks_v = triton.cdiv(k.shape[-1], block_k), triton.cdiv(v.shape[-1], block_v)
    return Launch(
        chunk_states_kernel,
        (k.shape[0] * k.shape[1] * blocks_k * blocks_v,),
        _strided(k=k, v=v, g=g)
        | _sizes(k, v, blocks_v, capability)
        | dict(start_ptr=start, states_ptr=states, last_ptr=last, n_blocks_k=blocks_k)
        | dict(n_gates=g.shape[-1], GATES=gates)
        | dict(BLOCK_T=chunk, BLOCK_K=block_k, BLOCK_V=block_v),
        num_warps=4 if gates == "one" else _warps(k, capability),
        num_stages=3 if gates == "one" else 2,
    )


def outputs_launch(
    q: Rows, k: Rows, v: Rows, decays: Tensor, states: Tensor, o: Rows,
    *, chunk: int, capability: int,
) -> Launch:  # fmt: skip
    """Describe the outputs with one gate for each position.

    Args:
        q: [B, H, n, d_k]
        k, v, chunk, capability: as for `states_launch`
        decays: as `decays_launch` wrote them
        states: as `states_launch` wrote them
        o: [B, H, n, d_v], to be written
    Returns: the launch, not yet run
    """
    block_k, block_v = _block(k, capability), _block(v, capability)
    if block_v == 64:  # more values for each pair of q and k, and for each decay
        block_v = min(128, _power(v.shape[-1]))
    # With 16 columns and two blocks of keys an H200 computed the last row wrong (Triton 3.6). So no
    # compiled kernel of long chunks has so few, whatever the chip.
    if chunk == 64:
        block_v = max(32, block_v)
    blocks_v = triton.cdiv(v.shape[-1], block_v)
    return Launch(
        chunk_outputs_kernel,
        (q.shape[0] * q.shape[1] * states.shape[2] * blocks_v,),
        _strided(q=q, k=k, v=v, o=o)
        | _sizes(k, v, blocks_v, capability)
        | dict(decays_ptr=decays, states_ptr=states)
        | dict(BLOCK_T=chunk, BLOCK_K=block_k, BLOCK_V=block_v),
        num_warps=8 if capability == 75 else 4,  # without matrix units more registers are needed
        num_stages=3,
    )


def gated_outputs_launch(
    q: Rows, k: Rows, v: Rows, g: Rows, states: Tensor, o: Rows,
    *, chunk: int, capability: int, gates_of_v: bool = False,
) -> Launch:  # fmt: skip
    """Describe the outputs with a gate for each channel.

    Args:
        q, k, v, states, o, chunk, capability: as for `outputs_launch`
        g, gates_of_v: as for `states_launch`
    Returns: the launch, not yet run
    """
    block_v = SUB if gates_of_v or chunk == SUB or capability == 0 else 32
    blocks_v = triton.cdiv(v.shape[-1], block_v)
    return Launch(
        gated_outputs_kernel,
        (q.shape[0] * q.shape[1] * states.shape[2] * blocks_v,),
        _strided(q=q, k=k, v=v, g=g, o=o)
        | _sizes(k, v, blocks_v, capability)
        | dict(states_ptr=states, GATES_OF_V=gates_of_v, CHUNK=chunk)
        | dict(BLOCK_T=SUB, BLOCK_K=_power(k.shape[-1]), BLOCK_V=block_v, BLOCK_C=SUB),
        num_warps=_warps(k, capability) if gates_of_v else 8,
        num_stages=1,
    )


def delta_launch(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor, o: Tensor, last: Tensor,
    *, capability: int,
) -> Launch:  # fmt: skip
    """Describe the delta rule.

    Args:
        q, k: [B, H, n, d_k];  v: [B, H, n, d_v];  beta, g: [B, H, n]
        o: [B, H, n, d_v], contiguous, to be written
        last: float32 [B, H, d_k, d_v]  the state: the first before the launch, the last after
        capability: of the chip
    Returns: the launch, not yet run
    """
    small = capability in (0, 75) or q.dtype == torch.float32
    block_t, block_v, block_k = (16, 16, 16) if small else (32, 32, 32)
    blocks_v = triton.cdiv(v.shape[-1], block_v)
    return Launch(
        delta_forward_kernel,
        (q.shape[0] * q.shape[1] * blocks_v,),
        _strided(q=q, k=k, v=v, beta=beta, g=g)
        | _sizes(k, v, blocks_v, capability)
        | dict(o_ptr=o, last_ptr=last, BLOCK_T=block_t, BLOCK_K=block_k, BLOCK_V=block_v),
        num_warps=4,
        num_stages=1,
    )


def _strided(**tensors: Any) -> dict[str, Any]:
    """Pointers and strides by the kernels' parameter names."""
    arguments: dict[str, Any] = {}
    for name, x in tensors.items():
        base, strides = (x.base, x.strides) if isinstance(x, Backwards) else (x, x.stride())
        arguments[f"{name}_ptr"] = base
        arguments |= {f"stride_{name}{axis}": s for axis, s in zip("bhnd", strides, strict=False)}
    return arguments


def _sizes(k: Rows, v: Rows, blocks_v: int, capability: int) -> dict[str, Any]:
    return dict(
        n_heads=k.shape[1],
        n=k.shape[2],
        d_k=k.shape[3],
        d_v=v.shape[3],
        n_blocks_v=blocks_v,
        # Applies to products of float32 only.
        PRECISION="ieee" if capability in (0, 75) else "tf32x3",
    )


def _power(d: int) -> int:
    """The power of two that covers d channels; a matrix product needs at least 16."""
    return max(16, triton.next_power_of_2(d))


def _block(x: Rows, capability: int) -> int:
    """How many channels of k or v a program holds."""
    most = 16 if capability == 0 else 32 if _is_small(x, capability) else 64
    return min(most, _power(x.shape[-1]))


def _warps(x: Rows, capability: int) -> int:
    return 4 if capability > 75 and _is_small(x, capability) else 8


def _is_small(x: Rows, capability: int) -> bool:
    """Whether only small tiles fit in registers."""
    return capability == 75 or x.dtype == torch.float32
