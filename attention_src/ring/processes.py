"""Run one function in several processes at once, started by torchrun on this machine."""

import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMAND = ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nnodes=1")
END = """
if __name__ == "__main__":
    import json, os, pathlib, sys
    answer = json.dumps({name}())
    pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(answer, encoding="utf-8")
"""


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
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        code = inspect.getsource(f) + END.format(name=f.__name__)
        script.write_text(code, encoding="utf-8")
        command = [sys.executable, *COMMAND, f"--nproc-per-node={n_ranks}", str(script), folder]
        _finish(command, f.__name__, timeout)
        answers = (Path(folder) / str(rank) for rank in range(n_ranks))
        return [json.loads(answer.read_text(encoding="utf-8")) for answer in answers]


def _finish(command: list[str], name: str, timeout: float) -> None:
    """Run a command to its end; SIGTERM first, because torchrun then ends its processes."""
    pipes: dict[str, Any] = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with subprocess.Popen(command, env=_environment(), **pipes) as process:
        try:
            printed = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
            raise RuntimeError(f"{name} took more than {timeout} s on its ranks") from None
        if process.returncode:
            raise RuntimeError(f"{name} failed on a rank:\n{printed[-4000:]}")


def _environment() -> dict[str, str]:
    """What this process can import, the others can; gloo stays on the loopback interface."""
    path = os.pathsep.join(filter(None, (os.getcwd(), *sys.path)))
    found = {name for _, name in socket.if_nameindex()}
    loopback = next((name for name in ("lo", "lo0") if name in found), None)
    names = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return os.environ | names | ({"GLOO_SOCKET_IFNAME": loopback} if loopback else {})
