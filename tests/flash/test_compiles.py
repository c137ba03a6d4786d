"""The layer under torch.compile, in one graph, and under autocast, which changes nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attention_src.attention.bias import Alibi
from attention_src.flash.layer import flash_attention_with_lse
from flash.oracle import arguments, results

ROOT = Path(__file__).parents[2]
SINKS = torch.tensor([0.5, -1.0, 2.0])
CODE = """
import torch
from attention_src.attention.bias import Alibi
from attention_src.attention.layer import attention
from attention_src.flash.layer import flash_attention_with_lse
from attention_src.testing import make_qkv

q, k, v = (x.requires_grad_() for x in make_qkv(7, 9, 16, dtype=torch.float32))
lengths = torch.tensor([9, 4])
sinks, keys = torch.randn(3, requires_grad=True), torch.randn(2, 1, 1, 9, requires_grad=True)
rule = dict(window=3, sinks=1, key_lengths=lengths)
alibi = dict(bias=Alibi(torch.tensor([0.5, 0.25, 0.125])), softcap=2.0, sink_logits=sinks)


def same(function, **options):
    torch.compiler.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    leaves = [q, k, v, *(x for x in options.values() if getattr(x, "requires_grad", False))]
    found = []
    for run in (function, compiled):
        o = run(q, k, v, **options)
        o = o if function is attention else o[0]
        found.append((o, *torch.autograd.grad(o.square().sum(), leaves)))
    torch.testing.assert_close(*found)
    return compiled


for impl in ("sdpa", "tiled"):
    compiled = same(flash_attention_with_lse, impl=impl, **rule)
    try:
        compiled(q, k, v, impl=impl, **rule | dict(key_lengths=lengths + 1))
        raise AssertionError("compiled, it takes any length")
    except ValueError as error:
        assert "each should be between 0 and n_k=9" in str(error)
for impl in ("dense", "tiled", "triton"):
    same(flash_attention_with_lse, impl=impl, lookahead=2, **rule, **alibi)
same(flash_attention_with_lse, impl="tiled", **rule, **alibi | dict(bias=keys))
same(attention, causal=True, **alibi)
same(attention, causal=True, impl="sdpa", bias=keys)
same(attention, impl="sdpa")
nan = torch.where(torch.arange(3)[:, None, None] == 1, torch.nan, k.detach()[:, :, :7])
torch.compiler.reset()
for options in (dict(), dict(causal=True)):
    o = torch.compile(attention, backend="eager", fullgraph=True)(q, nan, v[:, :, :7], **options)
    assert o[:, 1].isnan().all() and not o[:, ::2].isnan().any()
print("done")
"""


@pytest.mark.weekly
def test_compiles_into_one_graph():
    # In a process of its own: torch.compile cannot trace through the test run's type checks.
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "done\n", done.stderr


def under_autocast(*qkv, **options):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return flash_attention_with_lse(*qkv, **options)


@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled"])
def test_autocast_changes_no_bit(impl):
    inputs = arguments((33, 33, 16, 16, 3, 3), torch.float32)
    options = dict(causal=True, bias=torch.randn(3, 33, 33))
    options |= dict(softcap=2.0, sink_logits=SINKS) if impl != "sdpa" else {}
    for changed in (dict(window=9, lookahead=1, bias=Alibi([0.5, 0.25, 0.125])), options):
        expected = results(flash_attention_with_lse, *inputs, impl=impl, **changed)
        found = [results(under_autocast, *inputs, impl=impl, **changed)]
        if impl == "tiled":  # its backward pass is our own, too
            with torch.autocast("cpu", dtype=torch.bfloat16):
                found += [results(flash_attention_with_lse, *inputs, impl=impl, **changed)]
        for actual in found:
            for a, e in zip(actual, expected, strict=True):
                assert a.dtype == e.dtype and torch.equal(a, e)
