r"""The course's clock: the median and spread of many runs, or the fastest of them.

A timing is printed in one of two fixed forms, which nothing else in the course uses, so that the
tests of the notebooks can skip timings, and only those, when they compare outputs:

    [time] dense: 1.234 ms ± 0.056      median and spread
    [time] dense: about 1.2 ms          one number, such as the fastest run: two digits of it

Both match TIME_PATTERN.
"""

import math
import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attention_src.shapes import check_impl, check_size

TIME_PATTERN = r"\[time\] [^:\n]+: (?:about [\d.]+ (?:s|ms|µs)|\d+\.\d{3} ms ± \d+\.\d{3})"
CLOCKS_NS = {"wall": "perf_counter_ns", "processor": "process_time_ns"}  # of the module time


@dataclass(frozen=True)
class Timing:
    """Median and spread of the running times, in milliseconds.

    Args:
        median_ms: half of the runs were faster
        spread_ms: half the distance between the quartiles; about half of the runs were within this
            of the median
    """

    median_ms: float
    spread_ms: float


def measure(
    f: Callable[[], Any],
    *,
    repeats: int = 11,
    warmup: int = 2,
    device: str = "cpu",
    before: Callable[[], Any] = lambda: None,
    clock: str = "wall",
) -> Timing:
    """Time f, as the median over many runs.

    Args:
        f: what to time; it is called without arguments
        repeats: timed runs, at least 2
        warmup: runs before those, in which caches fill and kernels compile
        device: "cpu" uses the clock; "cuda" or "cuda:1" uses events recorded on the GPU, because a
            launch returns before its work is done
        before: called before each timed run, itself not timed; for instance to empty a cache
        clock: "wall", or on the CPU "processor": the time that this process spent computing, in
            all of its threads. Other programs disturb it less
    Returns: Timing, in milliseconds
    Raises:
        ValueError: f or before is not callable, repeats below 2, an unknown clock, a clock that
            the device does not have, or a device that is not there
    Cost: (warmup + repeats) runs of f.
    """
    for argument, value in (("f", f), ("before", before)):
        if not callable(value):
            raise ValueError(
                f"{argument} is a {type(value).__name__}; it should be a function without arguments"
            )
    repeats = check_size(repeats, "repeats", at_least=2)
    warmup = check_size(warmup, "warmup")
    name = str(device)
    check_impl(clock, tuple(CLOCKS_NS), "clock")
    if name == "cpu":
        now_ns = getattr(time, CLOCKS_NS[clock])
        times_ms = _times_by_clock(f, before, repeats, warmup, now_ns)
    elif clock != "wall":
        raise ValueError(f"clock is {clock!r}; on {name} it should be 'wall'")
    elif re.fullmatch(r"cuda(:\d+)?", name):
        times_ms = _times_by_event(f, before, repeats, warmup, name)
    else:
        raise ValueError(f"device is {name!r}; it should be 'cpu', 'cuda' or 'cuda:<index>'")
    low, median, high = statistics.quantiles(times_ms, n=4, method="inclusive")
    return Timing(median, (high - low) / 2)


def fastest_ms(
    steps: Mapping[Any, Callable[[], Any]], repeats: int, *, clock: str = "wall"
) -> dict[Any, float]:
    """Time several functions on the CPU, each as its fastest run.

    They run in turn, so that a busy moment of the machine slows all of them.

    Args:
        steps: what to time, by any key
        repeats: timed runs of each, at least 1; one more comes before, to warm up
        clock: "wall", or "processor": the time that this process spent computing
    Returns: milliseconds, by the same keys
    Raises:
        ValueError: repeats below 1; an unknown clock
    """
    repeats = check_size(repeats, "repeats", at_least=1)
    check_impl(clock, tuple(CLOCKS_NS), "clock")
    now_ns = getattr(time, CLOCKS_NS[clock])
    times_ns: dict[Any, list[int]] = {name: [] for name in steps}
    for _ in range(1 + repeats):
        for name, step in steps.items():
            start_ns = now_ns()
            step()
            times_ns[name].append(now_ns() - start_ns)
    return {name: min(taken[1:]) / 1e6 for name, taken in times_ns.items()}


def now_ms() -> float:
    """Read the clock of all timings; only differences mean something.

    For what happens only once, such as each token of a text, which `measure` cannot time.

    Returns: milliseconds
    """
    return time.perf_counter_ns() / 1e6


def format_time(name: str, timing: Timing) -> str:
    """The line in which the course shows a timing with its spread; it matches TIME_PATTERN.

    Args:
        name: what was timed, without colon or line break
        timing: from `measure`
    Returns: "[time] name: 1.234 ms ± 0.056"
    Raises:
        ValueError: name is empty, or holds a colon or a line break
    """
    return f"{_head(name)} {timing.median_ms:.3f} ms ± {timing.spread_ms:.3f}"


def format_about(name: str, ms: float) -> str:
    """The line in which the course shows a time that has no spread; it matches TIME_PATTERN.

    Args:
        name: what was timed, without colon or line break
        ms: milliseconds, at least 1e-4, 0.1 µs, below which no clock here has two digits
    Returns: "[time] name: about 1.2 ms": two digits, in s, ms or µs
    Raises:
        ValueError: name is empty, or holds a colon or a line break; ms is below 1e-4 or not finite
    """
    if not 1e-4 <= ms < math.inf:
        raise ValueError(
            f"ms is {ms!r}; it should be a finite number of milliseconds, 1e-4 or more"
        )
    digits = float(f"{ms:.1e}")  # two of them
    scale, unit = (1e-3, "s") if digits >= 1e3 else (1, "ms") if digits >= 1 else (1e3, "µs")
    shown = digits * scale
    return f"{_head(name)} about {shown:.{1 if shown < 10 else 0}f} {unit}"


def _head(name: str) -> str:
    if not name or ":" in name or "\n" in name:
        raise ValueError(f"name is {name!r}; it should be a few words without ':' or line break")
    return f"[time] {name}:"


def print_time(name: str, f: Callable[[], Any], **options: Any) -> Timing:
    """Measure f, print the timing in the fixed form, and return it.

    Args:
        name: what is timed, without colon or line break
        f: what to time
        options: repeats, warmup, device, clock, as for `measure`
    Returns: Timing, in milliseconds
    Raises:
        ValueError: as `measure` and `format_time`
    """
    timing = measure(f, **options)
    print(format_time(name, timing))
    return timing


def _times_by_clock(
    f: Callable[[], Any],
    before: Callable[[], Any],
    repeats: int,
    warmup: int,
    now_ns: Callable[[], int],
) -> list[float]:
    for _ in range(warmup):
        f()
    times_ms = []
    for _ in range(repeats):
        before()
        start_ns = now_ns()
        f()
        times_ms.append((now_ns() - start_ns) / 1e6)
    return times_ms


def _times_by_event(
    f: Callable[[], Any], before: Callable[[], Any], repeats: int, warmup: int, device: str
) -> list[float]:
    try:
        import torch
    except ImportError:
        raise ValueError(f"device is {device!r}, but torch is not installed; use 'cpu'") from None
    index = int(device.split(":")[1]) if ":" in device else 0
    if index >= torch.cuda.device_count():
        raise ValueError(
            f"device is {device!r}, but torch sees {torch.cuda.device_count()} CUDA GPUs; use 'cpu'"
        )
    with torch.cuda.device(index):
        for _ in range(warmup):
            f()
        events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(repeats)
        ]
        for start, end in events:
            before()
            start.record()
            f()
            end.record()
        torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]
