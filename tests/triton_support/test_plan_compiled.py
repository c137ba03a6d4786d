"""A plan gives a compiled kernel the arguments that Triton itself would give it."""

import pytest

from triton_support.toy import afresh

CODE = """
import torch
from benchmarks.launch import pretend
from attention_src.triton_support.launch_cache import planned
from triton_support.toy import scale_launch

started = []
pretend(lambda *given: started.append(given))

@planned
def scaled(x, factor):
    y = torch.empty_like(x)
    return (y,), [scale_launch(x, y, factor)]

for x in (torch.zeros(37), torch.ones(37)):
    y, = scaled(x, 3.0)
    x_at, y_at, *rest = started[-1][-5:]
    assert x_at.data_ptr() == x.data_ptr() and y_at.data_ptr() == y.data_ptr()
    assert rest == [37, 3.0, 16], rest
first, second = started
assert len(scaled.plans) == 1 and len(first) == len(second)
assert first[:6] == second[:6]  # grid, stream, kernel and its options
print("same", first[:3])
"""


@pytest.mark.slow
def test_a_compiled_kernel_gets_the_same_arguments_from_a_plan():
    answer = afresh(CODE, TRITON_INTERPRET="0")
    assert answer.stdout.strip() == "same (3, 1, 1)", answer.stderr
