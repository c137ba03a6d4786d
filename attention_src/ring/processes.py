"""Run one function in several processes at once, started by torchrun on this machine."""

import socket
from collections.abc import Callable
from typing import Any

from attention_src.new_process import call_in_new_processes

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nnodes=1")


def on_ranks(f: Callable[[], Any], n_ranks: int, *, timeout: float = 900) -> list[Any]:
    """Call a function in each of several new processes, which can reach one another.

        torchrun --standalone --nproc-per-node R script.py

    A process gets the function's source code and nothing else, so the function must import what it
    uses, and join the others with `torch.distributed.init_process_group("gloo")`. Each runs on one
    thread. torchrun finds a free port; everything stays on the loopback interface.

    Args:
        f: a function without arguments that returns what JSON can hold
        n_ranks: number of processes, R
        timeout: seconds after which they are ended
    Returns: what f returned, rank by rank
    Raises:
        RuntimeError: a process failed, with what was printed; or time was up
    """
    found = {name for _, name in socket.if_nameindex()}
    loopback = next((name for name in ("lo", "lo0") if name in found), None)
    environment = {"OMP_NUM_THREADS": "1"} | ({"GLOO_SOCKET_IFNAME": loopback} if loopback else {})
    launcher = (*TORCHRUN, f"--nproc-per-node={n_ranks}")
    return call_in_new_processes(f, environment, launcher=launcher, n=n_ranks, timeout=timeout)
