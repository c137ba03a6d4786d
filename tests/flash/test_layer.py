"""The layer: any shapes, strides and visibility; gradients; what is saved and computed."""

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_support import needs_interpreter
from torch.utils._python_dispatch import TorchDispatchMode

from attention_src.flash import layer_tiled as tiled
from attention_src.flash.layer import flash_attention, flash_attention_with_lse
from attention_src.testing import make_qkv
from flash.oracle import arguments, assert_close, exact, results

IMPLS = ("dense", "sdpa", "tiled")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
RULES = [
    dict(),
    dict(causal=True),
    dict(window=2, sinks=1),
    dict(key_lengths=[3]),
    dict(causal=True, key_lengths=[0]),
]


def small_tiles(block_q=16, block_k=8):
    return mock.patch.multiple(tiled, BLOCK_Q=block_q, BLOCK_K=block_k)


def with_strides(x, how):
    """The same numbers, laid out differently."""
    if how == "heads inside":  # as a projection leaves them: [B, n, H, d]
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if how == "every other":
        return torch.stack([x, x * torch.nan], dim=-1)[..., 0]
    if how == "columns":
        return x.mT.contiguous().mT
    if how == "expanded":  # one batch's numbers for all
        return x[:1].expand(x.shape)
    return x


@st.composite
def cases(draw):
    """Sizes, dtype, rule, tiles and layouts."""
    n_q, n_k = draw(st.integers(0, 23)), draw(st.integers(0, 23))
    batch, n_kv_heads, group = (draw(st.integers(1, 3)) for _ in range(3))
    heads = n_kv_heads * group
    size = (n_q, n_k, draw(st.integers(1, 9)), draw(st.integers(0, 9)), heads, n_kv_heads)
    window = draw(st.none() | st.integers(1, 25))
    lengths = st.lists(st.integers(0, n_k), min_size=batch, max_size=batch)
    rule = dict(
        causal=draw(st.booleans()),
        window=window,
        sinks=0 if window is None else draw(st.integers(0, 25)),
        key_lengths=draw(st.none() | lengths),
        scale=draw(st.sampled_from([None, 0.0, 1.0, -0.4])),
    )
    layouts = st.sampled_from(["plain", "heads inside", "every other", "columns", "expanded"])
    blocks = (draw(st.integers(3, 25)), draw(st.integers(3, 25)))
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(st.integers(0, 2**16))
    return size, batch, dtype, rule, [draw(layouts) for _ in range(4)], blocks, seed


@given(cases())
def test_every_impl_is_the_oracle(case):
    size, batch, dtype, rule, layouts, blocks, seed = case
    *tensors, dlse = arguments(size, dtype, batch=batch, seed=seed)
    tensors = [with_strides(x, how) for x, how in zip(tensors, layouts, strict=True)]
    right, sizes = exact(*tensors, dlse, **rule)
    for impl in IMPLS:
        with small_tiles(*blocks):
            actual = results(flash_attention_with_lse, *tensors, dlse, impl=impl, **rule)
        assert [x.dtype for x in actual] == [dtype, dlse.dtype, dtype, dtype, dtype]
        assert_close(actual, right, sizes, units=16, context=impl)
        alone = flash_attention(*tensors[:3], impl=impl, **rule)
        assert_close([alone], right[:1], sizes[:1], units=16, context=impl)


@pytest.mark.slow
@needs_interpreter
def test_the_kernel_is_reached_with_every_argument():
    *tensors, dlse = arguments((5, 19, 16, 24, 2, 1), torch.float32)
    tensors[0] = with_strides(tensors[0], "heads inside")
    for rule in (dict(causal=True, scale=0.3), dict(window=6, sinks=3, key_lengths=[19, 12])):
        right, sizes = exact(*tensors, dlse, **rule)
        actual = results(flash_attention_with_lse, *tensors, dlse, impl="triton", **rule)
        assert_close(actual, right, sizes, units=16, context="triton")
        alone = flash_attention(*tensors[:3], impl="triton", **rule)
        assert torch.equal(alone, actual[0])


@needs_interpreter
def test_the_kernel_refuses_what_it_cannot_take():
    for d, dtype, message in (
        (8, torch.float32, "d_k is 8"),
        (16, torch.float64, "dtype torch.float64.*another impl"),
        (16, torch.bfloat16, "dtype torch.bfloat16.*another impl"),
    ):
        with pytest.raises(ValueError, match=message):
            flash_attention(*make_qkv(5, d_k=d, dtype=dtype), impl="triton")


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_gradcheck(rule):
    inputs = make_qkv(3, 5, 2, 1, batch=1, n_heads=2, n_kv_heads=1, dtype=torch.float64)
    leaves = [x.requires_grad_() for x in inputs]

    def function(*leaves):
        o, lse = flash_attention_with_lse(*leaves, impl="tiled", **rule)
        return o, lse.masked_fill(lse == -torch.inf, 0)

    with small_tiles(2, 3):
        assert torch.autograd.gradcheck(function, leaves)


@pytest.mark.parametrize("impl", IMPLS)
def test_joining_partial_results_differentiates(impl):
    # As in ring attention: two parts of the keys, joined by lse, and the gradient of the whole.
    q, k, v, do, dlse = arguments((9, 14, 4, 3, 4, 2))

    def joined(q, k, v):
        halves = [slice(0, 8), slice(8, 14)]
        parts = [flash_attention_with_lse(q, k[:, :, j], v[:, :, j], impl=impl) for j in halves]
        lse = torch.logaddexp(parts[0][1], parts[1][1])
        return sum(o * torch.exp(part - lse)[..., None] for o, part in parts), lse

    actual = results(joined, q, k, v, do, dlse)
    assert_close(actual, *exact(q, k, v, do, dlse), units=16)


@pytest.mark.parametrize("impl", IMPLS)
def test_fully_masked_rows_ignore_their_gradients(impl):
    # Joining two empty parts gives NaN as the gradient of lse = −inf.
    inputs = arguments((5, 3, 4, 2, 2, 1))
    o, lse, *gradients = results(flash_attention_with_lse, *inputs, causal=True, impl=impl)
    assert (o[..., :2, :] == 0).all() and (lse[..., :2] == -torch.inf).all()
    assert (gradients[0][..., :2, :] == 0).all()
    poisoned = inputs[4].clone()
    poisoned[..., :2] = torch.nan
    again = results(flash_attention_with_lse, *inputs[:4], poisoned, causal=True, impl=impl)
    for a, b in zip(again[2:], gradients, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("empty", ["n_k", "n_q", "B", "d_v"])
def test_nothing_to_do(poisoned, impl, empty):
    size = dict(n_q=5, n_k=7, d_k=3, d_v=2, batch=2) | {dict(B="batch").get(empty, empty): 0}
    q, k, v = (x.requires_grad_() for x in make_qkv(**size, dtype=torch.float32))
    for rule in (dict(), dict(window=2), dict(key_lengths=[0] * size["batch"])):
        o, lse = flash_attention_with_lse(q, k, v, impl=impl, **rule)
        assert o.shape == (size["batch"], 3, size["n_q"], size["d_v"]) and (o == 0).all()
        assert lse.shape == o.shape[:3]
        for gradient in torch.autograd.grad(o.sum(), (q, k, v)):
            assert (gradient == 0).all()


class Largest(TorchDispatchMode):
    """The size of the largest storage behind any operation's result."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            if isinstance(x, torch.Tensor):
                self.numel = max(self.numel, x.untyped_storage().nbytes() // x.itemsize)
        return out


def test_no_matrix_of_scores_and_no_copy_of_keys():
    n, heads, d = 1024, 8, 16
    q, k, v = make_qkv(n, d_k=d, batch=1, n_heads=heads, n_kv_heads=1, dtype=torch.float32)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    saved = []
    with small_tiles(64, 64), Largest() as largest:
        with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
            o = flash_attention(*leaves, causal=True, impl="tiled")
        o.sum().backward()
    # q, k, v, o, lse.
    assert sum(x.numel() for x in saved) == n * (heads * (2 * d + 1) + 2 * d)
    assert largest.numel == q.numel(), "dq and o are the largest, not a matrix of scores"
    # A tile of all heads' scores is much smaller than that.
    assert heads * 64 * 64 < q.numel() / 2
    first = q[:, :, :64].detach().clone()
    with small_tiles(64, 64), Largest() as of_keys:
        flash_attention(first, k, v, impl="tiled")
    assert of_keys.numel == heads * 64 * 64, "keys and values are cut into tiles, never repeated"


@needs_interpreter
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("impl", ["tiled", "triton", "reference"])
def test_an_infinite_score_has_an_infinite_lse(impl):
    from attention_src.flash import reference

    q, k, v = (x.abs() for x in make_qkv(20, n_heads=1, d_k=16, d_v=16, dtype=torch.float32))
    k[0, 0, 3, 0] = torch.inf  # seen by rows 3 to 19 of one sequence

    def results(impl):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        if impl == "reference":
            arrays = [x.numpy() for x in (q, k, v)]
            o, lse = reference.flash_attention(*arrays, causal=True, block_q=8, block_k=2)
            do = np.ones_like(o)
            grads = reference.flash_attention_backward(*arrays, o, lse, do, causal=True, block_k=2)
            return [torch.from_numpy(x).float() for x in (o, lse, *grads)]
        with small_tiles(8, 2):
            o, lse = flash_attention_with_lse(*leaves, causal=True, impl=impl)
            return [o, lse, *torch.autograd.grad(o.sum(), leaves)]

    found = results(impl)
    assert (found[1][0, 0, 3:] == torch.inf).all() and found[1].isinf().sum() == 17
    assert found[0].isnan().sum() == 17 * 16
    for a, e in zip(found, results("dense"), strict=True):
        torch.testing.assert_close(a, e, equal_nan=True, rtol=1e-4, atol=1e-4)


def test_hidden_tiles_are_not_computed():
    inputs = make_qkv(64, batch=1, n_heads=1, dtype=torch.float64)
    counts = {}
    for name, rule in dict(full={}, causal=dict(causal=True), window=dict(window=4)).items():
        with (
            small_tiles(8, 8),
            mock.patch.object(tiled, "tile_scores", wraps=tiled.tile_scores) as scores,
        ):
            flash_attention(*inputs, impl="tiled", **rule)
        counts[name] = scores.call_count
    assert counts == dict(full=8 * 8, causal=8 * 9 // 2, window=8 + 7)


def test_gradients_are_not_differentiable_again():
    q, k, v = (x.requires_grad_() for x in make_qkv(5, dtype=torch.float64))
    o = flash_attention(q, k, v, impl="tiled")
    (dq,) = torch.autograd.grad(o.square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="has first derivatives only"):
        dq.sum().backward()


@needs_interpreter
@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled", "triton"])
def test_lengths_may_have_any_whole_dtype(impl, untyped):
    q, k, v = make_qkv(3, 5, d_k=16, d_v=16, dtype=torch.float32)
    right = flash_attention(q, k, v, key_lengths=[5, 2], impl=impl)
    kinds = (torch.uint16, torch.uint32, torch.uint64, torch.int8)
    for dtype in kinds:
        lengths = torch.tensor([5, 2], dtype=dtype)
        for x in (lengths, lengths.numpy())[: 1 if impl == "triton" else 2]:
            assert torch.equal(flash_attention(q, k, v, key_lengths=x, impl=impl), right)
        with pytest.raises(ValueError, match=r"key_lengths is \[5, 6\]; each should be between"):
            flash_attention(q, k, v, key_lengths=torch.tensor([5, 6]).to(dtype), impl=impl)


def test_the_length_check_is_a_proper_operator():
    for dtype in (torch.int64, torch.int32):  # int32 is copied too: no output aliases an input
        lengths = torch.tensor([3, 0, 7], dtype=dtype)
        torch.library.opcheck(torch.ops.attention_src.flash_lengths, (lengths, 7))
