"""A limit of time for a learner's function, which leaves nothing behind when it ends.

What is limited is the processor time of the function's own thread: other programs that keep
the machine busy use it up no faster. A function that waits, asleep or for a lock, uses none at all,
so the wall clock ends it too, PATIENCE times later. Imports are not counted. Torch gets one thread
meanwhile: beside other programs, several wait for each other and burn ten times the processor time.

Where the system has them, an alarm signal interrupts the function (Linux, macOS, the main thread):
it runs at full speed, and the old handler and timer return afterwards. Elsewhere (Windows, other
threads) a trace function looks at the clock at each line; it is slower, and steps aside for a
debugger. Python ends the tracing with what it raises: an answer that swallows this in a loop, by
`while True: try: ... except: pass`, goes on for ever there. In the page (Pyodide) there is neither:
its Stop button ends the worker. None of them can interrupt one long call of compiled code before
that call returns: a function that makes few, large calls of NumPy can take far longer.
"""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

PATIENCE = 30  # beside four busy programs on two cores, a second of work took up to 25
# In the page there is one thread, and one clock.
_used = time.monotonic if sys.platform == "emscripten" else time.thread_time

_lock = threading.Lock()
_limited: dict[int, int] = {}  # threads whose torch has one thread now, and how many it had before


class TooSlowError(BaseException):
    """The time is over. No `Exception`, so that a learner's `except Exception` lets it through."""


class Clock:
    """How long something has taken since this was made, in its thread."""

    def __init__(self, seconds: float):
        """Start.

        Args:
            seconds: of processor time that it may take
        """
        self.seconds = seconds
        self.every = min(1.0, seconds / 5)  # how often `_look` should be called
        self.late: TooSlowError | None = None  # once the time is over
        self._begun, self._used = time.monotonic(), _used()
        self._looked = self._begun, self._used

    def over(self) -> str:
        """Say how much time is gone, if that is too much.

        Returns: "5 seconds of processor time", for example; "" while there is time
        """
        used, waited = _used() - self._used, time.monotonic() - self._begun
        if used > self.seconds:
            return f"{self.seconds:g} seconds of processor time"
        if waited > PATIENCE * self.seconds:
            return f"{waited:.3g} seconds by the clock ({used:.2g} of processor time)"
        return ""

    def _due(self) -> bool:
        """Whether it is time to look; quicker than to look."""
        return time.monotonic() >= self._looked[0] + self.every

    def _look(self, frame: FrameType) -> None:
        """End what runs in this frame if its time is over; while it imports, the clock stands."""
        before, self._looked = self._looked, (time.monotonic(), _used())
        if _importing(frame):  # a module cut off in the middle would stay broken
            self._begun += self._looked[0] - before[0]
            self._used += self._looked[1] - before[1]
        else:
            self._end()

    def _end(self) -> None:
        """End what runs if its time is over."""
        if said := self.over():
            self.late = TooSlowError(said)
            raise self.late


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Call a function, for a limited time.

    Args:
        seconds: the limit, of processor time
        call: a function without arguments
    Returns: what it returns
    Raises:
        TooSlowError: it took longer, whatever it made of being told so; anything else that `call`
            raises
    """
    if sys.platform == "emscripten":
        return call()
    main = threading.current_thread() is threading.main_thread()
    run = _with_alarm if main and hasattr(signal, "setitimer") else _with_trace
    clock = Clock(seconds)
    try:
        with _one_thread():
            return run(clock, call)
    finally:
        if clock.late:  # a bare `except:` made an answer, or another error, of it
            raise clock.late


def _importing(frame: FrameType | None) -> bool:
    """Whether an import is under way that the limited call began; one around it is no excuse."""
    while frame is not None and frame.f_code is not within.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch, if it is there, compute with one thread."""
    torch: Any = sys.modules.get("torch")
    me = threading.get_ident()
    if me in _limited or not hasattr(torch, "set_num_threads"):  # an import of it was interrupted
        yield
        return
    with _lock:  # where another thread's check runs, torch's number of threads is that check's 1
        before = next(iter(_limited.values())) if _limited else torch.get_num_threads()
        _limited[me] = before
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:  # each its own: torch keeps the number for each thread, and for new ones
            del _limited[me]
            torch.set_num_threads(before)


def _with_alarm(clock: Clock, call: Callable[[], Any]) -> Any:
    def ring(number: int, frame: FrameType | None) -> None:
        # In this file the call has just ended, or not begun: nothing is left to interrupt.
        if frame is not None and frame.f_code.co_filename != __file__:
            clock._look(frame)

    begin = time.monotonic()
    old_handler = signal.signal(signal.SIGALRM, ring)
    # It rings again and again: the first time it may be too early, or be swallowed by an `except:`.
    left, interval = signal.setitimer(signal.ITIMER_REAL, clock.every, clock.every)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler or signal.SIG_DFL)
        if left:  # somebody else's timer was running
            left = max(left - (time.monotonic() - begin), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _with_trace(clock: Clock, call: Callable[[], Any]) -> Any:
    if sys.gettrace() is not None:
        return call()
    numpy_files = np.__file__.removesuffix("__init__.py")

    def look(frame: FrameType, event: str, argument: Any) -> Callable | None:
        if frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(numpy_files):
            return None
        if clock._due():
            clock._look(frame)
        return look

    sys.settrace(look)
    try:
        answer = call()
    finally:
        sys.settrace(None)
    clock._end()  # a long call of compiled code has no lines at which to look
    return answer
