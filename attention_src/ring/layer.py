"""Ring attention on torch.distributed: context parallelism, forward and backward.

Start with torchrun; every rank calls the same functions on its own shard:

    q, k, v = (shard(x) for x in (q, k, v))        # or load only this rank's tokens
    o = ring_attention(q, k, v, causal=True)       # this rank's rows of the answer
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_src.flash.layer import IMPLS, flash_attention_with_lse
from attention_src.ring.layer_exchange import RingExchange
from attention_src.ring.placement import PLACEMENTS, order, spans
from attention_src.shapes import check_heads, check_impl, check_scale
from attention_src.tensors import check_tensors, compute_dtype

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def shard(x: Tensor, *, dim: int = -2, placement: str = "zigzag", group: Any = None) -> Tensor:
    """This rank's tokens of a whole sequence.

    Args:
        x: a tensor whose axis `dim` is the whole sequence
        dim: the axis of the tokens
        placement: "zigzag" or "contiguous", as for `ring_attention`
        group: a process group; None = all ranks
    Returns: a copy with n / R tokens
    Raises:
        ValueError: n cannot be cut into equal pieces; torch.distributed is not running
    """
    ring = RingExchange(group)
    held = [i for span in spans(ring.rank, x.shape[dim], ring.n_ranks, placement) for i in span]
    return x.index_select(dim, torch.tensor(held, dtype=torch.int64, device=x.device))


def unshard(x: Tensor, *, dim: int = -2, placement: str = "zigzag", group: Any = None) -> Tensor:
    """The whole sequence, on every rank, from all ranks' shards: the inverse of `shard`.

    Args:
        x: this rank's shard, of the same shape everywhere
        dim, placement, group: as for `shard`
    Returns: a tensor with n tokens, without gradient
    Raises:
        ValueError: as `shard`
    """
    ring = RingExchange(group)
    x = x.detach().contiguous()
    pieces = [torch.empty_like(x) for _ in range(ring.n_ranks)]
    torch.distributed.all_gather(pieces, x, group=group)
    places = torch.tensor(order(ring.n_ranks * x.shape[dim], ring.n_ranks, placement))
    return torch.cat(pieces, dim=dim).index_select(dim, places.argsort().to(x.device))


def ring_attention(
    q: Float[Tensor, "B H n_local d_k"],
    k: Float[Tensor, "B H_kv n_local d_k"],
    v: Float[Tensor, "B H_kv n_local d_v"],
    *,
    causal: bool = False,
    scale: float | None = None,
    group: Any = None,
    placement: str = "zigzag",
    impl: str = "auto",
    exchange: RingExchange | None = None,
) -> Float[Tensor, "B H n_local d_v"]:
    """Exact attention for a sequence that is spread over all ranks, on this rank's shard.

        o = softmax(scale * q k^T, hidden scores = −inf) v  over the keys of all ranks

    Keys and values pass round the ring; while a rank computes with one shard it already receives
    the next. The backward pass goes round again, and sends the gradients of keys and values with
    them, back to their rank.

    Args:
        q: [B, H, n / R, d_k]  this rank's queries
        k, v: [B, H_kv, n / R, d_k or d_v]  its keys and values; H_kv divides H
        causal: key j is visible to query i iff j <= i, by their places in the whole sequence
        scale: None = d_k ** -0.5
        group: a process group; None = all ranks
        placement: which tokens a rank holds, as `shard` made them: "zigzag" (equal work for all
            ranks when causal) or "contiguous". Without causal it makes no difference.
        impl: of `flash.layer.flash_attention`, for each rank's own part
        exchange: None = a new one; its `bytes_sent` counts what this call and its backward send
    Returns: [B, H, n / R, d_v]  o, in q's dtype
    Raises:
        ValueError: shapes, dtypes or options that do not fit, or differ between ranks; an odd shard
            under zigzag; torch.distributed is not running
        RuntimeError: a neighbour has ended
    Cost: each rank: 2 B H n² (d_k + d_v) / R FLOP, half of that when causal and zigzag, and the
        bytes of `reference.bytes_sent`; O(n / R) memory. Backward recomputes each part's forward.
    Source: Liu et al. 2023, arXiv:2310.01889. Joining parts: Dao 2023, Flash-Decoding.
    """
    check_impl(impl, IMPLS)
    check_impl(placement, PLACEMENTS, "placement")
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    n = q.shape[-2]
    if k.shape[-2] != n:
        raise ValueError(f"k has n_k={k.shape[-2]} but q has n_q={n}; a rank holds n / R of each")
    if causal and placement == "zigzag" and n % 2:
        raise ValueError(f"q has n={n} tokens, but a zigzag shard is two equal chunks: pad to even")
    scale = check_scale(scale, q.shape[-1])
    ring = RingExchange(group) if exchange is None else exchange
    options = [int(causal), PLACEMENTS.index(placement), DTYPES.index(q.dtype)]
    ring.agree(
        [*q.shape, k.shape[1], v.shape[-1], *options],
        "[B, H, n, d_k, H_kv, d_v, causal, placement, dtype]",
    )
    return _Ring.apply(q, k, v, ring, causal, placement, scale, impl)


class _Ring(torch.autograd.Function):
    """Forward and backward go round the ring in the same order."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor,
        ring: RingExchange, causal: bool, placement: str, scale: float, impl: str,
    ) -> Tensor:  # fmt: skip
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
        return answer

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, o, lse = ctx.saved_tensors
        ring, causal, placement, scale, impl = ctx.static
        wide = lse.dtype
        do = do.to(wide)
        delta = (do * o.to(wide)).sum(dim=-1)  # [B, H, n]
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
