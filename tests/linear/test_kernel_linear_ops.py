"""The kernels as operators: registration, refusals, wide offsets, the same bits every time."""

from dataclasses import replace

import pytest
import torch
from kernel_support import BACKEND, DTYPES, huge_tensor, needs_gpu, needs_interpreter

from attention_src.linear.kernel import chunkwise_backward, chunkwise_forward
from attention_src.linear.kernel.launch import delta_launch
from attention_src.linear.layer import linear_attention
from attention_src.triton_support.launch import capability

from .test_kernel_linear import KINDS, arguments, operator, with_gradients


@pytest.mark.slow  # opcheck traces each operator several times
@pytest.mark.parametrize("kind", KINDS)
def test_operator_rules(untyped, kind):  # traced sizes are symbols instead of int
    given = arguments(kind, (1, 1, 3, 3, 2), torch.float32)
    torch.library.opcheck(operator(kind), [x.requires_grad_() for x in given])


def test_operator_rules_of_the_backward():
    given = [x.detach() for x in arguments("channels", (1, 1, 3, 3, 2), torch.float32)]
    o, last = chunkwise_forward(*given)
    torch.library.opcheck(chunkwise_backward, [*given, last, o.clone(), last.clone()])


def test_compiles_as_one_graph():
    given = [x.requires_grad_() for x in arguments("one gate", (1, 1, 3, 3, 2), torch.float32)]

    def loss(*x):
        o, last = chunkwise_forward(*x)
        return o.sin().sum() + last.cos().sum()

    actual = torch.compile(loss, fullgraph=True, backend=BACKEND)(*given)
    expected = loss(*given)
    torch.testing.assert_close(actual, expected)
    gradients = [torch.autograd.grad(out, given) for out in (actual, expected)]
    for a, e in zip(*gradients, strict=True):
        torch.testing.assert_close(a, e)


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_beyond_32_bits(tmp_path, kind):
    small = [x.detach() for x in arguments(kind, (1, 2, 3, 2, 2), torch.float32)]
    expected = operator(kind)(*small)
    for strides in ((8, 2**31 + 8, 2, 1), (8, 4, 2**30 + 8, 1), (1, 16, 2, 2**31 + 8)):
        wide = huge_tensor(tmp_path, (1, 2, 3, 2), strides, torch.float32)
        for i in range(3):
            wide.copy_(small[i])
            given = [*small[:i], wide, *small[i + 1 :]]
            for a, e in zip(operator(kind)(*given), expected, strict=True):
                torch.testing.assert_close(a, e)


def test_refusals():
    given = arguments("channels", (1, 1, 5, 3, 2), torch.float32)
    with pytest.raises(ValueError, match=r"q has dtype torch\.float64; kernels take"):
        chunkwise_forward(*(x.double() for x in given))
    with pytest.raises(ValueError, match=r"log_gates has dtype torch\.float64"):
        chunkwise_forward(*given[:3], given[3].double(), given[4])
    with pytest.raises(ValueError, match=r"k is torch\.float16 on .* but q is torch\.float32"):
        chunkwise_forward(given[0], given[1].half(), *given[2:])
    wide = arguments("channels", (1, 1, 2, 257, 1), torch.float32)
    with pytest.raises(ValueError, match=r"q has d_k=257 .* a program holds up to 256"):
        chunkwise_forward(*wide)
    with pytest.raises(ValueError, match="start is not contiguous"):
        chunkwise_forward(*given[:4], given[4].mT.contiguous().mT)
    q, k, v = given[:3]
    with pytest.raises(ValueError, match='causal is False; impl="triton" looks back only'):
        linear_attention(q, k, v, causal=False, impl="triton")
    with pytest.raises(ValueError, match="form is 'parallel'; impl=\"triton\" has"):
        linear_attention(q, k, v, form="parallel", impl="triton")


@needs_interpreter
@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_refused_in_the_interpreter(kind):
    with pytest.raises(ValueError, match=r"q has dtype torch\.bfloat16"):
        operator(kind)(*arguments(kind, (1, 1, 5, 3, 2), torch.bfloat16))


@needs_gpu
@pytest.mark.parametrize("kind", KINDS)
def test_no_race(kind):
    given = arguments(kind, (2, 4, 257, 64, 64), torch.float16)

    def run():
        leaves = [x.detach().requires_grad_() for x in given]
        return with_gradients(operator(kind), leaves, torch.float16)

    expected = run()
    for _ in range(200):
        for a, e in zip(run(), expected, strict=True):
            assert torch.equal(a, e)


@needs_gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_delta_rules_state_is_never_loaded_early(dtype):
    q, k, v, beta, gates, start = arguments("delta", (2, 2, 257, 80, 33), dtype)
    found = []
    for stages in (1, 4):
        o, last = torch.empty_like(v), start.clone()
        launch = delta_launch(q, k, v, beta, gates, o, last, capability=capability(q))
        replace(launch, num_stages=stages).run()
        found.append((o, last))
    assert all(map(torch.equal, *found))
