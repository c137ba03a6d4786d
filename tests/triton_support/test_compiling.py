"""Functions run in a process of their own, in which Triton compiles."""

import pytest

from attention_src.triton_support.compiling import where_triton_compiles
from attention_src.triton_support.launch import Launch, tl, triton


@triton.jit
def double_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i))


def compiled_double():
    import torch

    from attention_src.triton_support.compile import compile_launch

    x = torch.empty(1024, device="meta")
    used = compile_launch(Launch(double_kernel, (1,), dict(x_ptr=x, y_ptr=x, BLOCK=1024)), 90)
    return dict(capability=used.capability, spilled=used.spill_bytes, some=used.instructions > 8)


def broken():
    raise KeyError("no such chip")


@pytest.mark.slow
def test_a_kernel_that_is_interpreted_here_is_compiled_there():
    found = where_triton_compiles(compiled_double, double_kernel)
    assert found == dict(capability=90, spilled=0, some=True)


@pytest.mark.slow
def test_a_failure_is_told():
    with pytest.raises(RuntimeError, match=r"(?s)broken failed .*no such chip"):
        where_triton_compiles(broken)
