"""Other libraries' kernels, described as launches so that the same compiler compiles them.

fla's hot loops and ours, one gate, compare by instructions times warps for each FLOP: both take
chunks of 64, keep states in bfloat16, and sum the gates by a kernel before. The work is not quite
equal: ours takes any stride, first and last states, and sums with twice the digits, against zero
gates. At d = 64 neither has a loop over outputs, so all of the code is compared. In bfloat16, fla's
instructions divided by ours:
    states     sm_90: 1.47 at d = 128, 0.97 at 64;  sm_80: 1.40, 0.99
    outputs    sm_90: 1.32 at d = 128, 1.07 at 64;  sm_80: 1.38, 1.00
At 128 our tiles are wider: a value that is scaled serves 128 keys, a weight 128 channels of v.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch

from attention_src.triton_support.launch import Launch, tl, triton
from benchmarks.static.flex import flex_launch

if TYPE_CHECKING:
    from torch import Tensor

BATCH, N_HEADS, N, CHUNK = 4, 16, 4096, 64


class Peer(NamedTuple):
    """A kernel to compare with.

    Args:
        package: whose version its code depends on; "" for one written here
        launch: from dtype, d and the chip
        tma_bytes: of each load that the code does not tell the size of
    """

    package: str
    launch: Callable[[torch.dtype, int, int], Launch]
    tma_bytes: int = 0


def _empty(*shape: int, dtype: torch.dtype = torch.float32) -> "Tensor":
    return torch.empty(shape, dtype=dtype, device="meta")


@triton.jit
def tma_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, n, scale_log2,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Flash attention, full, with tiles loaded by the tensor memory accelerator: the anchor.

    It does the arithmetic of Triton's tutorial 06 with its tiles. No mask, and whole blocks only.
    """
    head = tl.program_id(1).to(tl.int64) * n * D
    start_q = tl.program_id(0) * BLOCK_Q
    q_rows = tl.make_tensor_descriptor(q_ptr + head, [n, D], [D, 1], [BLOCK_Q, D])
    k_rows = tl.make_tensor_descriptor(k_ptr + head, [n, D], [D, 1], [BLOCK_K, D])
    v_rows = tl.make_tensor_descriptor(v_ptr + head, [n, D], [D, 1], [BLOCK_K, D])
    o_rows = tl.make_tensor_descriptor(o_ptr + head, [n, D], [D, 1], [BLOCK_Q, D])
    q = q_rows.load([start_q, 0])
    m_log2 = tl.full([BLOCK_Q], -float("inf"), tl.float32)
    l = tl.full([BLOCK_Q], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_Q, D], tl.float32)
    for start_k in range(0, n, BLOCK_K):
        s = tl.dot(q, k_rows.load([start_k, 0]).T)
        m_new = tl.maximum(m_log2, tl.max(s, 1) * scale_log2)
        p = tl.exp2(s * scale_log2 - m_new[:, None])
        rescale = tl.exp2(m_log2 - m_new)
        l = l * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc = tl.dot(p.to(q.dtype), v_rows.load([start_k, 0]), acc)
        m_log2 = m_new
    o_rows.store([start_q, 0], (acc / l[:, None]).to(q.dtype))


def tma_launch(dtype: torch.dtype, d: int, capability: int) -> Launch:
    """The anchor: tiles of 128 x 128, three stages, eight warps."""
    q = _empty(BATCH, N_HEADS, N, d, dtype=dtype)
    arguments = dict(q_ptr=q, k_ptr=q, v_ptr=q, o_ptr=q, n=N, scale_log2=0.125)
    arguments |= dict(D=d, BLOCK_Q=128, BLOCK_K=128)
    return Launch(tma_forward_kernel, (N // 128, BATCH * N_HEADS), arguments, 8, 3)


def fla_states_launch(dtype: torch.dtype, d: int, capability: int) -> Launch:
    """fla's states before each chunk, with one gate a position."""
    from fla.ops.common.chunk_h import chunk_fwd_kernel_h

    k, g, h = _fla_tensors(dtype, d)
    names = "g_gamma gk gv h0 cu_seqlens split_offsets"
    arguments = dict.fromkeys(names.split()) | dict(k=k, v=k, h=h, g=g, ht=None, T=N)
    arguments |= dict(H=N_HEADS, K=d, V=d, BT=CHUNK, BS=CHUNK, BK=64, BV=64)
    arguments |= dict.fromkeys(("USE_G_GAMMA", "USE_GK", "USE_GV", "IS_VARLEN"), False)
    arguments |= dict.fromkeys(("USE_INITIAL_STATE", "STORE_FINAL_STATE", "STATE_V_FIRST"), False)
    return Launch(_jit(chunk_fwd_kernel_h), (1,), arguments | dict(USE_G=True), 4, 3)


def fla_outputs_launch(dtype: torch.dtype, d: int, capability: int) -> Launch:
    """fla's outputs of each chunk, with one gate a position."""
    from fla.ops.common.chunk_o import chunk_fwd_kernel_o

    k, g, h = _fla_tensors(dtype, d)
    arguments = dict(q=k, k=k, v=k, h=h, g=g, o=k, scale=1.0, T=N, H=N_HEADS, HV=N_HEADS)
    arguments |= dict.fromkeys(("g_gamma", "cu_seqlens", "chunk_indices"))
    arguments |= dict(K=d, V=d, BT=CHUNK, BK=64, BV=64, USE_G=True)
    arguments |= dict.fromkeys(("USE_G_GAMMA", "STATE_V_FIRST", "IS_VARLEN"), False)
    return Launch(_jit(chunk_fwd_kernel_o), (1,), arguments, 4, 3)


def _fla_tensors(dtype: torch.dtype, d: int) -> tuple["Tensor", "Tensor", "Tensor"]:
    """k [B, n, H, d], log gates [B, n, H] and states [B, chunks, H, d, d]."""
    states = _empty(BATCH, N // CHUNK, N_HEADS, d, d, dtype=dtype)
    return _empty(BATCH, N, N_HEADS, d, dtype=dtype), _empty(BATCH, N, N_HEADS), states


def _jit(kernel):
    """The function under what chooses its tiles."""
    while not isinstance(kernel, triton.JITFunction):
        kernel = kernel.fn
    return kernel


PEERS = {
    ("flash", "FlexAttention causal"): Peer("torch", lambda *at: flex_launch(*at, causal=True)),
    ("flash", "FlexAttention full"): Peer("torch", lambda *at: flex_launch(*at, causal=False)),
    ("flash", "anchor full"): Peer("", tma_launch, 2 * 128 * 128),
    ("linear", "fla chunk_fwd_kernel_h"): Peer("fla-core", fla_states_launch),
    ("linear", "fla chunk_fwd_kernel_o"): Peer("fla-core", fla_outputs_launch),
}
