"""What each rank runs: `worker.py answers FILE`, or a way to fail.

Rank 0 writes its results to FILE as JSON for the tests.
"""

import itertools
import json
import os
import sys

import torch
import torch.distributed as dist

from attention_src.attention.layer import attention, attention_lse
from attention_src.ring.layer import ring_attention, ring_attention_with_lse, shard, unshard
from attention_src.ring.layer_exchange import RingExchange
from attention_src.ring.reference import bytes_sent

# n, d_k, d_v, H, H_kv; n divides by 2, 4, 6 and 8.
SIZES = [(24, 5, 3, 2, 2), (24, 3, 11, 3, 1), (264, 16, 7, 4, 2)]
KINDS = [
    (torch.float64, "dense"),
    (torch.float64, "tiled"),
    (torch.float32, "tiled"),
    (torch.bfloat16, "dense"),
]


def make(size, dtype):
    n, d_k, d_v, n_heads, n_kv_heads = size
    generator = torch.Generator().manual_seed(n)
    shapes = [(n_heads, d_k), (n_kv_heads, d_k), (n_kv_heads, d_v), (n_heads, d_v)]
    tensors = [
        torch.randn(2, heads, n, d, generator=generator, dtype=torch.float64).to(dtype)
        for heads, d in shapes
    ]
    dlse = torch.randn(2, n_heads, n, generator=generator, dtype=torch.float64)
    return [*tensors, dlse.to(torch.promote_types(dtype, torch.float32))]


def on_a_ring(q, k, v, do, dlse, group, **options):
    """o, lse, dq, dk, dv of the whole sequence, and the bytes sent forward and in all."""
    place = dict(placement=options["placement"], group=group)
    leaves = [shard(x, **place).requires_grad_() for x in (q, k, v)]
    exchange = RingExchange(group)
    o, lse = ring_attention_with_lse(*leaves, exchange=exchange, group=group, **options)
    forward = exchange.bytes_sent
    assert lse.dtype == dlse.dtype
    torch.autograd.backward((o, lse), (shard(do, **place), shard(dlse, dim=2, **place)))
    results = [unshard(x, **place) for x in (o, *(leaf.grad for leaf in leaves))]
    results.insert(1, unshard(lse, dim=2, **place))
    return results, forward, exchange.bytes_sent


def alone(q, k, v, do, dlse, causal):
    """The same on one device, in float64."""
    leaves = [x.double().clone().requires_grad_() for x in (q, k, v)]
    o = attention(*leaves, causal=causal, impl="dense")
    lse = attention_lse(*leaves[:2], causal=causal)
    torch.autograd.backward((o, lse), (do.double(), dlse.double()))
    return [o.detach(), lse.detach(), *(leaf.grad for leaf in leaves)]


def answers(path):
    """Rings of all 4 ranks, of the last 3 and of the last 2; then ranks that disagree."""
    found, refusals = [], []
    for ranks in ([0, 1, 2, 3], [1, 2, 3], [2, 3]):
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            check_shards(group)
            found += equal(group)
            refusals.append(disagree(group))
    everyone = [None] * 4
    dist.all_gather_object(everyone, (found, refusals))
    if dist.get_rank() == 0:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(everyone, file)


def equal(group):
    """Every size, kind and option, against one device; the group's first rank compares."""
    found, n_ranks = [], dist.get_world_size(group)
    for size, (dtype, impl), causal in itertools.product(SIZES, KINDS, (False, True)):
        inputs = make(size, dtype)
        n, d_k, d_v, _, n_kv_heads = size
        sizes = dict(n_kv_heads=n_kv_heads, batch=2, dtype_bytes=dtype.itemsize)
        forward = bytes_sent(n, n_ranks, d_k, d_v, **sizes)
        backward = bytes_sent(n, n_ranks, d_k, d_v, **sizes, backward=True)
        first = dist.get_rank(group) == 0
        expected = alone(*inputs, causal) if first else None
        for placement in ("zigzag", "contiguous"):
            options = dict(causal=causal, placement=placement, impl=impl)
            results, *sent = on_a_ring(*inputs, group, **options)
            case = dict(options, size=size, dtype=str(dtype), n_ranks=n_ranks)
            assert sent == [forward, forward + backward], (sent, case)
            if first:
                pairs = zip(results, expected, strict=True)
                errors = [float((a.double() - e).abs().max() / e.abs().max()) for a, e in pairs]
                found.append(dict(case, errors=errors))
    return found


def check_shards(group):
    n = 8 * dist.get_world_size(group)
    x = torch.arange(3 * n).reshape(3, n, 1)
    for placement in ("zigzag", "contiguous"):
        part = shard(x, placement=placement, group=group)
        assert part.shape == (3, 8, 1)
        assert torch.equal(unshard(part, placement=placement, group=group), x)


def disagree(group):
    """The group's first rank has a longer shard than the others: what each one says."""
    x = torch.ones(1, 1, 6 if dist.get_rank(group) == 0 else 4, 4)
    try:
        ring_attention(x, x, x, group=group)
    except ValueError as error:
        return str(error)


def dies(path):
    """Rank 1 ends between two calls; the others notice in the next."""
    shards = [shard(x) for x in make(SIZES[0], torch.float32)[:3]]
    ring_attention(*shards)
    if dist.get_rank() == 1:
        os._exit(3)
    for _ in range(3):
        ring_attention(*shards)


def dies_in_backward(path):
    shards = [shard(x).requires_grad_() for x in make(SIZES[0], torch.float32)[:3]]
    o = ring_attention(*shards)
    if dist.get_rank() == 1:
        os._exit(3)
    o.sum().backward()


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    globals()[sys.argv[1]](sys.argv[2])
    dist.destroy_process_group()
