"""Ring attention on torch.distributed: context parallelism, forward and backward.

Start with torchrun; every rank calls the same functions on its own shard:

    q, k, v = (shard(x) for x in (q, k, v))        # or load only this rank's tokens
    o = ring_attention(q, k, v, causal=True)       # this rank's rows of the answer
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributed import ProcessGroup

from attention_src.flash.layer import IMPLS
from attention_src.ring.layer_exchange import RingExchange
from attention_src.ring.layer_rounds import attend_in_rounds
from attention_src.ring.placement import PLACEMENTS, order, spans
from attention_src.shapes import check_flags, check_heads, check_impl, check_scale
from attention_src.tensors import check_tensors

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def shard(
    x: Tensor, *, dim: int = -2, placement: str = "zigzag", group: ProcessGroup | None = None
) -> Tensor:
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


def unshard(
    x: Tensor, *, dim: int = -2, placement: str = "zigzag", group: ProcessGroup | None = None
) -> Tensor:
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
    group: ProcessGroup | None = None,
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
    options: dict[str, Any] = dict(causal=causal, scale=scale, group=group)
    options |= dict(placement=placement, impl=impl, exchange=exchange)
    return ring_attention_with_lse(q, k, v, **options)[0]


def ring_attention_with_lse(
    q: Float[Tensor, "B H n_local d_k"],
    k: Float[Tensor, "B H_kv n_local d_k"],
    v: Float[Tensor, "B H_kv n_local d_v"],
    *,
    causal: bool = False,
    scale: float | None = None,
    group: ProcessGroup | None = None,
    placement: str = "zigzag",
    impl: str = "auto",
    exchange: RingExchange | None = None,
) -> tuple[Float[Tensor, "B H n_local d_v"], Float[Tensor, "B H n_local"]]:
    """As `ring_attention`, also returning lse, with which partial results can be merged.

        lse_i = log(sum_j exp(s_ij)),  s = scale * q k^T, hidden scores = −inf, j over all ranks

    Args:
        q, k, v, causal, scale, group, placement, impl, exchange: as for `ring_attention`
    Returns: o [B, H, n / R, d_v] in q's dtype, and lse [B, H, n / R] in float32 at least, natural
        log, of this rank's queries. Gradients flow through both.
    Raises:
        ValueError, RuntimeError: as `ring_attention`
    Cost: as `ring_attention`: lse is computed anyway, and it is not sent.
    Source: Liu et al. 2023, arXiv:2310.01889. With a gradient dlse of lse, the backward pass has
        delta = rowsum(o * do) - dlse.
    """
    check_flags(causal=causal)
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
    return attend_in_rounds(q, k, v, ring, causal, placement, scale, impl)
