"""Packed rows and padded batches: there and back, against slices of the row."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_src.packing import Packing, check_cu_seqlens


def cumulated(lengths, dtype=torch.int32):
    return torch.tensor([0, *lengths]).cumsum(0).to(dtype)


@given(
    lengths=st.lists(st.integers(0, 5), max_size=4),
    front=st.booleans(),
    dtype=st.sampled_from([torch.int32, torch.int64]),
)
def test_each_sequence_is_a_row_of_the_batch(lengths, front, dtype):
    n, longest = sum(lengths), max(lengths, default=0)
    x = torch.arange(1.0, 1 + 10 * n).reshape(1, 2, n, 5).requires_grad_()
    packing = Packing(cumulated(lengths, dtype), n, front=front)
    assert packing.lengths.tolist() == lengths
    padded = packing.pad(x)
    assert padded.shape == (len(lengths), 2, longest, 5)
    for row, part in zip(padded, x[0].split(lengths, dim=1), strict=True):
        length = part.shape[1]
        start = longest - length if front else 0
        assert torch.equal(row.narrow(1, start, length), part)
    assert (padded != 0).sum() == x.numel()  # the rest is zero
    back = packing.unpad(padded.masked_fill(padded == 0, torch.nan))  # padding is dropped
    assert torch.equal(back, x)
    (gradient,) = torch.autograd.grad((packing.unpad(padded) * x.detach()).sum(), x)
    assert torch.equal(gradient, x)


@pytest.mark.parametrize(
    ("cu_seqlens", "message"),
    [
        ([0, 7], "cu_seqlens is a list; it should be a torch tensor"),
        (torch.tensor([0.0, 7.0]), "has dtype torch.float32; it should be torch.int32"),
        (torch.tensor([False, True]), "has dtype torch.bool"),
        (torch.tensor([[0, 7]]), r"has shape \[1, 2\]; it should be \[n_sequences \+ 1\]"),
        (torch.tensor([], dtype=torch.int64), r"has shape \[0\]"),
        (torch.tensor([1, 7]), "goes from 1 to 7; it should go from 0 to n = 7"),
        (torch.tensor([0, 3]), "goes from 0 to 3"),
        (torch.tensor([0, 5, 4, 7]), "falls from 5 to 4; it should never fall"),
    ],
)
def test_refusals(untyped, cu_seqlens, message):
    with pytest.raises(ValueError, match=message):
        check_cu_seqlens(cu_seqlens, 7)
    with pytest.raises(ValueError, match="cu_seqlens_k"):
        Packing(cu_seqlens, 7, front=True, name="cu_seqlens_k")
