"""What every benchmark shares: a place to run in, one way to time, one way to judge."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.timing import Timing, measure

CACHE_BYTES = 1 << 30  # more than any chip's last-level cache
WARM_SECONDS = 0.1  # a GPU at rest has a slow clock


@dataclass(frozen=True)
class Bench:
    """Where the benchmarks run.

    Args:
        smoke: True = tiny sizes on the CPU, in the interpreter: does every script still run?
            Nothing is measured then, and a row says so.
    """

    smoke: bool

    @property
    def device(self) -> str:
        return "cpu" if self.smoke else "cuda"

    @property
    def dtype(self) -> torch.dtype:
        """The interpreter cannot multiply bfloat16."""
        return torch.float16 if self.smoke else torch.bfloat16

    def size(self, real: Any, tiny: Any) -> Any:
        """A size for measuring, or for trying the script."""
        return tiny if self.smoke else real

    def randn(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Random normal numbers where the benchmarks run."""
        return torch.randn(*shape, dtype=dtype or self.dtype, device=self.device)

    def row(self, f: Callable[[], Any], *, like: Any = None, **labels: Any) -> dict[str, Any]:
        """Time f and return a row: the labels, with ms and spread_ms, or with the error.

        Args:
            f: what to time
            like: what it should return, up to the rounding of half precision: a tensor, or as many
                as f returns; None = anything
            labels: what was timed
        """
        try:
            out = f()
            difference = _difference(out, like)
            del out
            if not difference <= TOLERANCE:  # NaN is not within it either
                raise ArithmeticError(f"the answer differs from the reference by {difference:.2g}")
            if self.smoke:
                return labels | dict(ms=None, spread_ms=None, error=None)
            timing = self._time(f)
        except Exception as error:  # a backend that cannot run is a result, with its reason
            text = " ".join(f"{type(error).__name__}: {error}".split())
            torch.cuda.empty_cache()
            return labels | dict(ms=None, spread_ms=None, error=text[:1000])
        return labels | dict(ms=timing.median_ms, spread_ms=timing.spread_ms, error=None)

    def copy_row(self, n_bytes: int, **labels: Any) -> dict[str, Any]:
        """Time a device-to-device copy that reads and writes n_bytes in total."""
        source = torch.empty(n_bytes // 2, dtype=torch.uint8, device=self.device).random_()
        target = torch.empty_like(source)
        row = self.row(lambda: target.copy_(source), impl="copy", **labels)
        return add_rate(row, n_bytes)

    def _time(self, f: Callable[[], Any]) -> Timing:
        """Each run finds a fast clock, caches without its data, its launch already under way."""
        cache = torch.empty(CACHE_BYTES, dtype=torch.uint8, device=self.device)
        end = time.monotonic() + WARM_SECONDS
        while time.monotonic() < end:
            f()
            cache.zero_()[0].item()  # waits for the GPU
        return measure(f, repeats=11, warmup=0, device=self.device, before=cache.zero_)


# Of the largest number in the answer. Two correct answers in bfloat16 are within 1 % of each other
# in attention's backward; one with a key too few, or a wrong scale, is not.
TOLERANCE = 0.03


def _difference(out: Any, like: Any) -> float:
    """The largest difference, as a share of the largest number of its tensor."""
    if like is None:
        return 0.0
    if isinstance(like, Tensor):
        out, like = [out], [like]
    pairs = [(x.detach().float(), y.detach().float()) for x, y in zip(out, like, strict=True)]
    return float(torch.stack([(x - y).abs().max() / y.abs().max() for x, y in pairs]).max())


def add_rate(row: dict, n_bytes: int) -> dict:
    """The row with its rate: GB/s."""
    return row | dict(gb_per_s=None if row["ms"] is None else n_bytes / row["ms"] / 1e6)


def add_share(row: dict, copy: dict) -> dict:
    """The row with its share of the rate of the copy that was timed beside it."""
    known = row["ms"] is not None and copy["ms"] is not None
    return row | dict(of_copy=row["gb_per_s"] / copy["gb_per_s"] if known else None)


def add_goal(row: dict, at_least: float, measured: float | None) -> dict:
    """The row with one more goal and what became of it, as in "goal 1.3x: met"."""
    verdict = "not measured"
    if measured is not None:
        verdict = "met" if measured >= at_least else "missed"
    goals = [row["goal"]] if "goal" in row else []
    return row | dict(goal=", ".join([*goals, f"goal {at_least:g}x: {verdict}"]))


def faster(row: dict, other: dict) -> float | None:
    """How many times as fast as the other this row is."""
    if row["ms"] is None or other["ms"] is None:
        return None
    return other["ms"] / row["ms"]
