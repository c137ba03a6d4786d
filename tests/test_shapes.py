"""What the checks accept, what they refuse, and that each message names the argument."""

import numpy as np
import pytest
import torch

from attention_src import shapes


def of(*shape):
    return np.ones(shape)


@pytest.mark.parametrize("make", [of, torch.ones])
def test_what_fits_passes(make):
    shapes.check_qkv(make(5, 4), make(7, 4), make(7, 3))
    shapes.check_qkv(make(2, 3, 0, 4), make(2, 3, 0, 4))
    shapes.check_leading(make(2, 3, 5, 4), make(1, 7, 4), make(3, 7, 2))
    shapes.check_heads(make(2, 6, 5, 4), make(2, 3, 7, 4), make(2, 3, 7, 2))
    shapes.check_mask(make(1, 7) > 0, (2, 3, 5, 7))
    shapes.check_mask(make(2, 1, 5, 1) > 0, (2, 3, 5, 7))


def test_values_that_come_back():
    assert shapes.check_groups(6, 2) == 3
    assert shapes.check_scale(None, 16) == 0.25
    assert shapes.check_scale(np.float32(0.5), 16) == 0.5
    assert shapes.check_size(np.int64(3), "n") == 3
    assert shapes.shape(of(2, 3)) == "[2, 3]"


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_integers_become_float64(dtype):
    x, answer = shapes.as_float64(np.ones(2, dtype=dtype), "x")
    assert x.dtype == answer == np.float64


def test_real_array_keeps_wide_numbers_and_copies_nothing():
    x = np.ones(3)
    assert shapes.as_float64(x, "x")[0] is x
    assert shapes.as_float64(np.ones(3, np.longdouble), "x")[0].dtype == np.longdouble


BAD = [
    (lambda: shapes.check_qkv(of(5), of(7, 4)), r"q has shape \[5\].*\[..., n_q, d_k\]"),
    (lambda: shapes.check_qkv(of(5, 4), of(4, 7)), "k has d_k=7 but q has d_k=4.*transposed"),
    (lambda: shapes.check_qkv(of(5, 4), of(7, 4), of(5, 4)), "v has n_k=5 but k has n_k=7"),
    (lambda: shapes.check_leading(of(2, 5, 4), of(3, 7, 4)), "q and k have leading axes"),
    (lambda: shapes.check_heads(of(5, 4), of(7, 4), of(7, 4)), r"four axes \[B, H, n, d\]"),
    (lambda: shapes.check_groups(4, 3), "does not divide the H=4"),
    (lambda: shapes.check_groups(4, 0), "H_kv=0"),
    (lambda: shapes.check_mask(0 * of(5, 7), (5, 7)), "mask has dtype float64.*mask == 0"),
    (lambda: shapes.check_mask(of(5, 7) / 2, (5, 7)), "mask has dtype float64.*that is a bias"),
    (lambda: shapes.check_mask(of(5, 7) > 0, (5, 2, 5, 7)), r"B = n_q = 5.*mask\[:, None, None\]"),
    (lambda: shapes.check_mask(of(5, 7) > 0, (5, 5)), r"mask has shape \[5, 7\]"),
    (lambda: shapes.check_mask(of(9, 5, 7) > 0, (5, 7)), "does not broadcast"),
    (lambda: shapes.check_boolean(np.ones(2, int), "m"), "m has dtype int64.*m == 1.*m == 0"),
    (lambda: shapes.check_boolean(np.eye(3), "m"), "m has dtype float64.*m == 1.*m == 0"),
    (lambda: shapes.check_scale("half", 4), "scale is 'half'"),
    (lambda: shapes.check_scale(np.inf, 4), "scale is inf"),
    (lambda: shapes.check_size(1.5, "n_q"), "n_q is 1.5; it should be a whole number"),
    (lambda: shapes.check_size(None, "n_q"), "n_q is None"),
    (lambda: shapes.check_size(True, "n_q"), "n_q is True"),
    (lambda: shapes.check_size(0, "n_q", at_least=1), "n_q is 0; it should be at least 1"),
    (lambda: shapes.check_impl("fast", ("auto", "dense")), "impl is 'fast'.*'auto', 'dense'"),
    (lambda: shapes.as_float64([None], "k"), "k has dtype object"),
    (lambda: shapes.as_float64(torch.ones(2), "k"), r"k is a torch tensor.*k.detach\(\)"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_does_not_fit_is_named(untyped, call, message):
    with pytest.raises(ValueError, match=message):
        call()
