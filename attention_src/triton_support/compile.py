"""Compile a kernel for a chip that this machine does not have, and read what it will use there.

Needs no GPU, but does not work in a process where Triton is interpreted: start Python with
TRITON_INTERPRET=0.
"""

import re
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from attention_src.triton_support.inner_loop import Instruction, disassemble
from attention_src.triton_support.launch import INTERPRETED, Launch

# The matrix instructions of PTX, newest first.
MATRIX_INSTRUCTIONS = ("tcgen05.mma", "wgmma.mma_async", "mma.sync")
# Most shared memory of one program, in bytes (CUDA C++ Programming Guide, "Technical Specifications
# per Compute Capability": the maximum per thread block).
SHARED_BYTES = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 90: 227 << 10, 100: 227 << 10}
# Shared memory of a multiprocessor in bytes, and the most warps and programs on it at once.
MULTIPROCESSOR = {
    75: (64 << 10, 32, 16),
    80: (164 << 10, 64, 32),
    86: (100 << 10, 48, 16),
    90: (228 << 10, 64, 32),
    100: (228 << 10, 64, 32),
}
INSTRUCTION_BYTES = 16  # since Volta (sm_70)
ELF_EXECUTABLE = 4  # SHF_EXECINSTR: the section holds instructions
_TYPES = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "u1",
}


@dataclass(frozen=True)
class Compiled:
    """What a compiled kernel uses.

    Args:
        capability: the chip, 75 to 100
        registers: per thread, at most 255
        spill_bytes: local memory per thread, which is slow: values for which registers ran out
        shared_bytes: shared memory per program
        matrix: the matrix instruction in use, or "" for none
        instructions: length of the machine code in instructions, padding included
        dots: number of tl.dot in the source, after inlining and unrolling
    """

    capability: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    matrix: str
    instructions: int
    dots: int


def compile_launch(launch: Launch, capability: int) -> Compiled:
    """Compile a launch's kernel for a chip, with the launch's types, tile sizes and options.

    Args:
        launch: its tensors may be on the meta device, which holds no data
        capability: the chip, a key of SHARED_BYTES
    Returns: what the kernel will use there
    Raises:
        ValueError: Triton is interpreted in this process; an unknown chip
    """
    compiled = _compile(launch, capability)
    usage = _resource_usage(compiled.asm["cubin"])
    (registers,) = map(int, re.findall(r"REG:(\d+)", usage))
    matrix = [name for name in MATRIX_INSTRUCTIONS if name in compiled.asm["ptx"]]
    return Compiled(
        capability=capability,
        registers=registers,
        spill_bytes=sum(map(int, re.findall(r"(?:STACK|LOCAL):(\d+)", usage))),
        shared_bytes=compiled.metadata.shared,
        matrix=matrix[0] if matrix else "",
        instructions=_program_bytes(compiled.asm["cubin"]) // INSTRUCTION_BYTES,
        dots=len(re.findall(r"\btt\.dot\b", compiled.asm["ttir"])),
    )


def compile_code(launch: Launch, capability: int) -> list[Instruction]:
    """The machine code of a launch's kernel for a chip.

    Args:
        launch, capability: as for `compile_launch`
    Returns: its instructions, in the order of their addresses
    Raises:
        ValueError: as `compile_launch`
    """
    return disassemble(_compile(launch, capability).asm["cubin"])


def blocks_per_multiprocessor(used: Compiled, num_warps: int) -> int:
    """How many programs run on a multiprocessor at once, the occupancy.

    Args:
        used: as `compile_launch` returns it
        num_warps: of a program
    Returns: as many as registers, shared memory and warps allow
    Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
        Registers are handed out to a warp in 256s, and a program takes 1 KiB of shared memory more
        than it asks for since sm_80.
    """
    shared_bytes, most_warps, most_blocks = MULTIPROCESSOR[used.capability]
    registers = num_warps * (-(-32 * used.registers // 256) * 256)
    shared = max(1, used.shared_bytes + (1024 if used.capability >= 80 else 0))
    return min(most_blocks, most_warps // num_warps, 65536 // registers, shared_bytes // shared)


def _compile(launch: Launch, capability: int) -> Any:
    """A launch's kernel as Triton compiles it.

    Raises:
        ValueError: as `compile_launch`
    """
    if INTERPRETED:
        raise ValueError("Triton is interpreted in this process; start it with TRITON_INTERPRET=0")
    if capability not in SHARED_BYTES:
        raise ValueError(f"capability is {capability}; it should be one of {list(SHARED_BYTES)}")
    types, constants, hints = argument_types(launch.kernel, launch.arguments)
    source = ASTSource(launch.kernel, types, constexprs=constants, attrs=hints)
    return triton.compile(
        source, target=GPUTarget("cuda", capability, 32), options=launch.options()
    )


def argument_types(kernel: Any, arguments: Mapping[str, Any]) -> tuple[dict, dict, dict]:
    """What Triton would derive from the arguments of a launch.

    Args:
        kernel: a function under @triton.jit
        arguments: by its parameters' names
    Returns:
        types: by name, "constexpr" for a constant
        constants: by name; Triton makes the integer 1 and None constants too
        hints: by position, for each pointer and integer that is divisible by 16
    """
    types, constants, hints = {}, {}, {}
    for index, parameter in enumerate(kernel.params):
        name, value = parameter.name, arguments[parameter.name]
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if parameter.is_constexpr or value is None or (is_integer and value == 1):
            types[name], constants[name] = "constexpr", value
        elif isinstance(value, torch.Tensor):
            types[name] = "*" + _TYPES[value.dtype]
            hints[(index,)] = [["tt.divisibility", 16]]
        elif is_integer:
            types[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            if value % 16 == 0:
                hints[(index,)] = [["tt.divisibility", 16]]
        else:
            types[name] = "u1" if isinstance(value, bool) else "fp32"
    return types, constants, hints


def _resource_usage(cubin: bytes) -> str:
    """The output of cuobjdump, of which Triton carries a copy."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [str(tool), "--dump-resource-usage", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _program_bytes(cubin: bytes) -> int:
    """Size of the sections that hold instructions, from the section table of a 64-bit ELF file.

    Disassembling would show it too, but takes as long as compiling.
    """
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_bytes, n_entries = struct.unpack_from("<HH", cubin, 0x3A)
    size = 0
    for at in range(table, table + n_entries * entry_bytes, entry_bytes):
        (flags,) = struct.unpack_from("<Q", cubin, at + 8)
        if flags & ELF_EXECUTABLE:
            size += struct.unpack_from("<Q", cubin, at + 32)[0]
    return size
