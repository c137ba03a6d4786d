"""Compile a kernel for a chip that is not here, and read what it will use there.

Works on any machine, without a GPU, but not in a process where Triton is interpreted: start Python
with TRITON_INTERPRET=0.
"""

import re
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

from attention_src.kernels import INTERPRETED, Launch

# The matrix instructions of PTX, newest first.
MATRIX_INSTRUCTIONS = ("tcgen05.mma", "wgmma.mma_async", "mma.sync")
# Shared memory that one program may have, in bytes (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability": the maximum per thread block).
SHARED_BYTES = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 90: 227 << 10, 100: 227 << 10}
_TYPES = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
}


@dataclass(frozen=True)
class Compiled:
    """What a compiled kernel uses.

    Args:
        capability: the chip, 75 to 100
        registers: of each thread, at most 255
        spill_bytes: of each thread, kept in slow local memory for want of registers
        shared_bytes: of each program
        matrix: the matrix instruction in use, or "" for none
        instructions: how many the chip's program has
    """

    capability: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    matrix: str
    instructions: int


def compile_launch(launch: Launch, capability: int) -> Compiled:
    """Compile a launch's kernel, with its very types, tile sizes and options, for a chip.

    Args:
        launch: its tensors may be on the meta device, which holds no data
        capability: a key of SHARED_BYTES
    Raises:
        ValueError: Triton is interpreted in this process; an unknown chip
    """
    if INTERPRETED:
        raise ValueError("Triton is interpreted in this process; start it with TRITON_INTERPRET=0")
    if capability not in SHARED_BYTES:
        raise ValueError(f"capability is {capability}; it should be one of {list(SHARED_BYTES)}")
    signature, constants, hints = _signature(launch.kernel, launch.arguments)
    source = ASTSource(launch.kernel, signature, constexprs=constants, attrs=hints)
    compiled = triton.compile(
        source,
        target=GPUTarget("cuda", capability, 32),
        options=dict(num_warps=launch.num_warps, num_stages=launch.num_stages),
    )
    usage = _dump(compiled.asm["cubin"], "--dump-resource-usage")
    sass = _dump(compiled.asm["cubin"], "--dump-sass")
    (registers,) = map(int, re.findall(r"REG:(\d+)", usage))
    matrix = [name for name in MATRIX_INSTRUCTIONS if name in compiled.asm["ptx"]]
    return Compiled(
        capability=capability,
        registers=registers,
        spill_bytes=sum(map(int, re.findall(r"(?:STACK|LOCAL):(\d+)", usage))),
        shared_bytes=compiled.metadata.shared,
        matrix=matrix[0] if matrix else "",
        instructions=len(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/", sass, flags=re.MULTILINE)),
    )


def _signature(kernel: Any, arguments: Mapping[str, Any]) -> tuple[dict, dict, dict]:
    """Each parameter's type, the constants, and what is divisible by 16, as a launch would have it.

    Triton makes a constant of an integer 1, and uses that a pointer or size is divisible by 16.
    """
    signature, constants, hints = {}, {}, {}
    for index, parameter in enumerate(kernel.params):
        name, value = parameter.name, arguments[parameter.name]
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if parameter.is_constexpr or value is None or (is_integer and value == 1):
            signature[name], constants[name] = "constexpr", value
        elif isinstance(value, torch.Tensor):
            signature[name] = "*" + _TYPES[value.dtype]
            hints[(index,)] = [["tt.divisibility", 16]]
        elif is_integer:
            signature[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            if value % 16 == 0:
                hints[(index,)] = [["tt.divisibility", 16]]
        else:
            signature[name] = "i1" if isinstance(value, bool) else "fp32"
    return signature, constants, hints


def _dump(cubin: bytes, option: str) -> str:
    """What Triton's own copy of cuobjdump says of a compiled kernel."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        return subprocess.run(
            [tool, option, path], capture_output=True, text=True, check=True
        ).stdout
