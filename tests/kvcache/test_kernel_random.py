"""Hypothesis on the decode operators: ragged lengths, groups, widths, pages, strides and splits."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_support import DEVICE, DTYPES

from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged
from attention_src.testing import assert_sharp, assert_within_budget
from kvcache.decoding import NO_PAGES, SCALE, exact, past_end, plain, quantize, random_problem

WIDTHS = st.one_of(st.sampled_from((1, 2, 8, 16, 33)), st.integers(1, 40))


def heads_first(x):
    """[B, n, H, d] in memory, as from a projection."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def wider_rows(x):
    """Part of a tensor with wider rows and one more head, with wrong numbers elsewhere."""
    wrong = torch.nan if x.dtype.is_floating_point else 77
    big = x.new_full((x.shape[0], x.shape[1] + 1, x.shape[2], x.shape[3] + 2), wrong)
    big[:, 1:, :, 2:] = x
    return big[:, 1:, :, 2:]


def width_first(x):
    """[B, H, d, n] in memory."""
    return x.mT.contiguous().mT


def shared_heads(x):
    """One head in memory, for all heads."""
    return x[:, :1].expand(x.shape)


def every_second(x):
    """Every second row of a longer tensor."""
    return torch.stack([x, x], dim=3).reshape(*x.shape[:2], -1, x.shape[3])[:, :, ::2]


# The int8 kernel reads pairs of values that are neighbours in memory.
PAIR_STRIDES = (torch.clone, heads_first, wider_rows, shared_heads, every_second)
STRIDES = (*PAIR_STRIDES, width_first)


@st.composite
def problems(draw, widths_v=WIDTHS):
    """q, k, v, lengths, n_splits; with few programs, because each takes the interpreter 10 ms."""
    few = (1, 1, 1), (1, 1, 2), (2, 1, 1), (1, 2, 1), (1, 1, 3), (2, 1, 2)
    batch, n_kv_heads, n_splits = draw(st.one_of(st.sampled_from(few[:2]), st.sampled_from(few)))
    group = draw(st.sampled_from((1, 2, 3) if n_splits > 1 else (1, 2, 3, 5, 17)))
    n = draw(st.one_of(st.integers(0, 40), st.sampled_from((31, 32, 33, 64, 65))))
    lengths = [draw(st.one_of(st.just(n), st.integers(0, n))) for _ in range(batch)]
    dtype, seed = draw(st.sampled_from(DTYPES)), draw(st.integers(0, 2**32 - 1))
    d_k, d_v = draw(WIDTHS), draw(widths_v)
    heads = n_kv_heads * group, n_kv_heads
    q, k, v, lengths = random_problem(batch, *heads, n, d_k, d_v, lengths, dtype, seed=seed)
    return draw(st.sampled_from(STRIDES))(q), k, v, lengths, n_splits


def check(o, q, k, v, lengths):
    """Both tolerance gates against dense k and v of any dtype."""
    assert o.dtype == q.dtype and o.is_contiguous()
    right = exact(q, k, v, lengths)
    if q.dtype == torch.float32:
        assert_sharp(o, right)
    else:
        assert_within_budget(o, right, plain(q, k.to(q.dtype), v.to(q.dtype), lengths))


@pytest.mark.slow
@given(problems(), st.sampled_from(STRIDES), st.sampled_from(STRIDES))
def test_contiguous(problem, strides_k, strides_v):
    q, k, v, lengths, n_splits = problem
    hidden = past_end(lengths, k.shape[2])
    k = strides_k(k.masked_fill(hidden, torch.nan))
    v = strides_v(v.masked_fill(hidden, torch.nan))
    check(decode_contiguous(q, k, v, lengths, SCALE, n_splits), q, k, v, lengths)


@pytest.mark.slow
@given(
    problems(),
    st.sampled_from((1, 2, 3, 7, 8, 16, 32, 64)),
    st.integers(1, 8),
    st.sampled_from(STRIDES),
    st.sampled_from(STRIDES),
    st.integers(0, 2**32 - 1),
)
def test_paged(problem, page_size, n_pages, strides_k, strides_v, seed):
    """Pages in any order, shared by sequences, even repeated within one."""
    q, k, v, lengths, n_splits = problem
    batch, n_kv_heads, n, _ = k.shape
    rng = np.random.default_rng(seed)
    max_pages = -(-n // page_size) + rng.integers(2)
    table = torch.from_numpy(rng.integers(n_pages, size=(batch, max_pages))).to(DEVICE)

    def pool(d):
        x = rng.standard_normal((n_pages, n_kv_heads, page_size, d))
        return torch.from_numpy(x).to(DEVICE, q.dtype)

    k_pages, v_pages = strides_k(pool(k.shape[3])), strides_v(pool(v.shape[3]))
    used = torch.arange(max_pages, device=DEVICE) * page_size < lengths[:, None]
    visible = torch.zeros(n_pages, page_size, dtype=torch.bool, device=DEVICE)
    for b, length in enumerate(lengths.tolist()):
        j = torch.arange(length, device=DEVICE)
        visible[table[b, j // page_size], j % page_size] = True
    hidden = ~visible[:, None, :, None]
    k_unread = strides_k(k_pages.masked_fill(hidden, torch.nan))
    v_unread = strides_v(v_pages.masked_fill(hidden, torch.nan))
    no_page = NO_PAGES[seed % 2]
    o = decode_paged(
        q, k_unread, v_unread, table.masked_fill(~used, no_page).int(), lengths, SCALE, n_splits
    )

    def dense(pages):
        in_order = pages[table].transpose(1, 2)
        return in_order.reshape(batch, n_kv_heads, max_pages * page_size, -1)[:, :, :n]

    if max_pages:
        check(o, q, dense(k_pages), dense(v_pages), lengths)
    else:
        assert (o == 0).all()


@pytest.mark.slow
@given(
    problems(widths_v=st.integers(1, 20).map(lambda half: 2 * half)),
    st.sampled_from(STRIDES),
    st.sampled_from(PAIR_STRIDES),
    st.booleans(),
)
def test_int8(problem, strides_k, strides_v, extreme):
    q, k, v, lengths, n_splits = problem
    (k, k_scale), (v, v_scale) = quantize(k), quantize(v)
    if extreme:  # −128, which `quantize` does not use, and scales of either sign
        k[..., 0], v[..., 0] = -128, -128
        v_scale = v_scale * torch.linspace(-1e3, 1, v_scale.shape[2], device=DEVICE)
    k, v = strides_k(k), strides_v(v)
    hidden = past_end(lengths, k.shape[2])[..., 0]
    k_unread, v_unread = (x.masked_fill(hidden, torch.nan) for x in (k_scale, v_scale))
    o = decode_int8(q, k, k_unread, v, v_unread, lengths, SCALE, n_splits)
    k, v = (x.double() * s.double()[..., None] for x, s in ((k, k_scale), (v, v_scale)))
    check(o, q, k, v, lengths)
