"""A model of one streaming multiprocessor: how many cycles an iteration of a hot loop takes.

It issues the loop's own instructions, one a cycle and in order for each warp, with the stalls and
scoreboards that the compiler wrote into them, and counts what each unit is busy with. That shows
what a loop waits for. It is not a measurement: it knows nothing of throttling, of contention for
the second-level cache, of how warps share the matrix units, or of filling and draining the
pipeline, and the latencies below are round numbers. One published speed anchors it, on an H100
(CALIBRATION); on an A100 nothing does, so there compare its figures with each other only.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from attention_src.triton_support.inner_loop import (
    NO_SCOREBOARD,
    Instruction,
    copy_bytes,
    kind,
    matrix_flop,
)

# The forward pass of Triton's tutorial 06 (float16, d = 128, full, n = 16k) runs at 477 TFLOP/s on
# an H100; the same loop, compiled here, at 547 in the model (`python -m benchmarks.static`).
CALIBRATION = 477 / 547
ISSUERS = 4  # parts of a multiprocessor, each with its own scheduler and a quarter of the warps
COPY_LATENCY, TMA_LATENCY = 350, 550  # cycles from the second-level cache
COPY_BYTES = 40  # a cycle from the second-level cache, for one multiprocessor
PATIENCE = 10_000  # cycles without an instruction: more than anything takes
BARRIER, DRAIN = 20, 30  # cycles to meet at a barrier; to see that a matrix product is complete
# Cycles until the result is ready, for instructions whose latency varies.
LATENCY = {
    "MUFU": 28, "SHFL": 24, "LDSM": 32, "LDS": 30, "LDC": 36, "S2": 30, "R2UR": 12, "SYNCS": 24,
    "MEMBAR": 24, "FENCE": 16, "LDGSTS": 24, "LDGDEPBAR": 2, "LDG": 450, "VOTEU": 12,
}  # fmt: skip


class Chip(NamedTuple):
    """Multiprocessors, clock, FLOP a cycle of a multiprocessor's matrix units, and the cycles for
    which one instruction of a warp occupies a unit, by how its name begins."""

    multiprocessors: int
    clock_hz: float
    matrix_flop: int
    units: dict[str, tuple[str, int]]


_UNITS = {
    "MUFU": ("special", 8),
    "FFMA|FMUL|FADD|HFMA2|HADD2": ("multiply-add", 1),
    "IMAD": ("multiply-add", 2),
    r"(SHFL|LDS|STS)(?!M)(?!.*128)": ("load and store", 4),
    "LDS|STS|LDG|STG": ("load and store", 16),
    "U(?!TMA)": ("uniform", 2),
    "HGMMA|WARPGROUP|BAR|DEPBAR|SYNCS|BRA|UTMALDG|NOP|MEMBAR|FENCE": ("", 0),
}
_AMPERE = {"FFMA|FMUL|FADD|HFMA2|HADD2|IMAD": ("multiply-add", 2)} | _UNITS
# By compute capability: an A100 and an H100 SXM at the clocks that they keep under load.
CHIPS = {
    80: Chip(108, 1.41e9, 2048, {r"HMMA": ("matrix", 8)} | _AMPERE),
    90: Chip(132, 1.755e9, 4096, {r"HMMA": ("matrix", 8)} | _UNITS),
}


@dataclass
class _Warp:
    """Where a warp is, and what it waits for; times in cycles."""

    block: int
    at: int = 0  # index of its next instruction
    turn: int = 0  # iteration
    ready: int = 0
    clear: list[float] = field(default_factory=lambda: [0.0] * 8)  # by scoreboard
    copies: list[float] = field(default_factory=list)  # when each group of copies has arrived
    newest_copy: float = 0.0
    products: list[float] = field(default_factory=list)  # when each group is computed
    loads: int = 0  # of the tensor memory accelerator, waited for in this iteration


class _Multiprocessor:
    """One of the four parts of a multiprocessor; the others do the same at the same time."""

    def __init__(self, loop: Sequence[Instruction], chip: Chip, tma_bytes: int, stages: int):
        self.loop, self.chip = loop, chip
        self.units = [_unit(x, chip) for x in loop]
        self.kinds = [kind(x.name) for x in loop]
        self.tma_bytes, self.stages = tma_bytes, stages
        self.busy: dict[str, int] = defaultdict(int)  # until when, by unit
        self.issued = self.latest = 0  # instructions; when the latest was
        self.matrix = self.memory = 0.0  # until when the matrix units and the cache are busy
        self.met: dict[tuple, dict[int, int]] = defaultdict(dict)  # when each warp came to it
        self.arrived: dict[tuple, list[float]] = defaultdict(list)  # loads by block and iteration

    def can_issue(self, warp: _Warp, name: int, now: int, warps: list[_Warp]) -> bool:
        """Whether a warp's next instruction may start in this cycle."""
        x = self.loop[warp.at]
        if any(x.waits >> i & 1 and warp.clear[i] > now for i in range(6)):
            return False
        if self.busy[self.units[warp.at][0]] > now:
            return False
        if x.name.startswith("BAR.SYNC"):
            met = self.met[warp.block, warp.turn, warp.at]
            met.setdefault(name, now)
            peers = sum(other.block == warp.block for other in warps)
            return len(met) == peers and max(met.values()) + BARRIER <= now
        if x.name.startswith("WARPGROUP.DEPBAR"):
            return _oldest(warp.products, x) + DRAIN <= now
        if x.name.startswith("DEPBAR.LE"):
            return _oldest(warp.copies, x) <= now
        if x.name.startswith("SYNCS.PHASECHK") and self.tma_bytes:
            turn = warp.turn - (self.stages - 1)
            arrived = self.arrived[warp.block, turn]
            if turn >= 0 and (len(arrived) <= warp.loads or arrived[warp.loads] > now):
                return False
            warp.loads += 1
        return True

    def issue(self, warp: _Warp, now: int) -> None:
        """Start a warp's next instruction, and note when it will be done."""
        x, (unit, cycles) = self.loop[warp.at], self.units[warp.at]
        if unit:
            self.busy[unit] = now + cycles
        if x.name.startswith("HGMMA"):
            self.matrix = max(self.matrix, now) + matrix_flop([x], 4) / self.chip.matrix_flop
            if "gsb0" in x.operands:
                warp.products.append(self.matrix)
        elif x.name.startswith("LDGSTS"):
            warp.newest_copy = max(warp.newest_copy, self._move(ISSUERS * copy_bytes(x), now))
        elif x.name.startswith("LDGDEPBAR"):
            warp.copies.append(warp.newest_copy)
        elif x.name.startswith("UTMALDG"):
            arrived = self.arrived[warp.block, warp.turn]
            arrived.append(self._move(self.tma_bytes, now) - COPY_LATENCY + TMA_LATENCY)
        latency = 1 if x.never else next((t for s, t in LATENCY.items() if x.name.startswith(s)), 0)
        for scoreboard, default in zip(x.sets, (20, 12), strict=True):
            if scoreboard != NO_SCOREBOARD:
                done = now + (latency or default)
                warp.clear[scoreboard] = max(warp.clear[scoreboard], done)
        self.issued, self.latest = self.issued + 1, now
        warp.ready = now + max(x.stall, 1)
        warp.at += 1
        if warp.at == len(self.loop):
            warp.at, warp.loads, warp.turn = 0, 0, warp.turn + 1

    def _move(self, n_bytes: int, now: int) -> float:
        """When bytes from the second-level cache arrive: one after the other."""
        self.memory = max(self.memory, now) + n_bytes / COPY_BYTES
        return self.memory + COPY_LATENCY


def cycles(
    loop: Sequence[Instruction],
    capability: int,
    *,
    num_warps: int,
    blocks: int,
    tma_bytes: int = 0,
    stages: int = 1,
    turns: int = 24,
) -> float:
    """Cycles in which every block on a multiprocessor does one iteration of its hot loop.

    Args:
        loop: as `hot_loop` returns it
        capability: the chip, a key of CHIPS
        num_warps: of a program
        blocks: programs on a multiprocessor at once
        tma_bytes: of each load of the tensor memory accelerator, which the code does not tell
        stages: iterations of which such loads are under way
        turns: iterations to run; the later half counts
    Returns: cycles
    Raises:
        ValueError: the loop waits for something that never comes
    """
    each = -(-num_warps // ISSUERS)
    warps = [_Warp(block) for block in range(blocks) for _ in range(each)]
    part = _Multiprocessor(loop, CHIPS[capability], tma_bytes, stages)
    now = last = 0
    halfway = None  # when the first warp got there, and how much had been issued
    while (first := max(warp.turn for warp in warps)) < turns:
        if first >= turns // 2 and halfway is None:
            halfway = now, part.issued
        for name in (last, *(i for i in range(len(warps)) if i != last)):
            warp = warps[name]
            if warp.ready <= now and part.can_issue(warp, name, now, warps):
                part.issue(warp, now)
                last = name
                break
        now += 1
        if now - part.latest > PATIENCE:
            raise ValueError(f"nothing was issued for {PATIENCE} cycles: the loop waits for itself")
    # Over what all warps issued, because one of them may run ahead.
    start, issued = halfway or (0, 0)
    return (now - start) * len(warps) * len(loop) / (part.issued - issued)


def tflop_per_s(
    loop: Sequence[Instruction], capability: int, *, num_warps: int, blocks: int, **options: int
) -> float:
    """The model's calibrated speed of a kernel that is only its hot loop.

    Args:
        loop, capability, num_warps, blocks, options: as for `cycles`
    Returns: TFLOP/s
    Raises:
        ValueError: as `cycles`
    """
    chip = CHIPS[capability]
    taken = cycles(loop, capability, num_warps=num_warps, blocks=blocks, **options)
    flop = blocks * matrix_flop(loop, num_warps)
    return CALIBRATION * flop / taken * chip.multiprocessors * chip.clock_hz / 1e12


def _unit(x: Instruction, chip: Chip) -> tuple[str, int]:
    """The unit that an instruction occupies and for how many cycles; ("", 0) for none."""
    for names, unit in chip.units.items():
        if re.match(names, x.name):
            return unit
    return "integer", 2


def _oldest(groups: list[float], x: Instruction) -> float:
    """When all but the newest n groups are done, n being the instruction's last operand."""
    kept = int(x.operands.split(",")[1], 16)
    return groups[-kept - 1] if len(groups) > kept else 0.0
