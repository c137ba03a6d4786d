"""FlashAttention in PyTorch: the reference's tiles on tensors of any dtype, with gradients.

The query heads that share a key/value head are stacked as the rows of one tile, so keys and values
are never repeated. Tiles are computed in float32 at least.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_src.flash.layer_tile_scores import (
    ScoreRule,
    bias_tile,
    stack,
    tile,
    tile_scores,
    unstack,
)
from attention_src.flash.visibility import Visibility, blocks
from attention_src.tensors import compute_dtype, without_autocast

BLOCK_Q, BLOCK_K = 128, 256  # rows and columns of a tile of scores
ONLY_ONCE = (
    'impl is "tiled", which has first derivatives only, by backward(), torch.autograd.grad or '
    "torch.func.grad. For second ones (create_graph=True, hessian), forward ones (jvp, jacfwd) and "
    'torch.func.vmap it should be "dense"'
)


def tiled_attention(
    q: Float[Tensor, "B H n_q d_k"],
    k: Float[Tensor, "B H_kv n_k d_k"],
    v: Float[Tensor, "B H_kv n_k d_v"],
    key_lengths: Tensor | None,
    visibility: Visibility,
    scale: float,
    softcap: float | None = None,
    bias: Tensor | None = None,
    slopes: Tensor | None = None,
) -> tuple[Float[Tensor, "B H n_q d_v"], Float[Tensor, "B H n_q"]]:
    """As `flash.reference.flash_attention`, on tensors [B, H, n, d], with gradients.

    Args:
        q, k, v: already checked
        key_lengths, visibility, scale, softcap, slopes: as for `ScoreRule`
        bias: as for the reference; it gets a gradient
    Returns: o in q's dtype, and lse in float32 at least; differentiable once
    Raises:
        RuntimeError: a second derivative, a forward one as by torch.func.jvp, or torch.func.vmap
    Cost: 2 B H n_q n_k (d_k + d_v) FLOP, less the hidden tiles. The backward pass recomputes the
        weights; it keeps the inputs, o and lse, O(n (d_k + d_v)).
    """
    try:
        return _Tiled.apply(q, k, v, bias, key_lengths, slopes, visibility, scale, softcap)
    except NotImplementedError as error:  # a forward derivative
        raise RuntimeError(ONLY_ONCE) from error


class _FirstDerivatives(torch.autograd.Function):
    """Says which implementation can be mapped, where torch would ask for a rule."""

    @staticmethod
    def vmap(*_: Any) -> Any:
        raise RuntimeError(ONLY_ONCE)


class _Tiled(_FirstDerivatives):
    """Saves q, k, v, bias, o and lse; only one tile of scores exists at a time."""

    @staticmethod
    @without_autocast
    def forward(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        key_lengths: Tensor | None,
        slopes: Tensor | None,
        visibility: Visibility,
        scale: float,
        softcap: float | None,
    ) -> tuple[Tensor, Tensor]:
        rule = ScoreRule(visibility, key_lengths, scale, softcap, bias, slopes)
        o = q.new_zeros(*q.shape[:-1], v.shape[-1])
        lse = q.new_full(q.shape[:-1], -torch.inf, dtype=compute_dtype(q))
        for i in blocks(visibility.n_q, BLOCK_Q):
            q_i = stack(q, i, k)  # [B, H_kv, rows, d_k]
            m = q_i.new_full((*q_i.shape[:-1], 1), -torch.inf)
            l = torch.zeros_like(m)
            acc = q_i.new_zeros(*q_i.shape[:-1], v.shape[-1])  # [B, H_kv, rows, d_v]
            for j in visibility.key_blocks(i, BLOCK_K, padded=key_lengths is not None):
                s, _ = tile_scores(q_i, k, i, j, rule)  # [B, H_kv, rows, BLOCK_K]
                m_new = torch.maximum(m, s.amax(dim=-1, keepdim=True))
                m_safe = _finite(m_new)
                p = torch.exp(s - m_safe)  # [B, H_kv, rows, BLOCK_K]
                rescale = torch.exp(m - m_safe)
                l = rescale * l + p.sum(dim=-1, keepdim=True)
                acc = rescale * acc + p @ tile(v, j)
                m = m_new
            l = l.masked_fill(l == 0, 1)  # fully masked: acc = 0, so o = 0
            o[:, :, i] = unstack(acc / l, q)
            lse[:, :, i] = unstack(m + l.log(), q)[..., 0]
        return o, lse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        q, k, v, bias, key_lengths, slopes, *ctx.static = inputs
        ctx.save_for_backward(q, k, v, bias, key_lengths, slopes, *output)

    @staticmethod
    def backward(ctx: Any, do: Tensor, dlse: Tensor) -> tuple[Tensor | None, ...]:
        saved, learns_bias = ctx.saved_tensors, ctx.needs_input_grad[3]
        dq, dk, dv, dbias = _TiledBackward.apply(do, dlse, *saved, *ctx.static, learns_bias)
        return dq, dk, dv, dbias, None, None, None, None, None


class _TiledBackward(_FirstDerivatives):
    """The gradients of q, k, v and of the bias, from o, lse and their gradients.

    A function of its own, so that a second derivative is refused whichever argument it is for.
    """

    @staticmethod
    @without_autocast
    def forward(
        do: Tensor,
        dlse: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        key_lengths: Tensor | None,
        slopes: Tensor | None,
        o: Tensor,
        lse: Tensor,
        visibility: Visibility,
        scale: float,
        softcap: float | None,
        learns_bias: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        rule = ScoreRule(visibility, key_lengths, scale, softcap, bias, slopes)
        dq = torch.empty_like(q)
        dk, dv = (torch.zeros_like(x, dtype=compute_dtype(x)) for x in (k, v))
        dbias = torch.zeros_like(bias) if learns_bias and bias is not None else None
        lse = lse[..., None]
        dlse = dlse[..., None].masked_fill(lse == -torch.inf, 0)  # fully masked: no gradient
        for i in blocks(visibility.n_q, BLOCK_Q):
            q_i, o_i, do_i, lse_i, dlse_i = (stack(x, i, k) for x in (q, o, do, lse, dlse))
            # With a score of inf, p is NaN.
            lse_i = _finite(lse_i.masked_fill(lse_i == torch.inf, torch.nan))
            delta = (o_i * do_i).sum(dim=-1, keepdim=True) - dlse_i  # [B, H_kv, rows, 1]
            dq_i = torch.zeros_like(q_i)
            for j in visibility.key_blocks(i, BLOCK_K, padded=key_lengths is not None):
                s, slope = tile_scores(q_i, k, i, j, rule)
                p = torch.exp(s - lse_i)  # [B, H_kv, rows, BLOCK_K]
                ds = p * (do_i @ tile(v, j).mT - delta)  # [B, H_kv, rows, BLOCK_K]
                if dbias is not None:
                    part = bias_tile(dbias, i, j)  # a view: summed over what was broadcast
                    part += unstack(ds, q).sum_to_size(part.shape)
                ds = slope * ds
                dq_i += ds @ tile(k, j)
                dk[:, :, j] += ds.mT @ q_i  # summed over the query heads of the group
                dv[:, :, j] += p.mT @ do_i
            dq[:, :, i] = unstack(dq_i, q)
        return dq, dk.to(k.dtype), dv.to(v.dtype), dbias

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(ONLY_ONCE)


def _finite(m: Tensor) -> Tensor:
    """m with 0 for −inf, where no key is visible yet, and for inf: inf − inf would be NaN."""
    return m.masked_fill(m.isinf(), 0)
