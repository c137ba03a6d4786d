"""What all benchmarks share: where they run, how they time a function and check its result."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.timing import Timing, measure

CACHE_BYTES = 1 << 30  # more than any chip's last-level cache
WARM_SECONDS = 0.1  # an idle GPU has a slow clock
# Largest error of an answer, as a share of its largest number. In attention's backward, two correct
# answers in bfloat16 differ by up to 1 %; a dropped key or a wrong scale makes a larger difference.
TOLERANCE = 0.03


@dataclass(frozen=True)
class Bench:
    """Where the benchmarks run.

    Args:
        smoke: True = tiny sizes on the CPU, in the interpreter, to see that every script runs;
            nothing is measured, and rows have no times
        until: no new size is begun after this, in seconds of `time.monotonic`
    """

    smoke: bool
    until: float = float("inf")

    @property
    def device(self) -> str:
        return "cpu" if self.smoke else "cuda"

    @property
    def dtype(self) -> torch.dtype:
        """bfloat16 to measure; float16 in the interpreter, which cannot multiply bfloat16."""
        return torch.float16 if self.smoke else torch.bfloat16

    def in_time(self, sizes: Iterable[Any]) -> Iterator[Any]:
        """The sizes, for as long as there is time to begin with one."""
        for size in sizes:
            if time.monotonic() > self.until:
                return
            yield size

    def size(self, real: Any, tiny: Any) -> Any:
        """The size to use, in a measurement or in a smoke test."""
        return tiny if self.smoke else real

    def randn(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Random normal numbers on the benchmark's device."""
        return torch.randn(*shape, dtype=dtype or self.dtype, device=self.device)

    def row(self, f: Callable[[], Any], *, like: Any = None, **labels: Any) -> dict[str, Any]:
        """Check what f returns, then time it.

        Args:
            f: what to time
            like: what it should return, up to half precision's rounding: a tensor, or one for each
                that f returns; None = do not check
            labels: what is timed, the first columns of the row
        Returns: the labels, ms and spread_ms, and error, why there is no time, or None
        """
        try:
            out = f()
            difference = _difference(out, like)
            del out
            if not difference <= TOLERANCE:  # also true for NaN
                raise ArithmeticError(f"the answer differs from the reference by {difference:.2g}")
            if self.smoke:
                return labels | dict(ms=None, spread_ms=None, error=None)
            timing = self._time(f)
        except Exception as error:  # that a backend cannot run is a result too
            text = " ".join(f"{type(error).__name__}: {error}".split())
            torch.cuda.empty_cache()
            return labels | dict(ms=None, spread_ms=None, error=text[:1000])
        return labels | dict(ms=timing.median_ms, spread_ms=timing.spread_ms, error=None)

    def copy_row(self, n_bytes: int, **labels: Any) -> dict[str, Any]:
        """Time a copy on the device, which reads and writes n_bytes in total.

        Args:
            n_bytes: read and written together
            labels: as for `row`
        Returns: as `row`, with the rate
        """
        source = torch.empty(n_bytes // 2, dtype=torch.uint8, device=self.device).random_()
        target = torch.empty_like(source)
        row = self.row(lambda: target.copy_(source), impl="copy", **labels)
        return add_rate(row, n_bytes)

    def _time(self, f: Callable[[], Any]) -> Timing:
        """Time f with the GPU's clock up, and its caches emptied before each run.

        Emptying a cache takes so long that f's launch overhead is hidden behind it.
        """
        cache = torch.empty(CACHE_BYTES, dtype=torch.uint8, device=self.device)
        end = time.monotonic() + WARM_SECONDS
        while time.monotonic() < end:
            f()
            cache.zero_()[0].item()  # waits for the GPU
        return measure(f, repeats=11, warmup=0, device=self.device, before=cache.zero_)


def _difference(out: Any, like: Any) -> float:
    """The largest error over all tensors, as a share of each tensor's largest number."""
    if like is None:
        return 0.0
    if isinstance(like, Tensor):
        out, like = [out], [like]
    pairs = [(x.detach().float(), y.detach().float()) for x, y in zip(out, like, strict=True)]
    return float(torch.stack([(x - y).abs().max() / y.abs().max() for x, y in pairs]).max())


def add_rate(row: dict, n_bytes: int) -> dict:
    """The row with its rate, gb_per_s."""
    return row | dict(gb_per_s=None if row["ms"] is None else n_bytes / row["ms"] / 1e6)


def add_share(row: dict, copy: dict) -> dict:
    """The row with its rate as a share of a copy's, of_copy."""
    known = row["ms"] is not None and copy["ms"] is not None
    return row | dict(of_copy=row["gb_per_s"] / copy["gb_per_s"] if known else None)


def faster(row: dict, other: dict) -> float | None:
    """How many times as fast as the other this row is; None if either has no time."""
    if row["ms"] is None or other["ms"] is None:
        return None
    return other["ms"] / row["ms"]
