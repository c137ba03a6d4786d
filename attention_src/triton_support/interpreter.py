"""The one place that decides whether Triton kernels are compiled or interpreted.

With a CUDA GPU they are compiled. Without one they run in Triton's interpreter: the same source,
program by program, in NumPy on the CPU; slow, but a kernel can be read, run and tested anywhere.
Triton makes up its mind while it is imported, so layers import this file first. To overrule it, set
TRITON_INTERPRET to 1 or 0 before Python starts.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")


def interpreted() -> bool:
    """Whether kernels run in the interpreter."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")
