"""One direction of one or more axes: its scale, its limits and its ticks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

STEPS = np.array([1, 2, 2.5, 5, 10])


class Axis:
    """Shared by the axes that have it in common."""

    def __init__(self) -> None:
        self.scale, self.margin = "linear", 0.05
        self.low: float | None = None
        self.high: float | None = None
        self.inverted = False
        self.data: list[np.ndarray] = []  # what the limits are to show
        self.hold: list[float] = []  # ticks that the limits hold too, until there are more data
        self.at_edge = False  # bars begin at 0: no margin there
        self.ticks: tuple[np.ndarray, list[str]] | None = None
        self.minor = True

    def show(self, values: Any) -> None:
        """Let the limits hold these values."""
        x = np.ravel(np.asarray(values, dtype=float))
        self.data.append(x[np.isfinite(x)])
        self.hold = []

    def places(self, values: Any) -> np.ndarray:
        """Numbers as they are; names become 0, 1, 2 and so on, with a tick each."""
        if not any(isinstance(value, str) for value in values):
            return np.asarray(values, dtype=float)
        names = list(values)
        if self.ticks is not None and self.ticks[1] != names:
            raise ValueError(f"names {names} should be those of the bars before: {self.ticks[1]}")
        self.ticks = np.arange(len(names)), names
        return np.arange(len(names), dtype=float)

    def to_scale(self, x: Any) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        if self.scale == "linear":
            return x
        with np.errstate(all="ignore"):
            return np.where(x > 0, np.log10(x), np.nan)

    def from_scale(self, x: Any) -> np.ndarray:
        return np.asarray(x) if self.scale == "linear" else 10.0 ** np.asarray(x)

    def limits(self) -> tuple[float, float]:
        """Lower and upper limit: those that were set, or what holds the data, with a margin."""
        x = np.concatenate([*self.data, [np.nan]])
        x = self.to_scale(x)
        x = x[np.isfinite(x)]
        low, high = (x.min(), x.max()) if x.size else (0.0, 1.0)
        if high == low:
            low, high = low - 0.05 * (abs(low) or 1), high + 0.05 * (abs(high) or 1)
        room = self.margin * (high - low)
        below = 0 if self.at_edge and low == 0 else room
        above = 0 if self.at_edge and high == 0 else room
        low, high = (float(z) for z in self.from_scale([low - below, high + above]))
        low, high = min([low, *self.hold]), max([high, *self.hold])
        low = low if self.low is None else self.low
        high = high if self.high is None else self.high
        if low == high or not np.isfinite(self.to_scale([low, high])).all():
            raise ValueError(
                f"limits {low:g} and {high:g} should be two numbers, above 0 on a logarithmic scale"
            )
        return low, high

    def share(self, x: Any) -> np.ndarray:
        """Where values lie: 0 at the lower limit, 1 at the upper one."""
        low, high = self.to_scale(self.limits())
        where = (self.to_scale(x) - low) / (high - low)
        return 1 - where if self.inverted else where

    def set_limits(self, low: float | None, high: float | None) -> None:
        now = self.limits()
        self.low = now[0] if low is None else float(low)
        self.high = now[1] if high is None else float(high)

    def set_ticks(self, places: Sequence[Any], labels: Sequence[Any] | None) -> None:
        at = np.asarray([float(x) for x in places])
        names = self._names(at) if labels is None else [str(label) for label in labels]
        if len(names) != len(at):
            raise ValueError(f"labels has {len(names)} entries, but there are {len(at)} ticks")
        self.ticks = at, names
        self.hold = [*self.hold, *map(float, at)]

    def major(self, room: float) -> tuple[np.ndarray, list[str]]:
        """Places and labels of the ticks; `room` is how many would have space."""
        low, high = sorted(self.limits())
        if self.ticks is not None:
            at, names = self.ticks
            near = 1e-9 * (high - low)
            inside = (at >= low - near) & (at <= high + near)
            return at[inside], [n for n, ok in zip(names, inside, strict=True) if ok]
        if self.scale == "log":
            at = 10.0 ** self._powers(room)
            return at, self._names(at)
        at = nice(low, high, int(np.clip(room, 1, 9)))
        near = 1e-9 * (high - low)
        at = at[(at >= low - near) & (at <= high + near)]
        return at, self._names(at)

    def _names(self, at: np.ndarray) -> list[str]:
        if self.scale == "log":
            return [f"$10^{{{round(float(np.log10(x)))}}}$" for x in at]
        return _numbers(at)

    def minors(self, room: float) -> np.ndarray:
        """Places of the small ticks between powers of ten."""
        if self.scale == "linear" or not self.minor or self._stride(room) > 1:
            return np.array([])
        low, high = sorted(self.limits())
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
        at = np.outer(decades, np.arange(2, 10)).ravel()
        return at[(at >= low) & (at <= high)]

    def _powers(self, room: float) -> np.ndarray:
        low, high = np.log10(sorted(self.limits()))
        every = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
        return every[every % self._stride(room) == 0]

    def _stride(self, room: float) -> int:
        low, high = np.log10(sorted(self.limits()))
        most = int(np.clip(room, 2, 9))
        return max(int(np.ceil((np.floor(high) - np.ceil(low)) / max(most - 1, 1))), 1)


def nice(low: float, high: float, most: int) -> np.ndarray:
    """Round numbers from below `low` to above `high`, at most `most` steps, as matplotlib's."""
    scale = 10.0 ** np.floor(np.log10((high - low) / most))
    steps = np.concatenate([0.1 * STEPS[:-1], STEPS, [20]]) * scale
    first = int(np.flatnonzero(steps >= (high - low) / most)[0])
    for step in steps[first::-1]:
        begin = np.floor(low / step) * step
        at = begin + step * np.arange(0, np.ceil((high - begin) / step - 1e-9) + 1)
        if ((at >= low) & (at <= high)).sum() >= 2:
            break
    return np.round(at, 12)


def _numbers(at: np.ndarray) -> list[str]:
    """The ticks as text, all with as many decimals as the longest needs."""
    digits = [f"{x:.10f}".rstrip("0").partition(".")[2] for x in at]
    most = max(map(len, digits), default=0)
    return [f"{x:.{most}f}".replace("-", "−") for x in at + 0.0]
