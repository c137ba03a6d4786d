"""The fused kernel against the reference: gates, strides, offsets, registration, refusals."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_support import BACKEND, DEVICE, DTYPES, huge_tensor, needs_gpu, needs_interpreter

from attention_src.rope.kernel import rope_backward, rope_forward, rope_launch
from attention_src.rope.layer import cos_sin, rotate_qk
from attention_src.rope.scaling import Frequencies, YaRN
from attention_src.testing import assert_sharp, assert_within_budget
from attention_src.triton_support.launch import capability

from .cases import NAMES, exact, plain, results, tensors

PAIRINGS = pytest.mark.parametrize("interleaved", [False, True])
# B, H, H_kv, n, d: distinct primes; one token, none; no keys; no batch; grouped heads; one token
# less and one more than whole blocks (of 4 tokens interpreted and 16 on a chip, for 33 to 64
# pairs); widths that are not a power of two.
SIZES = [
    (2, 3, 5, 7, 22),
    (1, 5, 1, 17, 80),
    (3, 5, 2, 1, 2),
    (2, 3, 1, 0, 4),
    (2, 2, 0, 5, 6),
    (0, 2, 2, 5, 6),
    (1, 2, 1, 15, 128),
    (1, 1, 2, 3, 576),
]


def check(q, k, dq_out, dk_out, positions, *, interleaved, scaling=None):
    """All three gates that apply: forward and both gradients against the reference."""
    options = dict(interleaved=interleaved, scaling=scaling)
    inputs = q, k, dq_out, dk_out
    cos, sin = cos_sin(positions.to(DEVICE), q.shape[-1], scaling=scaling)
    actual = results(lambda q, k: rope_forward(q, k, cos, sin, interleaved), *inputs)
    right = exact(*inputs, positions.cpu(), **options)
    for name, a, e, p in zip(
        NAMES, actual, right, plain(*inputs, cos, sin, interleaved), strict=True
    ):
        assert a.dtype == q.dtype and a.device == q.device and a.is_contiguous()
        assert_within_budget(a, e, p, name=name)
        if q.dtype == torch.float32:
            assert_sharp(a, e, rtol=1e-6, name=name)


@PAIRINGS
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(poisoned, size, dtype, interleaved):
    # The two ways to give positions, one with each pairing; every combination is drawn below.
    B, _, _, n, d = size
    positions, scaling = 131072 - torch.arange(n), None
    if interleaved:
        positions = torch.from_numpy(np.random.default_rng(n).random((B, n)) * 1e5)
        scaling = YaRN(4.0, 64) if d > 2 else None
    inputs = tensors(*size, dtype, DEVICE)
    check(*inputs, positions, interleaved=interleaved, scaling=scaling)


@PAIRINGS
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_probe(poisoned, dtype, interleaved):
    # With unit vectors the result is the rotation matrix, which is exactly 0 outside the pairs.
    d, m = 22, 5.0
    unit = torch.eye(d, dtype=dtype, device=DEVICE)[None, None]
    q, k = rotate_qk(unit, unit, np.full(d, m), interleaved=interleaved, impl="triton")
    i = np.arange(d)
    partner = i ^ 1 if interleaved else (i + d // 2) % d
    for x in (q, k):
        nonzero = x[0, 0].float().cpu().numpy() != 0
        expected = np.eye(d, dtype=bool)
        expected[i, partner] = True
        assert np.array_equal(nonzero, expected)


@st.composite
def strided(draw, shape, dtype, seed):
    """A random tensor: axes in any order in memory, steps, an offset, expanded axes."""
    order = draw(st.permutations(range(4)))
    steps = draw(st.tuples(*4 * [st.integers(1, 3)]))
    repeated = [draw(st.integers(0, 5)) == 0 for _ in shape]
    kept = [1 if again else n for n, again in zip(shape, repeated, strict=True)]
    stored = [kept[axis] * steps[axis] for axis in order]
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(stored, generator=generator).to(dtype).to(DEVICE)
    x = x.permute(*np.argsort(order).tolist())
    x = x[tuple(slice(step - 1, None, step) for step in steps)]
    return x.expand(shape)


@st.composite
def rotations(draw):
    """Inputs of `check`."""
    B, H, H_kv = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(0, 3))
    n, d = draw(st.integers(0, 11)), 2 * draw(st.integers(1, 20))
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(st.integers(0, 9))
    shapes = 2 * [(B, H, n, d), (B, H_kv, n, d)]
    inputs = [draw(strided(shape, dtype, seed + i)) for i, shape in enumerate(shapes)]
    rng = np.random.default_rng(seed)
    far = draw(st.sampled_from([9, 1e6]))
    positions = far * rng.random((B, n) if draw(st.booleans()) else (n,))
    given = Frequencies(rng.random(d // 2), attention_factor=1.5)
    scaling = draw(st.sampled_from([None, YaRN(8.0, 4096), given]))
    options = dict(interleaved=draw(st.booleans()), scaling=scaling)
    return inputs, torch.from_numpy(positions), options


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(rotations())
def test_any_shape_and_strides(rotation):
    inputs, positions, options = rotation
    check(*inputs, positions, **options)


# Only along d do offsets depend on the pairing.
@pytest.mark.parametrize(
    ("axis", "interleaved"), [(0, False), (1, True), (2, False), (3, False), (3, True)]
)
def test_offsets_beyond_32_bits(tmp_path, axis, interleaved):
    # A stride below 2**31, so that only its product with an index is beyond.
    shape, strides, dtype = [1, 1, 2, 4], [8, 8, 4, 1], torch.float16
    shape[axis] = max(3, shape[axis])
    strides[axis] = 2**31 // (shape[axis] - 1) + 64
    B, H, n, d = shape
    q, k, _, _ = tensors(B, H, 1, n, d, dtype, DEVICE)
    far, far_out = (huge_tensor(tmp_path, shape, strides, dtype) for _ in range(2))
    far.copy_(q)
    cos, sin = cos_sin(torch.arange(n, device=DEVICE), d)
    expected, _ = rope_forward(q, k, cos, sin, interleaved)
    launch = dict(interleaved=interleaved, capability=capability(q))
    rope_launch(far, k, far_out, torch.empty_like(k), cos, sin, **launch).run()
    assert torch.equal(far_out, expected)
    # The same as k, whose offsets are computed elsewhere.
    far_out.zero_()
    rope_launch(k, far, torch.empty_like(k), far_out, cos, sin, **launch).run()
    assert torch.equal(far_out, expected)


def test_tables_beyond_32_bits(tmp_path):
    q, k, _, _ = tensors(3, 2, 1, 3, 4, torch.float32, DEVICE)
    cos, sin = cos_sin(torch.arange(9, device=DEVICE).reshape(3, 3), 4)
    far = huge_tensor(tmp_path, (3, 6, 2), (2**30 + 64, 2, 1), torch.float32)
    far_cos, far_sin = far[:, :3].copy_(cos), far[:, 3:].copy_(sin)
    outs = torch.empty_like(q), torch.empty_like(k)
    options = dict(interleaved=False, capability=capability(q))
    rope_launch(q, k, *outs, far_cos, far_sin, **options).run()
    for actual, expected in zip(outs, rope_forward(q, k, cos, sin, False), strict=True):
        assert torch.equal(actual, expected)


def test_tables_in_any_layout():
    q, k, _, _ = tensors(2, 3, 1, 5, 6, torch.float32, DEVICE)
    cos, sin = cos_sin(torch.arange(5, device=DEVICE), 6)
    expected = rope_forward(q, k, cos, sin, False)
    transposed = cos.mT.contiguous().mT, sin.mT.contiguous().mT
    for tables in (transposed, (cos.expand(2, 5, 3), sin.expand(2, 5, 3))):
        assert not tables[0].is_contiguous()
        for actual, right in zip(rope_forward(q, k, *tables, False), expected, strict=True):
            assert torch.equal(actual, right)


def test_opcheck():
    q, k, dq_out, dk_out = tensors(1, 2, 1, 3, 6, DTYPES[0], DEVICE)
    tables = cos_sin(torch.rand(1, 3, device=DEVICE), 6)
    arguments = (q.mT.contiguous().mT.requires_grad_(), k.requires_grad_(), *tables)
    torch.library.opcheck(rope_forward, (*arguments, True))
    tables = cos_sin(torch.arange(3, device=DEVICE), 6)
    torch.library.opcheck(rope_backward, (dq_out.mT.contiguous().mT, dk_out, *tables, False))


def test_gradients_of_gradients():
    # The gradient of the gradient by dq_out and dk_out is the rotation again.
    q, k, dq_out, dk_out = tensors(1, 2, 1, 5, 6, torch.float32, DEVICE)
    leaves = [x.requires_grad_() for x in (q, k, dq_out, dk_out)]
    cos, sin = cos_sin(torch.arange(5, device=DEVICE), 6)
    rotated = rope_forward(q, k, cos, sin, True)
    gradients = torch.autograd.grad(rotated, leaves[:2], leaves[2:], create_graph=True)
    again = torch.autograd.grad(gradients, leaves[2:], [q.detach(), k.detach()])
    for a, b in zip(again, rotated, strict=True):
        torch.testing.assert_close(a, b.detach())


def test_the_gradient_by_q_alone():
    q, k, dq_out, _ = tensors(1, 2, 1, 5, 6, torch.float32, DEVICE)
    cos, sin = cos_sin(torch.arange(5, device=DEVICE), 6)
    q.requires_grad_()
    rotated, _ = rope_forward(q, k, cos, sin, False)
    (dq,) = torch.autograd.grad(rotated, q, dq_out)
    expected, _ = rope_backward(dq_out, torch.zeros_like(k), cos, sin, False)
    assert torch.equal(dq, expected)


def test_compiled(untyped):
    inputs = tensors(1, 3, 1, 5, 6, torch.float32, DEVICE)
    positions, scaling = torch.arange(5, device=DEVICE), YaRN(4.0, 64)

    def f(q, k):
        q, k = rotate_qk(2 * q, k, positions, scaling=scaling, impl="triton")
        return q + 1, k

    # Interpreted, the graph is traced but not compiled: C++ code around it takes long to build.
    compiled = results(torch.compile(f, fullgraph=True, backend=BACKEND), *inputs)
    for a, b in zip(compiled, results(f, *inputs), strict=True):
        torch.testing.assert_close(a, b)


@PAIRINGS
def test_impl(interleaved):
    q, k, _, _ = tensors(1, 3, 1, 5, 6, torch.float32, DEVICE)
    by = {
        impl: rotate_qk(q, k, range(5), interleaved=interleaved, impl=impl)
        for impl in ("auto", "torch", "triton")
    }
    for x, y, chosen in zip(by["torch"], by["triton"], by["auto"], strict=True):
        torch.testing.assert_close(x, y)
        assert torch.equal(chosen, y if DEVICE == "cuda" else x)
    with pytest.raises(ValueError, match=r"q has dtype torch\.float64.*Choose another impl"):
        rotate_qk(q.double(), k.double(), range(5), impl="triton")
    assert rotate_qk(q.double(), k.double(), range(5))[0].dtype == torch.float64


Q, K = torch.zeros(2, 3, 5, 4, device=DEVICE), torch.zeros(2, 1, 5, 4, device=DEVICE)
COS = torch.zeros(5, 2, device=DEVICE)


@pytest.mark.parametrize(
    ("q", "k", "cos", "sin", "message"),
    [
        (Q.double(), K.double(), COS, COS, r"q has dtype torch\.float64; kernels take float16"),
        (Q, K.half(), COS, COS, r"k is torch\.float16 on .* but q is torch\.float32"),
        (Q[..., :3], K[..., :3], COS, COS, r"d is 3; it should be even"),
        (Q[0], K, COS, COS, r"q has shape \[3, 5, 4\]; it should be \[B, H, n, d\]"),
        (Q, K[:1], COS, COS, r"k has B=1 but q has B=2"),
        (Q, K[:, :, :4], COS, COS, r"k has n=4 but q has n=5"),
        (Q, K, COS[:4], COS, r"cos has shape \[4, 2\]"),
        (Q, K, COS, COS.expand(2, 5, 2), r"sin has shape \[2, 5, 2\] but cos has shape"),
        (Q, K, COS.expand(3, 5, 2), COS, r"cos has shape \[3, 5, 2\]"),
        (Q, K, COS.double(), COS, r"cos is torch\.float64 on .*; it should be torch\.float32"),
    ],
)
def test_refusals(untyped, q, k, cos, sin, message):
    with pytest.raises(ValueError, match=message):
        rope_forward(q, k, cos, sin, False)
    with pytest.raises(ValueError, match=message):
        rope_backward(q, k, cos, sin, True)


@needs_interpreter
def test_bfloat16_is_refused_where_it_would_be_wrong():
    with pytest.raises(ValueError, match=r"q has dtype torch\.bfloat16, which Triton's interp"):
        rotate_qk(Q.bfloat16(), K.bfloat16(), range(5), impl="triton")


@needs_gpu
def test_other_devices_are_refused():
    with pytest.raises(ValueError, match=r"q is on cpu, but kernels run on cuda"):
        rope_forward(Q.cpu(), K.cpu(), COS.cpu(), COS.cpu(), False)
    with pytest.raises(ValueError, match=r"sin is torch\.float32 on cpu; it should be"):
        rope_forward(Q, K, COS, COS.cpu(), False)


@needs_gpu
@PAIRINGS
def test_the_same_every_time(interleaved):
    q, k, dq_out, dk_out = tensors(2, 16, 4, 1021, 128, torch.bfloat16, DEVICE)
    cos, sin = cos_sin(torch.arange(1021, device=DEVICE), 128)
    first = rope_forward(q, k, cos, sin, interleaved)
    back = rope_backward(dq_out, dk_out, cos, sin, interleaved)
    for _ in range(200):
        again = rope_forward(q, k, cos, sin, interleaved)
        back_again = rope_backward(dq_out, dk_out, cos, sin, interleaved)
        for a, b in zip((*first, *back), (*again, *back_again), strict=True):
            assert torch.equal(a, b)
