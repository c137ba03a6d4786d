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
from attention_src.ring.layer_wire import Wire
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
        ValueError: n does not divide; torch.distributed is not running
    """
    wire = Wire(group)
    held = [i for span in spans(wire.rank, x.shape[dim], wire.n_ranks, placement) for i in span]
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
    wire = Wire(group)
    pieces = [
        torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(wire.n_ranks)
    ]
    torch.distributed.all_gather(pieces, x.detach().contiguous(), group=group)
    places = torch.tensor(order(wire.n_ranks * x.shape[dim], wire.n_ranks, placement))
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
    wire: Wire | None = None,
) -> Float[Tensor, "B H n_local d_v"]:
    """Exact attention of a sequence that is spread over all ranks, on this rank's shard.

        o = softmax(scale * q k^T, hidden scores = −inf) v  over the keys of all ranks

    Keys and values go round the ring, and are on their way while the ones before them are computed
    with. The backward pass goes round again; gradients of keys and values travel along and end at
    home.

    Args:
        q: [B, H, n / R, d_k]  this rank's queries
        k, v: [B, H_kv, n / R, d_k or d_v]  its keys and values; H_kv divides H
        causal: key j is visible to query i iff j <= i, by their places in the whole sequence
        scale: None = d_k ** -0.5
        group: a process group; None = all ranks
        placement: which tokens a rank holds, as `shard` made them: "zigzag" (equal work for all
            ranks when causal) or "contiguous". Without causal it plays no part.
        impl: of `flash.layer.flash_attention`, for each rank's own part
        wire: to count with: `wire.bytes_sent` grows by what this call and its backward send
    Returns: [B, H, n / R, d_v]  o, in q's dtype
    Raises:
        ValueError: shapes, dtypes or options that do not fit, or differ between ranks; an odd shard
            under zigzag; torch.distributed is not running
        RuntimeError: a neighbour has died
    Cost: each rank: 2 B H n² (d_k + d_v) / R FLOP, half of it when causal and zigzag, and the bytes
        of `reference.wire_bytes`; O(n / R) memory. Backward runs each part's forward once more.
    Source: Liu et al. 2023, arXiv:2310.01889. The joining of parts: Dao 2023, Flash-Decoding.
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
    wire = Wire(group) if wire is None else wire
    options = [int(causal), PLACEMENTS.index(placement), DTYPES.index(q.dtype)]
    wire.agree(
        [*q.shape, k.shape[1], v.shape[-1], *options],
        "[B, H, n, d_k, H_kv, d_v, causal, placement, dtype]",
    )
    return _Ring.apply(q, k, v, wire, causal, placement, scale, impl)


class _Ring(torch.autograd.Function):
    """Forward and backward are the same walk round the ring."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        wire: Wire,
        causal: bool,
        placement: str,
        scale: float,
        impl: str,
    ) -> Tensor:
        wide = compute_dtype(q)
        o = q.new_zeros(*q.shape[:-1], v.shape[-1], dtype=wide)
        lse = q.new_full(q.shape[:-1], -torch.inf, dtype=wide)
        ctx.static = (wire, causal, placement, scale, impl)
        keys, values = k, v
        for step in range(wire.n_ranks):
            moving = wire.start(keys, values) if step < wire.n_ranks - 1 else None
            part = _visible_part(wire, step, causal, placement, q.shape[-2])
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
        wire, causal, placement, scale, impl = ctx.static
        wide = lse.dtype
        do = do.to(wide)
        delta = (do * o.to(wide)).sum(dim=-1)  # [B, H, n]
        dq = torch.zeros_like(q, dtype=wide)
        travelling: Any = None
        keys, values = k, v
        for step in range(wire.n_ranks):
            moving = wire.start(keys, values) if step < wire.n_ranks - 1 else None
            dk, dv = torch.zeros_like(k, dtype=wide), torch.zeros_like(v, dtype=wide)
            part = _visible_part(wire, step, causal, placement, q.shape[-2])
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
            if travelling is not None:  # what earlier ranks found for the keys that are here now
                before_k, before_v = travelling.finish()
                dk, dv = dk + before_k, dv + before_v
            travelling = wire.start(dk, dv)
            if moving is not None:
                keys, values = moving.finish()
        dk, dv = travelling.finish()  # after R steps they are home
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None, None, None


def _visible_part(
    wire: Wire, step: int, causal: bool, placement: str, n: int
) -> tuple[slice, slice, bool] | None:
    """Which of my queries see which of the keys at hand, and whether causally; None = none.

    The keys at hand are those of rank (rank - step) mod R.
    """
    everything = slice(0, n)
    source = (wire.rank - step) % wire.n_ranks
    if not causal:
        return everything, everything, False
    if source == wire.rank:  # both chunks lie in order of position, so the local rule is the rule
        return everything, everything, True
    if placement == "contiguous":
        return (everything, everything, False) if source < wire.rank else None
    half = n // 2
    if source < wire.rank:  # their early chunk is before both of mine, their late one after both
        return everything, slice(0, half), False
    return slice(half, n), everything, False  # only my late chunk is after theirs, and after both


def _join(o: Tensor, lse: Tensor, o_part: Tensor, lse_part: Tensor) -> tuple[Tensor, Tensor]:
    """Two partial answers as one, as `reference.join`."""
    joined = torch.logaddexp(lse, lse_part)
    safe = joined.masked_fill(joined == -torch.inf, 0)
    share, share_part = (lse - safe).exp()[..., None], (lse_part - safe).exp()[..., None]
    return share * o + share_part * o_part, joined


def _part_gradients(
    shards: tuple[Tensor, Tensor, Tensor], saved: tuple[Tensor, Tensor, Tensor], options: dict
) -> list[Tensor]:
    """Gradients of one part. With share = exp(lse_part - lse), o = sum over parts of share o_part:

    do_part = share do,  dlse_part = share (rowsum(do * o_part) - delta)
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
