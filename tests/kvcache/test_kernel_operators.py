"""The decode operators in torch: gradients, fakes, compilation, 64-bit offsets, bad input."""

import math

import pytest
import torch
from kernel_support import BACKEND, huge_tensor, needs_interpreter

from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged
from attention_src.kvcache.kernel.checks import check_contiguous, check_int8, check_paged
from kvcache.decoding import (
    OPERATORS,
    SCALE,
    quantize,
    random_problem,
    to_pages,
)


def arguments(name, dtype=torch.float32):
    """An operator and its arguments, for a small problem."""
    q, k, v, lengths = random_problem(2, 4, 2, 9, 4, 6, (9, 3), dtype)
    if name == "contiguous":
        return decode_contiguous, [q, k, v, lengths, SCALE]
    if name == "paged":
        return decode_paged, [q, *to_pages(k, v, lengths, 4), lengths, SCALE]
    return decode_int8, [q, *quantize(k), *quantize(v), lengths, SCALE]


names = pytest.mark.parametrize("name", OPERATORS)


@pytest.mark.slow
@names
def test_opcheck(name):
    torch.library.opcheck(*arguments(name))


@names
def test_compiles_whole(name):
    operator, values = arguments(name)

    def step(*values):
        return operator(*values) * 2

    # No code is generated for the operator, so a backend without code generation tests as much.
    compiled = torch.compile(step, fullgraph=True, backend=BACKEND)
    torch.testing.assert_close(compiled(*values), step(*values))


@names
def test_a_derivative_is_refused(name):
    operator, values = arguments(name)
    o = operator(values[0].requires_grad_(), *values[1:])
    with pytest.raises(RuntimeError, match=r'"triton", whose kernels have no deriv.*be "dense"'):
        o.sum().backward()


def far_apart(folder, x, axis):
    """x with one stride so large that the tensor spans more than 2**31 elements."""
    strides = [0] * x.ndim
    rest = [a for a in range(x.ndim) if a != axis]
    size = 1
    for a in reversed(rest):
        strides[a], size = size, size * x.shape[a]
    strides[axis] = 2 * (2**31 // (x.shape[axis] - 1) // 2 + size)
    huge = huge_tensor(folder, x.shape, strides, x.dtype)
    huge.copy_(x)
    return huge


@pytest.mark.slow
@names
def test_offsets_of_64_bits(name, tmp_path):
    q, k, v, lengths = random_problem(2, 2, 1, 35, 16, 32, (35, 34), torch.float16)
    if name == "paged":
        operator, values, far = decode_paged, list(to_pages(k, v, lengths, 8)), {0: 0, 1: 0}
    elif name == "int8":
        operator, values, far = decode_int8, [*quantize(k), *quantize(v)], {0: 2, 2: 2}
    else:
        operator, values, far = decode_contiguous, [k, v], {0: 2, 1: 2}
    near = operator(q, *values, lengths, SCALE)
    for at, axis in far.items():
        values[at] = far_apart(tmp_path, values[at], axis)
    assert torch.equal(operator(q, *values, lengths, SCALE), near)


def swap(values, at, change):
    return [change(x) if i == at else x for i, x in enumerate(values)]


BAD = [
    ("contiguous", 0, lambda q: q[:, :, 0], r"q has shape \[2, 4, 4\].*\[B, H, n, d\]"),
    ("contiguous", 0, lambda q: q.expand(-1, -1, 2, -1), r"one query: \[B, H, 1, d_k\]"),
    ("contiguous", 0, lambda q: q.double(), "k is torch.float32 on .* but q is torch.float64"),
    ("contiguous", 1, lambda k: k.half(), "k is torch.float16 on .* but q is torch.float32"),
    ("contiguous", 2, lambda v: v.expand(-1, -1, -1, 6).repeat(1, 1, 1, 50), "d_v is 300; .*256"),
    ("contiguous", 3, lambda n: n.long(), "lengths is torch.int64 .* should be torch.int32"),
    ("contiguous", 3, lambda n: n[:1], r"lengths has shape \[1\]; it should be \[B\] = \[2\]"),
    ("contiguous", 4, lambda scale: math.nan, "scale is nan; it should be a finite number"),
    ("paged", 0, lambda q: q[..., :3], "the keys have d_k=4 but q has d_k=3"),
    ("paged", 0, lambda q: q[:, :3], "H_kv=2 heads, which does not divide the H=3"),
    ("paged", 1, lambda k: k[0], r"k_pages has shape .*\[n_pages, H_kv, page_size, d_k\]"),
    (
        "paged",
        2,
        lambda v: v[:, :, :3],
        r"v_pages has shape .*\[n_pages, H_kv, page_size, d_v\] = ",
    ),
    ("paged", 2, lambda v: v[0], r"v_pages has shape .*\[n_pages, H_kv, page_size, d_v\]"),
    ("paged", 3, lambda t: t.long(), "block_table is torch.int64"),
    ("paged", 3, lambda t: t[0], r"block_table has shape .*\[B, max_pages\]"),
    ("paged", 3, lambda t: t[:1], r"block_table has shape \[1, .*\] = \[2, "),
    ("paged", 4, lambda n: n.float(), "lengths is torch.float32"),
    ("int8", 0, lambda q: q.double(), "q has dtype torch.float64"),
    ("int8", 1, lambda k: k.float(), "k is torch.float32 .* should be torch.int8"),
    ("int8", 2, lambda s: s.half(), "k_scale is torch.float16 .* should be torch.float32"),
    ("int8", 4, lambda s: s[..., None], r"v_scale has shape .*\[B, H_kv, N\] = \[2, 2, 9\]"),
    ("int8", 3, lambda v: v[..., :5], "v has shape .* in pairs.*d_v is odd"),
    ("int8", 3, lambda v: v.mT.contiguous().mT, "v has shape .* in pairs"),
    ("int8", 3, lambda v: v.expand(2, 2, 9, 6).repeat(1, 1, 1, 2)[..., 1:7], "offset 1; .* pairs"),
]


@names
def test_bad_input(name):
    operator, values = arguments(name)
    for which, at, change, message in BAD:
        if which == name:
            with pytest.raises(ValueError, match=f"(?s){message}"):
                operator(*swap(values, at, change))
    for n_splits in (0, -1, 129):
        with pytest.raises(ValueError, match=f"n_splits is {n_splits}; .* (1 to 128|at least 1)"):
            operator(*values, n_splits)


def test_bad_pages():
    operator, values = arguments("paged")
    with pytest.raises(ValueError, match="page_size=0"):
        operator(values[0], values[1][:, :, :0], values[2][:, :, :0], *values[3:])
    # As a view, a table of 2**29 entries takes no memory.
    values[3] = values[3][:, :1].expand(-1, 2**29)
    with pytest.raises(ValueError, match=rf"holds {2**31} keys a sequence; .* {2**30}"):
        operator(*values)


CHECKS = {"contiguous": check_contiguous, "paged": check_paged, "int8": check_int8}


@names
def test_other_devices_are_refused(name):
    # Call the checks: on the meta device, torch runs the fake instead of the operator.
    _, values = arguments(name)
    tensors = [x for x in values if isinstance(x, torch.Tensor)]
    with pytest.raises(ValueError, match="q is on meta, but kernels run"):
        CHECKS[name](*(x.to("meta") for x in tensors))
    for at in range(1, len(tensors)):
        with pytest.raises(ValueError, match=r"is torch\.\w+ on meta"):
            CHECKS[name](*swap(tensors, at, lambda x: x.to("meta")))


@needs_interpreter
@names
def test_bfloat16_is_refused_in_the_interpreter(name):
    with pytest.raises(ValueError, match=r"torch\.bfloat16, which Triton's interpreter"):
        operator, values = arguments(name, torch.bfloat16)
        operator(*values)


@pytest.mark.parametrize("empty", ["B", "d_v"])
def test_nothing_to_do(empty):
    q, k, v, lengths = random_problem(2, 2, 1, 5, 4, 6, (5, 5), torch.float32)
    if empty == "B":
        q, k, v, lengths = q[:0], k[:0], v[:0], lengths[:0]
    else:
        v = v[..., :0]
    assert decode_contiguous(q, k, v, lengths, SCALE).shape == (q.shape[0], 2, 1, v.shape[3])
