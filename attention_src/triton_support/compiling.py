"""Compile kernels from a process in which Triton is interpreted, such as a notebook without a GPU.

Triton chooses once, when it is imported, whether it interprets or compiles. Where it interprets,
code that compiles must run in another process.
"""

import inspect
from collections.abc import Callable
from typing import Any

from attention_src.new_process import call_in_new_processes

START = "from attention_src.triton_support.launch import Launch, tl, triton\n"


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
    before = [START, *(inspect.getsource(getattr(x, "fn", x)) for x in needs)]
    return call_in_new_processes(f, {"TRITON_INTERPRET": "0"}, before=before)[0]
