"""Limits of time and memory for a learner's function, which leave nothing behind when they end.

Time. Where the system has them, an alarm signal interrupts the function (Linux, macOS, the main
thread): the function runs at full speed, and the old handler and timer return afterwards. Elsewhere
(Windows, other threads) a trace function looks at the clock at each line; it is slower, and steps
aside for a debugger. In the page (Pyodide) there is neither: its Stop button ends the worker.
None of them can interrupt one long call of compiled code before that call returns: a function that
makes few, large calls of NumPy can take far longer than its limit.

Memory. tracemalloc counts what Python and NumPy allocate; torch's own memory is seen through the
tensors that its operations make.
"""

import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np


class TooSlowError(BaseException):
    """The time is over. No `Exception`, so that a learner's `except Exception` lets it through."""


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Call a function, for a limited time.

    Args:
        seconds: the limit, by the clock
        call: a function without arguments
    Returns: what it returns
    Raises:
        TooSlowError: it took longer; anything that `call` raises
    """
    if sys.platform == "emscripten":
        return call()
    main = threading.current_thread() is threading.main_thread()
    if main and hasattr(signal, "setitimer"):
        return _with_alarm(seconds, call)
    return _with_trace(seconds, call)


def _ring(number: int, frame: FrameType | None) -> None:
    # In this file the call has just ended, or not begun: nothing is left to interrupt.
    if frame is not None and frame.f_code.co_filename != __file__ and not _importing(frame):
        raise TooSlowError


def _importing(frame: FrameType | None) -> bool:
    """Whether an import is under way. A module cut off in the middle would stay broken."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _with_alarm(seconds: float, call: Callable[[], Any]) -> Any:
    begin = time.monotonic()
    old_handler = signal.signal(signal.SIGALRM, _ring)
    # It rings again each second: after an import, or if a bare `except:` swallows the first.
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler or signal.SIG_DFL)
        if left:  # somebody else's timer was running
            left = max(left - (time.monotonic() - begin), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _with_trace(seconds: float, call: Callable[[], Any]) -> Any:
    if sys.gettrace() is not None:
        return call()
    end = time.monotonic() + seconds
    numpy_files = np.__file__.removesuffix("__init__.py")

    def look(frame: FrameType, event: str, argument: Any) -> Callable | None:
        if frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(numpy_files):
            return None
        if time.monotonic() > end and not _importing(frame):
            raise TooSlowError
        return look

    sys.settrace(look)
    try:
        return call()
    finally:
        sys.settrace(None)


def warm_up() -> None:
    """Let torch import what it takes to watch its tensors, before a clock runs.

    The first time these are hundreds of modules; afterwards it takes no time. Without torch there
    is nothing to do.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        _with_largest_tensor(lambda: torch.zeros(1))


def with_peak(call: Callable[[], Any]) -> tuple[Any, int]:
    """Call a function and measure the most memory that it held at once.

    Args:
        call: a function without arguments
    Returns: what it returns, and bytes: Python's and NumPy's, plus torch's largest tensor
    Raises: what `call` raises
    """
    on = tracemalloc.is_tracing()
    if on:  # the learner measures something, or an earlier try forgot to stop
        tracemalloc.reset_peak()
    else:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        answer, largest_tensor = _with_largest_tensor(call)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not on:
            tracemalloc.stop()
    return answer, max(peak, 0) + largest_tensor


def _with_largest_tensor(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call returns, and the bytes of the largest tensor that torch made meanwhile."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return call(), 0
    sizes, tree_leaves = [0], torch.utils._pytree.tree_leaves

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = {at for at, _ in storages(args)}
            made = operation(*args, **(kwargs or {}))
            # A view of what was there, of a learner's NumPy array for instance, is nothing new.
            sizes.extend(size for at, size in storages(made) if at not in given)
            return made

    def storages(values: Any) -> list[tuple[int, int]]:
        tensors = (x for x in tree_leaves(values) if isinstance(x, torch.Tensor))
        found = (x.untyped_storage() for x in tensors if x.layout == torch.strided)
        return [(storage.data_ptr(), storage.nbytes()) for storage in found]

    with Watch():
        return call(), max(sizes)
