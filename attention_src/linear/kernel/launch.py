"""How the chunkwise kernels are launched: tiles for every chip, and walks in either direction."""

from typing import Any

import torch
from torch import Tensor

from attention_src.linear.kernel.chunks import chunk_outputs_kernel, chunk_states_kernel
from attention_src.linear.kernel.delta import delta_forward_kernel
from attention_src.linear.kernel.gated import gated_outputs_kernel
from attention_src.triton_support.launch import Launch, triton

SUB = 16  # positions whose products of gates are made pair by pair
WIDEST = 256  # channels of a key that one program holds


def chunk_size(dtype: torch.dtype, capability: int, channels: bool) -> int:
    """Positions in a chunk, as many as the registers allow; channels: a gate for each.

    The interpreter has few, so that small tests reach several chunks.
    """
    if capability == 0:
        return 32 if channels else 16
    if capability == 75 or dtype == torch.float32:
        return SUB if channels else 32
    return 64


class Backwards:
    """A sequence read from its end: the same memory, its last row first, with a negative stride.

    Args:
        x: [B, H, n, d]
    """

    def __init__(self, x: Tensor):
        self.shape, self.dtype = x.shape, x.dtype
        self.base = x[:, :, -1:] if x.shape[2] else x
        self.strides = (*x.stride()[:2], -x.stride(2), x.stride(3))


Rows = Tensor | Backwards


def states_launch(
    k: Rows,
    v: Rows,
    g: Rows,
    start: Tensor,
    states: Tensor,
    last: Tensor,
    *,
    chunk: int,
    capability: int,
    gates_of_v: bool = False,
) -> Launch:
    """Describe the walk that leaves the state before each chunk.

    Args:
        k, v: [B, H, n, d_k], [B, H, n, d_v]
        g: [B, H, n, d_k], or with gates_of_v [B, H, n, d_v]  log gates; any strides, 0 too
        start, last: float32 [B, H, d_k, d_v]
        states: float32 [B, H, chunks, d_k, d_v]
        chunk: positions in a chunk
    """
    block_k, block_v = _block(k, capability), _block(v, capability)
    blocks_k, blocks_v = triton.cdiv(k.shape[-1], block_k), triton.cdiv(v.shape[-1], block_v)
    return Launch(
        chunk_states_kernel,
        (k.shape[0] * k.shape[1] * blocks_k * blocks_v,),
        _strided(k=k, v=v, g=g)
        | _sizes(k, v, blocks_v, capability)
        | dict(start_ptr=start, states_ptr=states, last_ptr=last, n_blocks_k=blocks_k)
        | dict(GATES_OF_V=gates_of_v, BLOCK_T=chunk, BLOCK_K=block_k, BLOCK_V=block_v),
        num_warps=_warps(k, capability),
        num_stages=2,
    )


def outputs_launch(
    q: Rows, k: Rows, v: Rows, g: Rows, states: Tensor, o: Rows, *, chunk: int, capability: int
) -> Launch:
    """Describe the outputs with one gate a position: g [B, H, n, 1]; o [B, H, n, d_v]."""
    block_k, block_v = _block(k, capability), _block(v, capability)
    blocks_v = triton.cdiv(v.shape[-1], block_v)
    arguments = _strided(q=q, k=k, v=v, g=g, o=o)
    del arguments["stride_gd"]
    return Launch(
        chunk_outputs_kernel,
        (q.shape[0] * q.shape[1] * states.shape[2] * blocks_v,),
        arguments
        | _sizes(k, v, blocks_v, capability)
        | dict(states_ptr=states, BLOCK_T=chunk, BLOCK_K=block_k, BLOCK_V=block_v),
        num_warps=_warps(k, capability),
        num_stages=2,
    )


def gated_outputs_launch(
    q: Rows,
    k: Rows,
    v: Rows,
    g: Rows,
    states: Tensor,
    o: Rows,
    *,
    chunk: int,
    capability: int,
    gates_of_v: bool = False,
) -> Launch:
    """Describe the outputs with a gate for each channel of k, or with gates_of_v of v."""
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
    q: Tensor,
    k: Tensor,
    v: Tensor,
    beta: Tensor,
    g: Tensor,
    o: Tensor,
    last: Tensor,
    *,
    capability: int,
) -> Launch:
    """Describe the delta rule: beta, g [B, H, n]; o contiguous.

    last: float32 [B, H, d_k, d_v]  holds the first state before, and the last one after
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
    """Pointers and strides, by the kernels' names."""
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
        # For products of float32; half precision has one way only.
        PRECISION="ieee" if capability in (0, 75) else "tf32x3",
    )


def _power(d: int) -> int:
    """The power of two that covers d channels; a matrix product needs 16."""
    return max(16, triton.next_power_of_2(d))


def _block(x: Rows, capability: int) -> int:
    """Channels that a program holds of k or v."""
    most = 16 if capability == 0 else 32 if _is_small(x, capability) else 64
    return min(most, _power(x.shape[-1]))


def _warps(x: Rows, capability: int) -> int:
    return 4 if capability > 75 and _is_small(x, capability) else 8


def _is_small(x: Rows, capability: int) -> bool:
    """Whether registers allow small tiles only."""
    return capability == 75 or x.dtype == torch.float32
