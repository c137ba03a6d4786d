"""Packed rows under torch.compile do what the docstring of `packing` says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = """
import torch

from attention_src.flash.layer import flash_attention
from attention_src.flash.layer_packed import packed_attention
from attention_src.packing import Packing

q, k, v = (torch.randn(1, 2, 9, 8, requires_grad=True) for _ in range(3))
SPLITS = [torch.tensor(x) for x in ([0, 3, 9], [0, 5, 9], [0, 2, 2, 9])]


def with_gradients(o):
    return o, *torch.autograd.grad(o.square().sum(), [q, k, v])


def packed(cu_seqlens):
    return packed_attention(q, k, v, cu_seqlens, causal=True)


try:
    torch.compile(packed, backend="eager", fullgraph=True)(SPLITS[0])
except torch._dynamo.exc.TorchDynamoException as error:
    assert "packing.py" in str(error)
else:
    raise AssertionError("it compiles into one graph now: say so in packing.py")
torch.compiler.reset()
in_parts = torch.compile(packed, backend="aot_eager")
for cu_seqlens in SPLITS:
    found = with_gradients(in_parts(cu_seqlens))
    torch.testing.assert_close(found, with_gradients(packed(cu_seqlens)))


def outside(queries, keys):
    rows = queries.pad(q), keys.pad(k), keys.pad(v)
    return queries.unpad(flash_attention(*rows, key_lengths=keys.lengths, causal=True))


torch.compiler.reset()
whole = torch.compile(outside, backend="aot_eager", fullgraph=True)
for cu_seqlens in SPLITS:
    packings = (Packing(cu_seqlens, 9, front=front) for front in (True, False))
    torch.testing.assert_close(with_gradients(whole(*packings)), with_gradients(packed(cu_seqlens)))
print("done")
"""


@pytest.mark.weekly
def test_a_packing_from_outside_compiles_into_one_graph():
    # In a process of its own: torch.compile cannot trace through the test run's type checks.
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "done\n", done.stderr
