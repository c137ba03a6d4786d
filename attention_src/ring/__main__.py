"""A ring on this machine, compared with one device:

    torchrun --nproc-per-node 4 -m attention_src.ring --tokens 1024 --causal

Every rank makes the same random sequence and keeps its shard; after ring attention rank 0 compares
the whole output with attention on one device. GPUs are used if there is one for every rank.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import Tensor

from attention_src.flash.layer import flash_attention
from attention_src.ring.layer import ring_attention, shard, unshard
from attention_src.ring.layer_exchange import RingExchange


def main() -> None:
    """Run ring attention once, forward and backward; rank 0 prints the differences."""
    parser = argparse.ArgumentParser(prog="attention_src.ring", description=__doc__)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--placement", default="zigzag")
    arguments = parser.parse_args()
    if not dist.is_torchelastic_launched():
        parser.error("start it with torchrun: torchrun --nproc-per-node 4 -m attention_src.ring")
    gpus = torch.cuda.device_count() >= int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl" if gpus else "gloo")
    device = torch.device("cuda", dist.get_rank()) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    size = (1, arguments.heads, arguments.tokens, arguments.width)
    whole = [torch.randn(size, device=device) for _ in range(4)]  # q, k, v and o's gradient
    exchange, begin = RingExchange(), time.perf_counter()
    mine = _on_a_ring(whole, exchange, arguments.causal, arguments.placement)
    seconds = time.perf_counter() - begin
    if exchange.rank == 0:
        expected = _on_one_device(whole, arguments.causal)
        for name, a, e in zip(("o", "dq", "dk", "dv"), mine, expected, strict=True):
            print(f"{name}: largest difference from one device {(a - e).abs().max():.1e}")
        n_ranks, n_bytes = exchange.n_ranks, exchange.bytes_sent
        print(f"{n_ranks} ranks, {n_bytes:,} bytes sent by each, {seconds:.2f} s")
    dist.destroy_process_group()


def _on_a_ring(
    whole: list[Tensor], exchange: RingExchange, causal: bool, placement: str
) -> list[Tensor]:
    """o, dq, dk, dv for the whole sequence q, k, v, do; each rank computes its shard."""
    q, k, v, do = whole
    leaves = [shard(x, placement=placement).requires_grad_() for x in (q, k, v)]
    o = ring_attention(*leaves, causal=causal, placement=placement, exchange=exchange)
    gradients = torch.autograd.grad(o, leaves, shard(do, placement=placement))
    return [unshard(x, placement=placement) for x in (o, *gradients)]


def _on_one_device(whole: list[Tensor], causal: bool) -> list[Tensor]:
    """As `_on_a_ring`, without a ring."""
    q, k, v, do = whole
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    o = flash_attention(*leaves, causal=causal)
    return [o, *torch.autograd.grad(o, leaves, do)]


if __name__ == "__main__":
    main()
