"""What every Triton kernel of the course shares: the check of its tensors, and its launch.

A kernel comes with a function that describes its launch (tile sizes chosen by dtype, width and
chip) and a torch operator that uses both. The description is a `Launch`: `run` starts it on this
machine, `compile` compiles it for chips that this machine does not have.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_src.errstate import own_errstate
from attention_src.tensors import KERNEL_DTYPES, check_tensors
from attention_src.triton_support import interpreter  # before triton: it decides how

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise ImportError(
        "Triton is missing, so the kernels cannot run; other implementations can. It has wheels "
        "for Linux only: pip install triton"
    ) from error

INTERPRETED = interpreter.interpreted()
# Where kernels run: the interpreter works on a CPU's memory.
DEVICES = ("cuda", "cpu") if INTERPRETED else ("cuda",)

if isinstance(tl.max, triton.JITFunction) == INTERPRETED:
    raise RuntimeError(
        "Triton was imported before attention_src could choose its interpreter. Set "
        "TRITON_INTERPRET=1 before Python starts, or import attention_src's layer first"
    )


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel, described but not started.

    Args:
        kernel: a function under @triton.jit
        grid: number of programs along each of up to three axes
        arguments: by parameter name: tensors, numbers and tl.constexpr values
        num_warps: warps (of 32 threads) per program
        num_stages: how many iterations of a loop have loads in flight at once
        max_registers: per thread, so that more programs fit on a multiprocessor; None = 255
    """

    kernel: Any
    grid: tuple[int, ...]
    arguments: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 2
    max_registers: int | None = None

    def options(self) -> dict[str, int]:
        """What the compiler is told beside the arguments.

        Returns: by Triton's names
        """
        options = dict(num_warps=self.num_warps, num_stages=self.num_stages)
        return options | (dict(maxnreg=self.max_registers) if self.max_registers else {})

    def run(self) -> Any:
        """Start the kernel on its tensors' device; does nothing for an empty grid.

        Returns: the compiled kernel; None if it is interpreted or the grid is empty
        """
        if 0 in self.grid:
            return None
        first = next(x for x in self.arguments.values() if isinstance(x, Tensor))
        with on_device_of(first), own_errstate() if INTERPRETED else nullcontext():
            return self.kernel[self.grid](**self.arguments, **self.options())


def on_device_of(x: Tensor) -> AbstractContextManager:
    """A context that makes x's GPU the current one, where Triton starts kernels.

    Args:
        x: a tensor on any device
    Returns: one that does nothing if x is on the current GPU, as is usual, or on none
    """
    if x.device.type != "cuda" or x.device.index == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(x.device)


def check_kernel_tensors(*, one_dtype: bool = True, **tensors: Tensor) -> None:
    """Check that a kernel can run on these tensors here.

    Args:
        one_dtype, tensors: as for `check_tensors`
    Raises:
        ValueError: as `check_tensors`; a dtype that kernels do not support; bfloat16 in the
            interpreter, which silently gets its matrix products wrong; a device on which kernels
            do not run
    """
    check_tensors(one_dtype=one_dtype, **tensors)
    first, reference = next(iter(tensors.items()))
    for name, x in tensors.items():
        if x.dtype not in KERNEL_DTYPES:
            raise ValueError(
                f"{name} has dtype {x.dtype}; kernels take float16, bfloat16 and float32. "
                "Choose another impl for it, or convert it: x.to(torch.float32)"
            )
        if x.dtype == torch.bfloat16 and INTERPRETED:
            raise ValueError(
                f"{name} has dtype torch.bfloat16, which Triton's interpreter silently multiplies "
                "wrongly; use float16 or float32 there, or a GPU, or another impl"
            )
    if reference.device.type not in DEVICES:
        place = f"in the interpreter: {first}.cpu()" if INTERPRETED else f"on cuda: {first}.cuda()"
        raise ValueError(
            f"{first} is on {reference.device}, but kernels run {place}, or choose another impl"
        )


def capability(x: Tensor) -> int:
    """The compute capability of a tensor's GPU as one number: 75 for a T4, 90 for an H200.

    Args:
        x: a tensor on a GPU; anywhere in the interpreter
    Returns: major and minor version as 10 major + minor; 0 in the interpreter
    """
    if INTERPRETED:
        return 0
    major, minor = torch.cuda.get_device_capability(x.device)
    return 10 * major + minor
