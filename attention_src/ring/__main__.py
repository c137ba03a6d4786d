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

from attention_src.commands import run, size
from attention_src.flash.layer import flash_attention
from attention_src.ring.layer import ring_attention, shard, unshard
from attention_src.ring.layer_exchange import RingExchange
from attention_src.ring.placement import PLACEMENTS, check_placement

MOST = 2**30  # numbers in q, so that q, k, v and o's gradient take 16 GB


def main(arguments: list[str] | None = None) -> int:
    """Run ring attention once, forward and backward; rank 0 prints the differences.

    Args:
        arguments: of the command line; None = those that Python was started with
    Returns: the exit status, as of `commands.run`
    """
    parser = argparse.ArgumentParser(
        prog="attention_src.ring",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    for name, default in (("--tokens", 1024), ("--heads", 4), ("--width", 64)):
        parser.add_argument(name, type=size(MOST), default=default, metavar="N", help=str(default))
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--placement", default=PLACEMENTS[0], choices=PLACEMENTS)
    options = parser.parse_args(arguments)
    if options.tokens * options.heads * options.width > MOST:
        parser.error(f"--tokens times --heads times --width should be at most {MOST}")
    if not dist.is_torchelastic_launched():
        parser.error("start it with torchrun: torchrun --nproc-per-node 4 -m attention_src.ring")
    try:
        check_placement(options.tokens, int(os.environ["WORLD_SIZE"]), options.placement)
    except ValueError as error:
        parser.error(f"--tokens: {error}")
    return run(lambda: _compare(options))


def _compare(options: argparse.Namespace) -> None:
    gpus = torch.cuda.device_count() >= int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl" if gpus else "gloo")
    device = torch.device("cuda", dist.get_rank()) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    shape = (1, options.heads, options.tokens, options.width)
    whole = [torch.randn(shape, device=device) for _ in range(4)]  # q, k, v and o's gradient
    exchange, begin = RingExchange(), time.perf_counter()
    mine = _on_a_ring(whole, exchange, options.causal, options.placement)
    seconds = time.perf_counter() - begin
    if exchange.rank == 0:
        expected = _on_one_device(whole, options.causal)
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
    raise SystemExit(main())
