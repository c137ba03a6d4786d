"""Compile kernels from a process in which Triton is interpreted, such as a notebook without a GPU.

Triton chooses once, when it is imported, whether it interprets or compiles. Where it interprets,
code that compiles must run in another process.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

START = "from attention_src.triton_support.launch import Launch, tl, triton\n"
END = "import json, pathlib, sys\npathlib.Path(sys.argv[1]).write_text(json.dumps({name}()))\n"


def where_triton_compiles(f: Callable[[], Any], *needs: Any) -> Any:
    """Call a function in a new Python process, in which Triton is not interpreted.

    The process gets the functions' source code and nothing else: they must import what they use,
    but for `tl`, `triton` and `Launch`, which are there.

    Args:
        f: a function without arguments that returns what JSON can hold
        needs: the functions and kernels that it uses, if they are not in a module
    Returns: what f returns
    Raises:
        RuntimeError: f failed there, with what it printed
    """
    parts = [inspect.getsource(getattr(x, "fn", x)) for x in (*needs, f)]
    code = "\n\n".join([START, *parts, END.format(name=f.__name__)])
    with tempfile.TemporaryDirectory() as folder:
        script, answer = Path(folder) / "script.py", Path(folder) / "answer.json"
        script.write_text(code, encoding="utf-8")
        # What this process can import, the other one can.
        path = os.pathsep.join(filter(None, (os.getcwd(), *sys.path)))
        environment = os.environ | {"TRITON_INTERPRET": "0", "PYTHONPATH": path}
        command = [sys.executable, str(script), str(answer)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{f.__name__} failed in its own process:\n{done.stderr}")
        return json.loads(answer.read_text(encoding="utf-8"))
