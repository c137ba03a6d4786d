"""The three gates for the decode kernels, and that they read nothing they should not."""

import numpy as np
import pytest
import torch
from kernel_support import DEVICE, DTYPES, needs_gpu

from attention_src.kvcache.kernel import decode_contiguous, decode_int8, decode_paged
from attention_src.kvcache.kernel.launch import MAX_SPLITS, choose_splits
from attention_src.kvcache.kernel.merge import merge_launch
from attention_src.testing import assert_sharp, assert_within_budget, probe_mask
from kvcache.decoding import (
    OPERATORS,
    as_stored,
    contiguous,
    exact,
    paged,
    plain,
    quantize,
    random_problem,
    to_pages,
)

pytestmark = pytest.mark.usefixtures("poisoned")
names = pytest.mark.parametrize("name", OPERATORS)
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)

# B, H, H_kv, N, d_k, d_v, lengths, splits. Interpreted, a block has 32 keys.
SIZES = [
    (2, 6, 2, 37, 17, 22, (37, 5), 1),
    (1, 1, 1, 1, 16, 16, (1,), None),
    (2, 2, 1, 65, 64, 32, (65, 0), 2),
    (1, 17, 1, 33, 24, 40, (33,), 2),
    (1, 2, 2, 31, 3, 100, (29,), 3),  # more splits than blocks
    (1, 71, 1, 40, 16, 8, (39,), 1),  # two tiles of query heads
    (1, 36, 2, 35, 256, 256, (34,), 1),  # in float32, two tiles for each of two key/value heads
]


def check(name, problem, n_splits):
    """Both tolerance gates for one operator on one problem."""
    q, k, v, lengths = problem
    o = OPERATORS[name](*problem, n_splits=n_splits)
    assert o.dtype == q.dtype and o.shape == (*q.shape[:3], v.shape[3])
    k, v = as_stored(name, k), as_stored(name, v)
    right = exact(q, k, v, lengths)
    if q.dtype == torch.float32:
        assert_sharp(o, right)
    else:
        rounded = plain(q, k.to(q.dtype), v.to(q.dtype), lengths)
        assert_within_budget(o, right, rounded)


@names
@dtypes
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(name, dtype, size):
    *axes, n_splits = size
    check(name, random_problem(*axes, dtype), n_splits)


@names
def test_logits_of_1e4(name):
    q, k, v, lengths = random_problem(1, 4, 2, 41, 8, 4, (41,), torch.float32, size=2e4)
    assert (0.37 * q @ k.repeat_interleave(2, dim=1).mT).abs().max() > 1e4
    o = OPERATORS[name](q, k, v, lengths, n_splits=2)
    k, v = as_stored(name, k), as_stored(name, v)
    # One weight is nearly 1, so the errors of the scores, 1e-3, hardly matter: four roundings.
    assert_sharp(o, exact(q, k, v, lengths), rtol=2.5e-7)


def sequences(decode, lengths):
    """`decode` for probe_mask: each query becomes a sequence, with one of these lengths."""

    def attend(q, k, v):
        batch = q.shape[2]
        q, k, v = (x.to(DEVICE) for x in (q, k, v))
        k, v = (x.expand(batch, -1, -1, -1) for x in (k, v))
        o = decode(q.transpose(0, 2), k, v, torch.tensor(lengths, dtype=torch.int32, device=DEVICE))
        return o.transpose(0, 2)

    return attend


# Around the borders of blocks of 32 keys, and with them of splits; no key, one key.
BORDERS = (0, 1, 31, 32, 33, 64, 65)


@names
@pytest.mark.parametrize(("dtype", "n_splits"), [(torch.float16, 1), (torch.float32, 3)], ids=str)
def test_probe(name, dtype, n_splits):
    visible = np.arange(66) < np.array(BORDERS)[:, None]

    def decode(q, k, v, lengths):
        return OPERATORS[name](q, k, v, lengths, n_splits=n_splits)

    probe_mask(sequences(decode, BORDERS), visible, dtype=dtype)


@pytest.mark.parametrize("page_size", [1, 3, 32, 64])
def test_probe_of_page_borders(page_size):
    lengths = sorted({page_size - 1, page_size, page_size + 1, 65})
    visible = np.arange(66) < np.array(lengths)[:, None]

    def decode(q, k, v, lengths):
        return paged(q, k, v, lengths, n_splits=2, page_size=page_size)

    probe_mask(sequences(decode, lengths), visible, dtype=torch.float32)


@names
def test_a_sequence_without_keys_gives_zero(name):
    for n in (33, 0):
        problem = random_problem(2, 2, 1, n, 16, 16, (0, 0), torch.float32)
        for n_splits in (1, 2):
            assert (OPERATORS[name](*problem, n_splits=n_splits) == 0).all()


@names
@pytest.mark.parametrize("n_splits", [1, 2])
def test_an_impossible_length_gives_nan_there_only(name, n_splits):
    q, k, v, lengths = random_problem(3, 2, 1, 33, 16, 16, (33, -1, 90), torch.float32)
    possible = lengths.clamp(0, 33)
    o = OPERATORS[name](q, k, v, possible, n_splits=n_splits)
    if name == "paged":
        o_wrong = decode_paged(q, *to_pages(k, v, possible, 5), lengths, 0.37, n_splits)
    else:
        o_wrong = OPERATORS[name](q, k, v, lengths, n_splits=n_splits)
    assert o_wrong[1:].isnan().all() and torch.equal(o_wrong[0], o[0])


@pytest.mark.parametrize("page", [-1, 1 << 30])
def test_a_page_that_does_not_exist_gives_nan_there_only(page):
    q, k, v, lengths = random_problem(2, 2, 1, 40, 16, 16, (40, 40), torch.float32)
    k_pages, v_pages, table = to_pages(k, v, lengths, 8)
    k_pages, v_pages = (
        k_pages.nan_to_num(0.5),
        v_pages.nan_to_num(0.5),
    )  # so that NaN has one source
    o = decode_paged(q, k_pages, v_pages, table, lengths, 0.37, 2)
    table[1, 4] = page
    o_wrong = decode_paged(q, k_pages, v_pages, table, lengths, 0.37, 2)
    assert o_wrong[1].isnan().all() and torch.equal(o_wrong[0], o[0])


def lonely(x, axis):
    """x, of size 1 along an axis, with a stride there that would leave memory, and crash."""
    assert x.shape[axis] == 1
    strides = list(x.stride())
    strides[axis] = 2**44
    return x.as_strided(x.shape, strides)


def test_nothing_beyond_a_length_or_a_width_is_read():
    q, k, v, lengths = random_problem(1, 2, 1, 1, 16, 16, (1,), torch.float32)
    expected = v[:, :, :1].expand(q.shape)
    far_k, far_v = lonely(k, 2), lonely(v, 2)
    torch.testing.assert_close(decode_contiguous(q, far_k, far_v, lengths, 0.37), expected)
    table = lonely(torch.zeros(1, 1, dtype=torch.int32, device=DEVICE), 1)
    torch.testing.assert_close(decode_paged(q, far_k, far_v, table, lengths, 0.37), expected)
    narrow_k, narrow_v = lonely(k[..., :1], 3), lonely(v[..., :1], 3)
    o = decode_contiguous(q[..., :1], narrow_k, narrow_v, lengths, 0.37)
    torch.testing.assert_close(o, expected[..., :1])
    (k, k_scale), (v, v_scale) = quantize(k), quantize(v)
    codes = lonely(k, 2), lonely(k_scale, 2), lonely(v, 2), lonely(v_scale, 2)
    o = decode_int8(q, *codes, lengths, 0.37)
    torch.testing.assert_close(o, (v.float() * v_scale[..., None]).expand(q.shape))


@names
def test_nan_in_a_query_stays_in_its_row(name):
    q, k, v, lengths = random_problem(1, 4, 2, 40, 16, 16, (40,), torch.float32)
    q[0, 1, 0, 3] = torch.nan
    bad = OPERATORS[name](q, k, v, lengths, n_splits=2).isnan()[0, :, 0]
    assert bad[1].all() and not bad[[0, 2, 3]].any()


@names
def test_small_values_are_not_lost(name):
    # Their scales, 1e-6 and less, are where fp16 has few digits.
    q, k, v, lengths = random_problem(1, 2, 1, 70, 16, 16, (70,), torch.float16)
    v = (v * 1e-4).half()
    check(name, (q, k, v, lengths), 2)


@dtypes
@pytest.mark.parametrize("n_splits", [5, MAX_SPLITS])
def test_merge_is_the_formula(dtype, n_splits):
    rng = np.random.default_rng(n_splits)
    lse = rng.normal(scale=3, size=(2, 3, n_splits)).astype(np.float32)
    lse[0, 0] = -np.inf  # no split has a key
    lse[0, 1, : n_splits // 2] = -np.inf  # some have none
    o_splits = rng.normal(size=(2, 3, n_splits, 70)).astype(np.float32)
    o_splits[lse == -np.inf] = 0
    weights = np.exp(lse.astype(np.float64))
    total = weights.sum(axis=-1, keepdims=True)
    right = ((weights / np.where(total == 0, 1, total))[..., None] * o_splits).sum(axis=2)

    o = torch.empty(2, 3, 1, 70, dtype=dtype, device=DEVICE)
    log2_e = 1 / np.log(2)
    tensors = [
        torch.from_numpy(x).to(DEVICE) for x in (o_splits, (lse * log2_e).astype(np.float32))
    ]
    merge_launch(*tensors, o).run()
    tolerance = dict(rtol=1e-5, atol=1e-5) if dtype == torch.float32 else dict(rtol=0.01, atol=1e-3)
    np.testing.assert_allclose(o.float().cpu().numpy()[:, :, 0], right, **tolerance)


def test_splits_fill_the_chip_and_are_not_too_small():
    for n_programs in (0, 1, 8, 64, 512, 10_000):
        for capacity in (0, 1, 127, 4096, 16_384, 2**30):
            splits = choose_splits(n_programs, capacity, 132)
            assert 1 <= splits <= MAX_SPLITS
            assert splits == 1 or capacity / splits >= 128
            if splits * n_programs < 2 * 132 and splits < MAX_SPLITS:  # less than a wave
                assert splits == max(1, capacity // 128)
    # At the size of benchmarks/topics/kvcache.py a few waves, so that the last one hardly matters.
    assert choose_splits(64 * 8, 16_384, 132) == 3
    assert choose_splits(10_000, 16_384, 132) == 1


@needs_gpu
@names
@dtypes
@pytest.mark.parametrize("n_splits", [None, 1, 5])
def test_longer_on_a_gpu(name, dtype, n_splits):
    lengths = (1021, 0, 4099, 2048, 130)
    check(name, random_problem(5, 32, 8, 4099, 128, 128, lengths, dtype), n_splits)


@needs_gpu
@names
def test_no_race(name):
    problem = random_problem(4, 16, 4, 4099, 64, 64, (4099, 1, 2048, 777), torch.float16)
    first = OPERATORS[name](*problem, n_splits=6)
    for _ in range(200):
        assert torch.equal(OPERATORS[name](*problem, n_splits=6), first)


def test_the_default_number_of_splits_is_the_chips():
    problem = random_problem(1, 1, 1, 300, 16, 16, (300,), torch.float32)
    torch.testing.assert_close(decode_contiguous(*problem, 0.37), contiguous(*problem, n_splits=1))
