"""Packed rows against each sequence alone in NumPy, and a document mask on the whole row."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_support import DEVICE

from attention_src.attention import reference
from attention_src.attention.bias import Alibi, alibi_slopes
from attention_src.attention.layer import attention
from attention_src.attention.masks import document_mask
from attention_src.flash.layer_packed import packed_attention
from attention_src.testing import assert_sharp
from flash.oracle import arguments, assert_close, exact, visible_mask

IMPLS = ("dense", "sdpa", "tiled")
DTYPES = (torch.float32, torch.float64)
RULES = [
    dict(),
    dict(causal=True, scale=0.3),
    dict(window=2),
    dict(window=3, sinks=2),
    dict(window=2, lookahead=3, scale=-0.4),
]
LENGTHS = st.lists(st.integers(0, 9), max_size=4)


def cumulated(lengths, dtype=torch.int32):
    return torch.tensor([0, *lengths]).cumsum(0).to(dtype)


def one_by_one(inputs, lengths, lengths_k, **rule):
    """o, dq, dk, dv and their sizes: the oracle on slices of the row."""
    q, k, v, do = inputs
    of_queries = (x.split(lengths, dim=2) for x in (q, do))
    of_keys = (x.split(lengths_k, dim=2) for x in (k, v))
    pieces = zip(*of_queries, *of_keys, strict=True)
    done = [exact(q, k, v, do, torch.zeros_like(do[..., 0]), **rule) for q, do, k, v in pieces]
    right, sizes = (zip(*part, strict=True) for part in zip(*done, strict=True))
    joined = [[np.concatenate(x, axis=2) for x in part] for part in (right, sizes)]
    return [[o, *gradients] for o, _lse, *gradients in joined]


def check(inputs, lengths, lengths_k, impl, **rule):
    starts = cumulated(lengths), cumulated(lengths_k, torch.int64)
    *leaves, do = (x.to(DEVICE) for x in inputs)
    leaves = [x.requires_grad_() for x in leaves]
    o = packed_attention(*leaves, *starts, impl=impl, **rule)
    actual = [o.detach(), *torch.autograd.grad(o, leaves, do)]
    right, sizes = one_by_one([x.detach() for x in inputs], lengths, lengths_k, **rule)
    assert_close(actual, right, sizes, units=16, context=impl)
    assert o.dtype == inputs[0].dtype


@given(
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4),
    rule=st.sampled_from(RULES),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 99),
)
def test_each_sequence_is_as_if_alone(pairs, rule, dtype, seed):
    lengths, lengths_k = ([int(n) for n in column] for column in zip(*pairs, strict=True))
    size = (sum(lengths), sum(lengths_k), 3, 2, 4, 2)
    inputs = arguments(size, dtype, batch=1, seed=seed)[:4]
    for impl in IMPLS:
        check(inputs, lengths, lengths_k, impl, **rule)


@pytest.mark.parametrize("rule", RULES[1::2], ids=str)
def test_by_the_kernel(poisoned, rule):
    # More queries than keys, fewer, no keys, no queries, one of each; several blocks.
    lengths, lengths_k = [7, 17, 3, 0, 1], [5, 37, 0, 4, 1]
    inputs = arguments((28, 47, 16, 16, 2, 1), torch.float32, batch=1)[:4]
    check(inputs, lengths, lengths_k, "triton", **rule)


def changes(dtype):
    """What else changes scores, for 4 heads, and the leaves among it."""
    sink_logits = torch.linspace(-1, 1, 4, dtype=dtype).requires_grad_()
    return [
        (dict(), []),
        (dict(bias=Alibi(alibi_slopes(4))), []),
        (dict(softcap=0.7), []),
        (dict(bias=Alibi(alibi_slopes(4)), sink_logits=sink_logits, scale=0.6), [sink_logits]),
    ]


@pytest.mark.slow
@settings(max_examples=25)
@given(
    lengths=LENGTHS,
    rule=st.sampled_from([dict(), dict(causal=True), dict(window=2), dict(window=2, lookahead=1)]),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 99),
)
def test_equals_a_document_mask_on_the_row(lengths, rule, dtype, seed):
    n = sum(lengths)
    ids = np.repeat(np.arange(len(lengths)), lengths)
    mask = document_mask(ids)[None, None] & visible_mask(n, n, **rule)
    q, k, v, do, _ = arguments((n, n, 3, 5, 4, 2), dtype, batch=1, seed=seed)
    close = dict(rtol=1e-9, atol=1e-9) if dtype == torch.float64 else dict(rtol=1e-4, atol=1e-4)
    for changed, leaves in changes(dtype):
        leaves = [x.requires_grad_() for x in (q, k, v)] + leaves

        def with_gradients(o, leaves=leaves):
            return o, *torch.autograd.grad(o, leaves, do)

        right = with_gradients(attention(q, k, v, impl="dense", mask=mask, **changed))
        for impl in IMPLS:
            if impl == "sdpa" and {"softcap", "sink_logits"} & set(changed):
                continue
            options = dict(impl=impl, **rule, **changed)
            found = packed_attention(q, k, v, cumulated(lengths), **options)
            for a, e in zip(with_gradients(found), right, strict=True):
                torch.testing.assert_close(a, e, **close)


def test_distances_of_alibi_end_at_each_sequences_last_key():
    lengths, lengths_k, alibi = [2, 1], [5, 3], Alibi(alibi_slopes(3))
    q, k, v, *_ = arguments((3, 8, 4, 5, 3, 3), batch=1)
    pieces = zip(q.split(lengths, 2), k.split(lengths_k, 2), v.split(lengths_k, 2), strict=True)
    alone = [reference.attention(*(x.numpy() for x in qkv), bias=alibi) for qkv in pieces]
    for impl in IMPLS:
        starts = cumulated(lengths), cumulated(lengths_k)
        o = packed_attention(q, k, v, *starts, bias=alibi, impl=impl)
        assert_sharp(o, np.concatenate(alone, axis=2))


@pytest.mark.parametrize("impl", IMPLS)
def test_nan_stays_in_its_sequence(impl):
    q, k, v, *_ = arguments((9, 9, 3, 2, 2, 1), batch=1)
    k[:, :, 5] = torch.nan
    leaves = [x.requires_grad_() for x in (q, k, v)]
    o = packed_attention(*leaves, cumulated([4, 3, 2]), causal=True, impl=impl)
    others = [0, 1, 2, 3, 7, 8]
    assert o[:, :, others].isfinite().all() and o[:, :, 5:7].isnan().all()
    for gradient in torch.autograd.grad(o.sum(), leaves):
        assert gradient[:, :, others].isfinite().all()


@pytest.mark.parametrize("impl", (*IMPLS, "triton"))
@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_nothing_to_do(impl, lengths):
    q, k, v, *_ = arguments((0, 0, 16, 16, 2, 1), torch.float32, batch=1)
    leaves = [x.to(DEVICE).requires_grad_() for x in (q, k, v)]
    o = packed_attention(*leaves, cumulated(lengths), causal=True, impl=impl)
    assert o.shape == (1, 2, 0, 16)
    assert all(g.shape[2] == 0 for g in torch.autograd.grad(o.sum(), leaves))


Q, K, V = torch.ones(1, 6, 5, 4), torch.ones(1, 3, 7, 4), torch.ones(1, 3, 7, 8)
STARTS, STARTS_K = torch.tensor([0, 2, 5]), torch.tensor([0, 7, 7])
BAD = [
    (dict(q=Q.expand(2, -1, -1, -1)), "k has B=1 but q has B=2"),
    (dict(q=Q[:0], k=K[:0], v=V[:0]), "q, k and v have B=0; with cu_seqlens they should have B=1"),
    (dict(q=Q[0]), r"q has shape \[6, 5, 4\].*four axes"),
    (dict(k=K.double()), "k is torch.float64"),
    (dict(cu_seqlens=STARTS[:2]), "cu_seqlens goes from 0 to 2; it should go from 0 to n = 5"),
    (dict(cu_seqlens=[0, 2, 5]), "cu_seqlens is a list; it should be a torch tensor"),
    (dict(cu_seqlens=torch.tensor([0, 6, 5])), "cu_seqlens falls from 6 to 5"),
    (dict(cu_seqlens_k=STARTS), "cu_seqlens_k goes from 0 to 5; it should go from 0 to n = 7"),
    (dict(cu_seqlens_k=STARTS_K[:2]), "cu_seqlens_k has n_sequences=1 but cu_seqlens has n_seq"),
    (dict(cu_seqlens_k=None), "cu_seqlens_k is None, but q has 5 positions and k has 7"),
    (dict(bias=torch.zeros(6, 5, 7)), "bias is a Tensor; for packed rows it should be an Alibi"),
    (dict(bias=Alibi(alibi_slopes(3))), r"bias has slopes \[3\] but q has H=6 heads"),
    (dict(sink_logits=torch.ones(5)), r"sink_logits has shape \[5\]; it should be \[H\] = \[6\]"),
    (dict(sinks=1), "sinks is 1 but window is None"),
    (dict(impl="varlen"), "impl is 'varlen'; it should be one of 'auto'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(untyped, arguments, message):
    given = dict(q=Q, k=K, v=V, cu_seqlens=STARTS, cu_seqlens_k=STARTS_K) | arguments
    with pytest.raises(ValueError, match=message):
        packed_attention(**given)
