"""FlashAttention in PyTorch: the reference's tiles on tensors of any dtype, with gradients.

The query heads that share a key/value head are stacked as the rows of one tile, so keys and values
are never repeated. Tiles are computed in float32 at least.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_src.flash.visibility import Visibility, blocks
from attention_src.tensors import compute_dtype, without_autocast

BLOCK_Q, BLOCK_K = 128, 256  # rows and columns of a tile of scores


def tiled_attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    key_lengths: Tensor | None,
    visibility: Visibility,
    scale: float,
) -> tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H n_q"]]:
    """As `flash.reference.flash_attention`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k, v: already checked
        key_lengths: int [B] on q's device, each 0 to n_k; None = all n_k
        visibility: which query sees which key
        scale: of the scores
    Returns: o in q's dtype, and lse in float32 at least; differentiable once
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP, less the hidden tiles. The backward pass recomputes the
        weights; it keeps the inputs, o and lse, O(n (d_k + d_v)).
    """
    return _Tiled.apply(q, k, v, key_lengths, visibility, scale)


class _Tiled(torch.autograd.Function):
    """Saves q, k, v, o and lse; only one tile of scores exists at a time."""

    @staticmethod
    @without_autocast
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        key_lengths: Tensor | None,
        visibility: Visibility,
        scale: float,
    ) -> tuple[Tensor, Tensor]:
        ctx.visibility, ctx.scale = visibility, scale
        o = q.new_zeros(*q.shape[:-1], v.shape[-1])
        lse = q.new_full(q.shape[:-1], -torch.inf, dtype=compute_dtype(q))
        for i in blocks(visibility.n_q, BLOCK_Q):
            q_i = _stack(q, i, k)  # [B, H_kv, rows, d_k]
            m = q_i.new_full((*q_i.shape[:-1], 1), -torch.inf)
            l = torch.zeros_like(m)
            acc = q_i.new_zeros(*q_i.shape[:-1], v.shape[-1])  # [B, H_kv, rows, d_v]
            for j in visibility.key_blocks(i, BLOCK_K):
                s = _scores(
                    q_i, k, i, j, visibility, key_lengths, scale
                )  # [B, H_kv, rows, BLOCK_K]
                m_new = torch.maximum(m, s.amax(dim=-1, keepdim=True))
                m_safe = _finite(m_new)
                p = torch.exp(s - m_safe)  # [B, H_kv, rows, BLOCK_K]
                rescale = torch.exp(m - m_safe)
                l = rescale * l + p.sum(dim=-1, keepdim=True)
                acc = rescale * acc + p @ _tile(v, j)
                m = m_new
            l = l.masked_fill(l == 0, 1)  # fully masked: acc = 0, so o = 0
            o[:, :, i] = _unstack(acc / l, q)
            lse[:, :, i] = _unstack(m + l.log(), q)[..., 0]
        ctx.save_for_backward(q, k, v, o, lse, key_lengths)
        return o, lse

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, do: Tensor, dlse: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, o, lse, key_lengths = ctx.saved_tensors
        visibility, scale = ctx.visibility, ctx.scale
        dq = torch.empty_like(q)
        dk, dv = (torch.zeros_like(x, dtype=compute_dtype(x)) for x in (k, v))
        lse = lse[..., None]
        dlse = dlse[..., None].masked_fill(lse == -torch.inf, 0)  # fully masked: no gradient
        for i in blocks(visibility.n_q, BLOCK_Q):
            q_i, o_i, do_i, lse_i, dlse_i = (_stack(x, i, k) for x in (q, o, do, lse, dlse))
            delta = (o_i * do_i).sum(dim=-1, keepdim=True) - dlse_i  # [B, H_kv, rows, 1]
            dq_i = torch.zeros_like(q_i)
            for j in visibility.key_blocks(i, BLOCK_K):
                s = _scores(q_i, k, i, j, visibility, key_lengths, scale)
                p = torch.exp(s - _finite(lse_i))  # [B, H_kv, rows, BLOCK_K]
                ds = scale * p * (do_i @ _tile(v, j).mT - delta)  # [B, H_kv, rows, BLOCK_K]
                dq_i += ds @ _tile(k, j)
                dk[:, :, j] += ds.mT @ q_i  # summed over the query heads of the group
                dv[:, :, j] += p.mT @ do_i
            dq[:, :, i] = _unstack(dq_i, q)
        return dq, dk.to(k.dtype), dv.to(v.dtype), None, None, None


def _scores(
    q_i: Tensor,
    k: Tensor,
    i: slice,
    j: slice,
    visibility: Visibility,
    key_lengths: Tensor | None,
    scale: float,
) -> Tensor:
    """One tile of scores, −inf where hidden: [B, H_kv, rows, BLOCK_K]."""
    s = scale * (q_i @ _tile(k, j).mT)
    offs_k = torch.arange(j.start, j.stop, device=k.device)
    if visibility.restricts:
        offs_q = torch.arange(i.start, i.stop, device=k.device)
        group = s.shape[-2] // len(offs_q)  # stacked heads, each with the same queries
        s = s.masked_fill(~visibility.visible(offs_q, offs_k).repeat(group, 1), -torch.inf)
    if key_lengths is not None:
        padding = offs_k >= key_lengths[:, None, None, None]  # [B, 1, 1, BLOCK_K]
        s = s.masked_fill(padding, -torch.inf)
    return s


def _tile(x: Tensor, rows: slice) -> Tensor:
    """Some rows of every head, in the dtype to compute in: [B, H_kv, rows, d]."""
    return x[:, :, rows].to(compute_dtype(x))


def _stack(x: Tensor, rows: slice, k: Tensor) -> Tensor:
    """Some rows of every query head, stacked by group: [B, H, n, d] -> [B, H_kv, group rows, d]."""
    return _tile(x, rows).unflatten(1, (k.shape[1], -1)).flatten(2, 3)


def _unstack(tile: Tensor, q: Tensor) -> Tensor:
    """The inverse of `_stack`: [B, H_kv, group rows, d] -> [B, H, rows, d]."""
    return tile.unflatten(2, (q.shape[1] // tile.shape[1], -1)).flatten(1, 2)


def _finite(m: Tensor) -> Tensor:
    """m with 0 for −inf: in a row with no visible key yet, −inf − (−inf) would be NaN."""
    return m.masked_fill(m == -torch.inf, 0)
