"""What one iteration of a kernel's hot loop holds, read from its machine code.

Nearly all of a kernel's time is spent in its innermost loop, so what is in that loop bounds its
speed: matrix products and exponentials are the work, everything else takes issue slots from them.
Copies should be under way while the arithmetic runs. No GPU is needed: Triton's package carries
NVIDIA's disassembler.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attention_src.triton_support.launch import triton

LANES = 32  # threads in a warp
# Kinds of instructions by how their names begin; the first match counts.
KINDS = {
    "matrix": r"[HIQ]G?MMA|UTC[A-Z]*MMA",
    "exponential": r"MUFU\.EX2",
    "barrier": r"U?BAR\b|DEPBAR|LDGDEPBAR|WARPGROUP|WARPSYNC|SYNCS|MEMBAR|FENCE|BSSY|BSYNC",
    "floating_point": r"FADD|FMUL|FFMA|FMNMX|FSEL|FSETP|FSET|F2F|HADD2|HMUL2|HFMA2|HMNMX2",
    "load": r"LDG|LDS|LDL|LD\b|UTMALDG|UBLKCP|LDTM",
    "integer": r"I(ADD|MAD|ABS|MNMX|SETP)|VI|LEA|LOP|PLOP|SHF\b|PRMT|SEL\b|BMSK|SGXT|U(?!TMA|BLK)",
}
_LINE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?);")
_LABEL = re.compile(r"\s*(\.L_\w+):")


class Instruction(NamedTuple):
    """One machine instruction, for a warp.

    Args:
        address: in bytes from the kernel's start
        name, operands: "HGMMA.64x128x16.F32.BF16", with modifiers; the rest of its text
        never: whether its condition is constantly false
        target: the address that it may jump to
    """

    address: int
    name: str
    operands: str = ""
    never: bool = False
    target: int | None = None


@dataclass(frozen=True)
class InnerLoop:
    """One iteration of a hot loop. Counts are instructions of one warp.

    Args:
        instructions: all of them; what is of no other kind moves, shuffles, stores or jumps
        matrix, exponential, floating_point, integer, load, barrier: by kind
        flop: of the matrix instructions of all warps, padding included
        bytes_copied: by asynchronous copies of all warps to shared memory
        bytes_in_flight: the least that is under way during the arithmetic; None without copies
    """

    instructions: int
    matrix: int
    exponential: int
    floating_point: int
    integer: int
    load: int
    barrier: int
    flop: int
    bytes_copied: int
    bytes_in_flight: int | None


def disassemble(cubin: bytes) -> list[Instruction]:
    """The instructions of a compiled kernel.

    Args: cubin: what Triton compiles a kernel to
    Returns: in the order of their addresses
    """
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [str(tool), "--print-code", str(path)]
        return parse(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def parse(text: str) -> list[Instruction]:
    """Read a disassembler's output, where each instruction has a line.

    Args: text: what nvdisasm prints
    Returns: the instructions in the order of their addresses
    """
    labels: dict[str, int] = {}
    pending: list[str] = []
    found = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            pending.append(label[1])
        elif match := _LINE.match(line):
            address = int(match[1], 16)
            labels |= dict.fromkeys(pending, address)
            pending = []
            found.append((address, match[2]))
    return [_instruction(*parts, labels) for parts in found]


def _instruction(address: int, text: str, labels: dict[str, int]) -> Instruction:
    words = text.lstrip("{ ").split()
    condition = words.pop(0) if words[0].startswith("@") else ""
    name, operands = words[0], " ".join(words[1:])
    jump = re.search(r"`\((\.L_\w+)\)", operands) if name.startswith("BRA") else None
    target = labels.get(jump[1]) if jump else None
    return Instruction(address, name, operands, condition == "@!PT", target)


def innermost_loops(code: Sequence[Instruction]) -> list[list[Instruction]]:
    """The loops that contain no smaller one.

    Args: code: as `disassemble` returns it
    Returns: of each loop the instructions from the target of its jump backwards to the jump
    """
    jumps = {(x.target, x.address) for x in code if x.target is not None}
    spans = sorted((first, last) for first, last in jumps if first < last)
    inner = [
        (first, last)
        for first, last in spans
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in spans)
    ]
    return [[x for x in code if first <= x.address <= last] for first, last in inner]


def hot_loop(code: Sequence[Instruction]) -> list[Instruction]:
    """The innermost loop with the most matrix work; of several, the shortest, which needs no mask.

    Args: code: as `disassemble` returns it
    Returns: its instructions; without matrix work the longest loop, and without loops nothing
    """
    loops = innermost_loops(code)
    most = max((matrix_flop(loop, 4) for loop in loops), default=0)
    if most:
        return min((loop for loop in loops if matrix_flop(loop, 4) == most), key=len)
    return max(loops, key=len, default=[])


def kind(name: str) -> str:
    """What an instruction is for.

    Args: name: of the instruction
    Returns: a key of KINDS, or "other"
    """
    return next((kind for kind, names in KINDS.items() if re.match(names, name)), "other")


def matrix_flop(code: Iterable[Instruction], num_warps: int) -> int:
    """FLOP of matrix instructions, which four warps (HGMMA) or one (HMMA) issue together.

    Args:
        code, num_warps: instructions of one warp; warps of a program
    Returns: FLOP of all warps
    """
    total = 0.0
    for x in code:
        if match := re.match(r"[HIQ]GMMA\.(\d+)x(\d+)x(\d+)", x.name):
            m, n, k = map(int, match.groups())
            total += 2 * m * n * k * num_warps / 4
        elif match := re.match(r"[HIQ]MMA\.(16)(8)(\d+)", x.name):
            m, n, k = map(int, match.groups())
            total += 2 * m * n * k * num_warps
    return int(total)


def copy_bytes(x: Instruction) -> int:
    """What an asynchronous copy to shared memory moves for one warp.

    Args: x: an instruction
    Returns: bytes; 0 for any other instruction
    """
    if not x.name.startswith("LDGSTS") or x.never:
        return 0
    bits = re.search(r"\.(64|128)\b", x.name)
    return LANES * (int(bits[1]) if bits else 32) // 8


def bytes_in_flight(loop: Sequence[Instruction], num_warps: int) -> int | None:
    """What is under way while the loop computes.

    LDGDEPBAR closes a group of copies, and DEPBAR.LE SB0, n waits until only the n newest groups
    are left. Where there are no exponentials, all floating-point and matrix instructions count.

    Args:
        loop, num_warps: as for `count`
    Returns: the least bytes of copies under way at any exponential; None without copies
    """
    if not any(map(copy_bytes, loop)):
        return None
    kinds = [kind(x.name) for x in loop]
    work = {"exponential"} if "exponential" in kinds else {"floating_point", "matrix"}
    groups: list[int] = []
    least: list[int] = []
    newest = 0
    for turn in range(8):  # the first turns fill the pipeline
        for x, its_kind in zip(loop, kinds, strict=True):
            newest += copy_bytes(x) * num_warps
            if x.name.startswith("LDGDEPBAR"):
                groups, newest = [*groups, newest], 0
            elif wait := re.match(r"DEPBAR\.LE SB0, (\w+)", f"{x.name} {x.operands}"):
                groups = groups[max(0, len(groups) - int(wait[1], 16)) :]
            elif turn == 7 and its_kind in work:
                least.append(sum(groups) + newest)
    return min(least, default=0)


def count(loop: Sequence[Instruction], num_warps: int) -> InnerLoop:
    """What an iteration holds.

    Args:
        loop: as `hot_loop` returns it
        num_warps: warps of a program
    Returns: its counts
    """
    kinds = [kind(x.name) for x in loop]
    return InnerLoop(
        instructions=len(loop),
        **{name: kinds.count(name) for name in KINDS},
        flop=matrix_flop(loop, num_warps),
        bytes_copied=num_warps * sum(map(copy_bytes, loop)),
        bytes_in_flight=bytes_in_flight(loop, num_warps),
    )
