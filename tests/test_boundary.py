"""NumPy arrays that torch does not take as they are mean what their copies mean."""

import numpy as np
import pytest
import torch

from attention_src.attention import layer
from attention_src.attention.bias import Alibi
from attention_src.attention.reference import attention
from attention_src.flash.layer import flash_attention
from attention_src.linear.layer import linear_attention
from attention_src.models.smollm2.checks import check_ids
from attention_src.models.smollm2.config import Config
from attention_src.multihead.layer import MultiHeadAttention
from attention_src.rope import layer as rope
from attention_src.rope import reference as rope_in_numpy
from attention_src.shapes import is_float
from attention_src.tensors import as_tensor

Q = torch.arange(24.0).reshape(1, 2, 3, 4).sin()
MASK = np.tri(3, dtype=bool)
BIAS = np.linspace(-1, 1, 9).reshape(3, 3)


def forms(x):
    """The same numbers, in ways that torch refuses or that are easily taken for others."""
    swapped = x.astype(x.dtype.newbyteorder())
    record = np.zeros(x.shape, [("a", np.int8), ("x", x.dtype)])
    record["x"] = x
    made = {
        "backwards": x[::-1].copy()[::-1],
        "both backwards": np.flip(np.flip(x).copy()),
        "another byte order": swapped,
        "both": swapped[::-1].copy()[::-1],
        "every other": np.repeat(x, 2, axis=-1)[..., ::2],
        "columns first": np.asfortranarray(x),
        "field of a record": record["x"],
        "a list of rows": [row[::-1].copy()[::-1] for row in x] if x.ndim > 1 else list(x),
    }
    if x.dtype.kind == "f":
        made["long"] = x.astype(np.longdouble)
    return made


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 3, 2), (0,), (1,)])
def test_every_form_is_its_copy(dtype, shape):
    x = (np.arange(np.prod(shape)).reshape(shape) % 5).astype(dtype)
    for name, form in forms(x).items():
        got = as_tensor(form, "x", "an array")
        if x.size:
            np.testing.assert_array_equal(got.numpy(), x, err_msg=name)
        if name != "long":
            assert got.dtype == torch.as_tensor(x).dtype or not x.size
        assert got.shape == x.shape or name == "a list of rows"


def test_what_holds_no_numbers_is_still_refused():
    for x in (np.array(["a"])[::-1], np.array([None, 1]), [np.ones(2), np.ones(3)], "a", object()):
        with pytest.raises(ValueError, match=r"x is .*; it should be an array"):
            as_tensor(x, "x", "an array")


@pytest.mark.parametrize("impl", ["dense", "sdpa"])
def test_masks_and_biases(impl):
    for form in forms(MASK).values():
        if isinstance(form, np.ndarray):
            got = layer.attention(Q, Q, Q, mask=form, impl=impl)
            assert torch.equal(got, layer.attention(Q, Q, Q, mask=MASK, impl=impl))
    for form in forms(BIAS).values():
        if isinstance(form, np.ndarray):
            got = layer.attention(Q, Q, Q, bias=form, impl=impl)
            assert torch.equal(got, layer.attention(Q, Q, Q, bias=BIAS, impl=impl))
            if form.dtype.itemsize <= 8:  # jaxtyping knows nothing wider
                right = attention(Q.numpy(), Q.numpy(), Q.numpy(), bias=form)
                np.testing.assert_allclose(got, right, atol=1e-6)


def test_lengths_slopes_and_biases_of_flash():
    q = Q.expand(2, -1, -1, -1)
    plain = flash_attention(q, q, q, key_lengths=[2, 3], impl="tiled")
    for form in forms(np.array([2, 3])).values():
        assert torch.equal(flash_attention(q, q, q, key_lengths=form, impl="tiled"), plain)
    plain = flash_attention(Q, Q, Q, bias=BIAS, impl="tiled")
    for form in (BIAS[::-1].copy()[::-1], BIAS.astype(">f8")):
        assert torch.equal(flash_attention(Q, Q, Q, bias=form, impl="tiled"), plain)
    slopes = np.array([0.5, 0.25])
    for form in (slopes[::-1].copy()[::-1], slopes.astype(">f8"), slopes.astype(">f4")):
        for f in (layer.attention, flash_attention):
            assert torch.equal(f(Q, Q, Q, bias=Alibi(form)), f(Q, Q, Q, bias=Alibi(slopes)))
    whole = layer.attention(Q, Q, Q, bias=Alibi(np.array([2, 1])))
    assert torch.equal(layer.attention(Q, Q, Q, bias=Alibi(np.array([2, 1], ">i4"))), whole)


def test_positions_and_decays():
    positions = np.array([4.0, 0.5, 7.0])
    plain = rope.rotate(Q, positions)
    for form in forms(positions).values():
        assert torch.equal(rope.rotate(Q, form), plain)
        assert torch.equal(rope.rotate_qk(Q, Q, form)[0], plain)
    whole = np.array([4, 0, 7], ">i8")
    assert torch.equal(rope.rotate(Q, whole), rope.rotate(Q, [4, 0, 7]))
    for rotate, x in ((rope.rotate, Q), (rope_in_numpy.rotate, Q.numpy())):
        with pytest.raises(ValueError, match="cannot tell 2048 from 2049"):
            rotate(x, positions.astype(">f2"))
    decay = np.array([0.5, 0.75])
    plain = linear_attention(Q, Q, Q, decay=decay)
    for form in forms(decay).values():
        assert torch.equal(linear_attention(Q, Q, Q, decay=form), plain)


def test_modules_and_ids():
    torch.manual_seed(0)
    x, attend = torch.randn(1, 3, 8), MultiHeadAttention(8, 2, rope=True)
    plain = attend(x, mask=MASK, positions=[4, 0, 7])
    for mask in (MASK[::-1].copy()[::-1], np.asfortranarray(MASK)):
        assert torch.equal(attend(x, mask=mask, positions=np.array([4, 0, 7], ">i4")), plain)
    config = Config(*[8] * 10)
    for form in forms(np.array([4, 0, 7])).values():
        assert check_ids(form, config, torch.device("cpu")).tolist() == [4, 0, 7]


def test_floats_in_another_byte_order_are_floats():
    assert all(is_float(np.dtype(kind)) for kind in (">f2", ">f4", ">f8", "<f4", "f8"))
    assert not any(is_float(np.dtype(kind)) for kind in (">i4", ">c8", "bool", "<U4"))
