"""What each rank does while keys and values go round the ring, forward and backward."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_src.flash.layer import flash_attention_with_lse
from attention_src.ring.layer_exchange import RingExchange
from attention_src.tensors import compute_dtype, without_autocast


def attend_in_rounds(
    q: Float[Tensor, "B H n_local d_k"],
    k: Float[Tensor, "B H_kv n_local d_k"],
    v: Float[Tensor, "B H_kv n_local d_v"],
    ring: RingExchange,
    causal: bool,
    placement: str,
    scale: float,
    impl: str,
) -> tuple[Float[Tensor, "B H n_local d_v"], Float[Tensor, "B H n_local"]]:
    """As `layer.ring_attention_with_lse`, for arguments that are already checked.

    Args:
        q, k, v: this rank's shard
        ring: sends and receives, and counts the bytes
        causal, placement, scale, impl: as for `layer.ring_attention`
    Returns: o in q's dtype, and lse in float32 at least; differentiable once
    Cost: R rounds; the backward pass keeps the inputs, o and lse, and recomputes the rest.
    """
    return _Ring.apply(q, k, v, ring, causal, placement, scale, impl)


class _Ring(torch.autograd.Function):
    """Forward and backward go round the ring in the same order."""

    @staticmethod
    @without_autocast
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor,
        ring: RingExchange, causal: bool, placement: str, scale: float, impl: str,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        wide = compute_dtype(q)
        o = q.new_zeros(*q.shape[:-1], v.shape[-1], dtype=wide)
        lse = q.new_full(q.shape[:-1], -torch.inf, dtype=wide)
        ctx.static = (ring, causal, placement, scale, impl)
        keys, values = k, v
        for step in range(ring.n_ranks):
            moving = ring.start(keys, values) if step < ring.n_ranks - 1 else None
            part = _visible_part(ring, step, causal, placement, q.shape[-2])
            if part is not None:
                rows, columns, is_causal = part
                o_part, lse_part = flash_attention_with_lse(
                    q[:, :, rows],
                    keys[:, :, columns],
                    values[:, :, columns],
                    causal=is_causal,
                    scale=scale,
                    impl=impl,
                )
                o[:, :, rows], lse[:, :, rows] = _join(
                    o[:, :, rows], lse[:, :, rows], o_part.to(wide), lse_part
                )
            if moving is not None:
                keys, values = moving.finish()
        answer = o.to(q.dtype)
        ctx.save_for_backward(q, k, v, answer, lse)
        return answer, lse

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, do: Tensor, dlse: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, o, lse = ctx.saved_tensors
        ring, causal, placement, scale, impl = ctx.static
        wide = lse.dtype
        do = do.to(wide)
        delta = (do * o.to(wide)).sum(dim=-1) - dlse  # [B, H, n]
        dq = torch.zeros_like(q, dtype=wide)
        travelling: Any = None
        keys, values = k, v
        for step in range(ring.n_ranks):
            moving = ring.start(keys, values) if step < ring.n_ranks - 1 else None
            dk, dv = torch.zeros_like(k, dtype=wide), torch.zeros_like(v, dtype=wide)
            part = _visible_part(ring, step, causal, placement, q.shape[-2])
            if part is not None:
                rows, columns, is_causal = part
                gradients = _part_gradients(
                    (q[:, :, rows], keys[:, :, columns], values[:, :, columns]),
                    (lse[:, :, rows], do[:, :, rows], delta[:, :, rows]),
                    dict(causal=is_causal, scale=scale, impl=impl),
                )
                for total, where, part_gradient in zip(
                    (dq, dk, dv), (rows, columns, columns), gradients, strict=True
                ):
                    total[:, :, where] += part_gradient
            if travelling is not None:  # earlier ranks' gradients of the keys that are here now
                before_k, before_v = travelling.finish()
                dk, dv = dk + before_k, dv + before_v
            travelling = ring.start(dk, dv)
            if moving is not None:
                keys, values = moving.finish()
        dk, dv = travelling.finish()  # after R steps they are back
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None, None, None


def _visible_part(
    ring: RingExchange, step: int, causal: bool, placement: str, n: int
) -> tuple[slice, slice, bool] | None:
    """Which of my queries see which of the keys that are here at this step, and whether causally.

    The keys are those of rank (rank - step) mod R. None: all of them are hidden.
    """
    everything = slice(0, n)
    source = (ring.rank - step) % ring.n_ranks
    if not causal:
        return everything, everything, False
    if source == ring.rank:  # positions ascend within a shard, so the plain causal rule applies
        return everything, everything, True
    if placement == "contiguous":
        return (everything, everything, False) if source < ring.rank else None
    half = n // 2
    if source < ring.rank:  # their early chunk is before both of mine, their late one after both
        return everything, slice(0, half), False
    # My early chunk is before both of theirs, my late one after both.
    return slice(half, n), everything, False


def _join(o: Tensor, lse: Tensor, o_part: Tensor, lse_part: Tensor) -> tuple[Tensor, Tensor]:
    """As `reference.join`."""
    joined = torch.logaddexp(lse, lse_part)
    lse_safe = joined.masked_fill(joined == -torch.inf, 0)  # so that −inf − lse is not NaN
    share, share_part = (lse - lse_safe).exp()[..., None], (lse_part - lse_safe).exp()[..., None]
    return share * o + share_part * o_part, joined


def _part_gradients(
    shards: tuple[Tensor, Tensor, Tensor], saved: tuple[Tensor, Tensor, Tensor], options: dict
) -> list[Tensor]:
    """dq, dk, dv of one part.

        o = sum over parts of share o_part,  share = exp(lse_part - lse)
        do_part = share do,  dlse_part = share (rowsum(do * o_part) - delta)

    Args:
        shards: the part's q, k, v
        saved: lse, do and delta of the part's queries
        options: of `flash_attention_with_lse`
    """
    lse, do, delta = saved
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in shards]
        o_part, lse_part = flash_attention_with_lse(*leaves, **options)
    share = (lse_part.detach() - lse).exp().masked_fill(lse == -torch.inf, 0)
    do_part = share[..., None] * do
    dlse_part = (do_part * o_part.detach().to(do.dtype)).sum(dim=-1) - share * delta
    return list(
        torch.autograd.grad(
            (o_part, lse_part), leaves, (do_part.to(o_part.dtype), dlse_part.to(lse_part.dtype))
        )
    )
