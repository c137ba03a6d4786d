"""Run a function's source code in new Python processes, and read back what it returns.

A process gets the source code and nothing else, so the function must import what it uses. What this
process can import, the others can.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

END = """
if __name__ == "__main__":
    import json, os, pathlib, sys
    answer = json.dumps({name}())
    pathlib.Path(sys.argv[1], os.environ["RANK"]).write_text(answer, encoding="utf-8")
"""


def call_in_new_processes(
    f: Callable[[], Any],
    environment: dict[str, str],
    *,
    before: Sequence[str] = (),
    launcher: Sequence[str] = (),
    n: int = 1,
    timeout: float | None = None,
) -> list[Any]:
    """Call a function in new processes, which write what it returns as JSON.

    Args:
        f: a function without arguments that returns what JSON can hold
        environment: variables beside those of this process
        before: code that stands before the function's
        launcher: arguments of Python before the script's name; what starts several processes gives
            each its number, from 0, in the variable RANK
        n: number of processes
        timeout: seconds after which they are ended; None = no limit
    Returns: what f returned, process by process
    Raises:
        RuntimeError: a process failed, with what was printed; or time was up
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        code = [*before, inspect.getsource(f), END.format(name=f.__name__)]
        script.write_text("\n\n".join(code), encoding="utf-8")
        path = os.pathsep.join(filter(None, (os.getcwd(), *sys.path)))
        variables = os.environ | {"PYTHONPATH": path, "RANK": "0"} | environment
        _finish([sys.executable, *launcher, str(script), folder], f.__name__, variables, timeout)
        answers = (Path(folder) / str(rank) for rank in range(n))
        return [json.loads(answer.read_text(encoding="utf-8")) for answer in answers]


def _finish(command: list[str], name: str, variables: dict[str, str], limit: float | None) -> None:
    """Run a command to its end; SIGTERM first, so that a launcher can end its processes."""
    pipes: dict[str, Any] = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with subprocess.Popen(command, env=variables, **pipes) as process:
        try:
            printed = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
            raise RuntimeError(f"{name} took more than {limit} s in its own process") from None
        if process.returncode:
            raise RuntimeError(f"{name} failed in its own process:\n{printed[-4000:]}")
