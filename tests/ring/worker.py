"""What each rank runs, under torchrun: `worker.py equal FILE`, or one of the ways to fail.

Rank 0 writes what it found to FILE as JSON; the tests read it.
"""

import json
import os
import sys

import torch
import torch.distributed as dist

from attention_src.attention.layer import attention
from attention_src.ring.layer import ring_attention, shard, unshard
from attention_src.ring.layer_wire import Wire
from attention_src.ring.reference import wire_bytes

# n, d_k, d_v, H, H_kv; n divides by 2, 4, 6 and 8.
SIZES = [(24, 5, 3, 2, 2), (48, 16, 7, 4, 2), (24, 3, 11, 3, 1), (264, 8, 8, 2, 2)]


def make(size, dtype):
    n, d_k, d_v, n_heads, n_kv_heads = size
    generator = torch.Generator().manual_seed(n)
    shapes = [(n_heads, d_k), (n_kv_heads, d_k), (n_kv_heads, d_v), (n_heads, d_v)]
    return [
        torch.randn(2, heads, n, d, generator=generator, dtype=torch.float64).to(dtype)
        for heads, d in shapes
    ]


def on_a_ring(q, k, v, do, **options):
    """o, dq, dk, dv of the whole sequence, and the bytes sent forward and in all."""
    place = dict(placement=options["placement"])
    leaves = [shard(x, **place).requires_grad_() for x in (q, k, v)]
    wire = Wire()
    o = ring_attention(*leaves, wire=wire, **options)
    forward = wire.bytes_sent
    o.backward(shard(do, **place))
    results = [unshard(x, **place) for x in (o, *(leaf.grad for leaf in leaves))]
    return results, forward, wire.bytes_sent


def alone(q, k, v, do, causal):
    leaves = [x.double().clone().requires_grad_() for x in (q, k, v)]
    o = attention(*leaves, causal=causal, impl="dense")
    o.backward(do.double())
    return [o.detach(), *(leaf.grad for leaf in leaves)]


def equal(path):
    """Every size, dtype, placement and implementation, against one device in float64."""
    rank, n_ranks = dist.get_rank(), dist.get_world_size()
    found = []
    for size in SIZES:
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            q, k, v, do = make(size, dtype)
            for causal in (False, True):
                expected = alone(q, k, v, do, causal) if rank == 0 else None
                for placement in ("zigzag", "contiguous"):
                    for impl in ("dense", "tiled"):
                        options = dict(causal=causal, placement=placement, impl=impl)
                        results, *sent = on_a_ring(q, k, v, do, **options)
                        counts = [None] * n_ranks
                        dist.all_gather_object(counts, sent)
                        if rank:
                            continue
                        errors = [
                            float((a.double() - e).abs().max() / e.abs().max())
                            for a, e in zip(results, expected, strict=True)
                        ]
                        n, d_k, d_v, _, n_kv_heads = size
                        counted = [
                            wire_bytes(
                                n, n_ranks, d_k, d_v, n_kv_heads=n_kv_heads, batch=2,
                                dtype_bytes=dtype.itemsize, backward=backward,
                            )
                            for backward in (False, True)
                        ]  # fmt: skip
                        found.append(
                            dict(
                                options,
                                size=size,
                                dtype=str(dtype),
                                errors=errors,
                                bytes=counts,
                                counted=[counted[0], counted[0] + counted[1]],
                            )
                        )
    check_shards()
    check_own_group()
    if rank == 0:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file)


def check_shards():
    n = 8 * dist.get_world_size()
    x = torch.arange(3 * n).reshape(3, n, 1)
    for placement in ("zigzag", "contiguous"):
        part = shard(x, placement=placement)
        assert part.shape == (3, 8, 1)
        assert torch.equal(unshard(part, placement=placement), x)


def check_own_group():
    """A ring of the last two ranks only, among all."""
    ranks = [dist.get_world_size() - 2, dist.get_world_size() - 1]
    group = dist.new_group(ranks)
    if dist.get_rank() in ranks:
        q, k, v, _ = make(SIZES[0], torch.float64)
        shards = [shard(x, group=group) for x in (q, k, v)]
        o = unshard(ring_attention(*shards, causal=True, group=group), group=group)
        torch.testing.assert_close(o, attention(q, k, v, causal=True), rtol=1e-12, atol=1e-12)


def dies(path):
    """Rank 1 ends without a word between two calls; the others notice in the next."""
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


def disagrees(path):
    """Rank 0 has a longer shard than the others."""
    n = 6 if dist.get_rank() == 0 else 4
    x = torch.ones(1, 1, n, 4)
    try:
        ring_attention(x, x, x)
    except ValueError as error:
        # In one write: torchrun's processes share this output, unbuffered.
        print(f"rank {dist.get_rank()} refused: {error}\n", end="", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    globals()[sys.argv[1]](sys.argv[2])
    dist.destroy_process_group()
