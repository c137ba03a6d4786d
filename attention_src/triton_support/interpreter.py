"""The one place that decides whether Triton kernels are compiled or interpreted.

With a CUDA GPU they are compiled. Without one they run in Triton's interpreter: the same source,
one program after the other, in NumPy on the CPU. That is slow, but kernels can be run and tested
anywhere. Triton decides when it is imported, so layers import this file first. To choose yourself,
set TRITON_INTERPRET to 1 or 0 before Python starts.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")


def interpreted() -> bool:
    """Whether kernels run in the interpreter.

    Returns: True if the environment says so
    """
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")
