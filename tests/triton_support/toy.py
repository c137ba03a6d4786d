"""A small kernel to try the launching and compiling of, and a way to start Python afresh."""

import os
import subprocess
import sys
from pathlib import Path

from attention_src.triton_support.launch import Launch, tl, triton

ROOT = Path(__file__).parents[2]


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * factor, mask=offs < n)


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    square = offs[:, None] * BLOCK + offs[None, :]
    c = tl.dot(tl.load(a_ptr + square), tl.load(b_ptr + square))
    tl.store(c_ptr + square, c.to(c_ptr.dtype.element_ty))


@triton.jit
def arguments_kernel(x_ptr, one, sixteen, odd, negative, zero, large, number, flag, nothing):
    tl.store(x_ptr, one + sixteen + odd + negative + zero + large + number + flag)


def scale_launch(x, y, factor, *, n=None):
    n = x.shape[0] if n is None else n
    arguments = dict(x_ptr=x, y_ptr=y, n=n, factor=factor, BLOCK=16)
    return Launch(scale_kernel, (triton.cdiv(n, 16),), arguments, num_warps=2)


def product_launch(a, b, c, block, num_warps=4):
    arguments = dict(a_ptr=a, b_ptr=b, c_ptr=c, BLOCK=block)
    return Launch(product_kernel, (1,), arguments, num_warps=num_warps)


def arguments_launch(x):
    """An argument of each kind that Triton treats in its own way."""
    numbers = dict(one=1, sixteen=16, odd=17, negative=-32, zero=0, large=2**31, number=1.5)
    return Launch(arguments_kernel, (1,), dict(x_ptr=x, **numbers, flag=True, nothing=None))


def afresh(code, *arguments, **environment):
    """What a fresh Python answers to some code: the finished process, with its output as text."""
    known = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    known["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    command = [sys.executable, *(("-c", code) if code else ()), *arguments]
    return subprocess.run(
        command, env=known | environment, cwd=ROOT, capture_output=True, text=True
    )
