"""What tests of kernels share: interpreted on a CPU here, compiled where there is a GPU."""

import math

import pytest
import torch

from attention_src.triton_support.launch import INTERPRETED

DEVICE = "cpu" if INTERPRETED else "cuda"
DTYPES = (
    (torch.float16, torch.float32)
    if INTERPRETED
    else (torch.float16, torch.bfloat16, torch.float32)
)
# torch.compile traces either way. Around interpreted operators there is no code worth generating.
BACKEND = "aot_eager" if INTERPRETED else "inductor"
needs_gpu = pytest.mark.skipif(INTERPRETED, reason="needs a GPU: compiled kernels only")
needs_interpreter = pytest.mark.skipif(not INTERPRETED, reason="about the interpreter")


def huge_tensor(folder, shape, strides, dtype):
    """A tensor that spans more than 2**31 elements but, on a CPU, only uses the pages it touches.

    Its storage is a sparse file there, and memory of the GPU otherwise. Let each stride stay below
    2**31: a larger one is a 64-bit number by itself, and makes one of what it is multiplied with,
    so that a missing cast would not be seen.
    """
    size = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    assert size > 2**31
    if not INTERPRETED:
        return torch.empty(size, dtype=dtype, device=DEVICE).as_strided(shape, strides)
    path = folder / f"huge-{len(list(folder.iterdir()))}"
    with path.open("wb") as file:
        file.truncate(size * dtype.itemsize)
    flat = torch.from_file(str(path), shared=True, size=size, dtype=dtype)
    assert math.prod(shape) < 2**20, "the file is sparse only as long as little of it is touched"
    return flat.as_strided(shape, strides)
