"""Run a script once for each rank, in processes that one process forks after importing PyTorch.

    python -m attention_src.ring.forked R script.py arguments

It stands in for torchrun on one machine: each rank finds RANK, WORLD_SIZE and where to meet in its
environment, and when one fails the others are ended. PyTorch is imported once, not once a rank.
"""

import os
import runpy
import signal
import socket
import sys
import traceback
from types import FrameType

import attention_src.ring.layer  # before the forks, so that no rank needs to import it  # noqa: F401


def main(n_ranks: int, arguments: list[str]) -> int:
    """Fork the ranks and wait for them.

    Args:
        n_ranks: how many
        arguments: the script, and its own arguments
    Returns: 0 if all ranks ended well, else 1
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(n_ranks)}
    running = {_fork(rank, arguments) for rank in range(n_ranks)}

    def end(number: int = 0, frame: FrameType | None = None) -> None:
        for pid in running:
            os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    failed = False
    while running:
        pid, status = os.wait()
        running.discard(pid)
        if status and not failed:
            failed = True
            end()
    return int(failed)


def _fork(rank: int, arguments: list[str]) -> int:
    """Start a rank; its process number."""
    if pid := os.fork():
        return pid
    os.environ["RANK"] = str(rank)
    sys.argv = arguments
    code = 1
    try:
        runpy.run_path(arguments[0], run_name="__main__")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
