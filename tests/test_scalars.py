"""Arguments of the wrong kind get a ValueError that names them; NumPy's numbers are numbers."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from attention_src import costs
from attention_src.attention import layer, maps, masks
from attention_src.attention import reference as attention
from attention_src.costs.roofline import Cost
from attention_src.figures import figure
from attention_src.kvcache import reference as kvcache
from attention_src.linear import layer as linear
from attention_src.multihead.reference import rms_norm
from attention_src.rope import layer as rope
from attention_src.rope.reference import rotate
from attention_src.shapes import check_number, is_number
from attention_src.softmax.reference import softmax
from attention_src.tensors import check_tensors

Q = torch.arange(24.0).reshape(1, 2, 3, 4) / 24
ARRAY = Q.numpy()
# What takes a number, and a number that it takes.
TAKES = {
    "temperature": (lambda x: softmax([1.0, 3.0], temperature=x), 0.5),
    "scale": (lambda x: layer.attention(Q, Q, Q, scale=x), 0.5),
    "scale in NumPy": (lambda x: attention.attention(ARRAY, ARRAY, ARRAY, scale=x), 0.5),
    "scale, linear": (lambda x: linear.linear_attention(Q, Q, Q, scale=x), 0.5),
    "softcap": (lambda x: layer.attention(Q, Q, Q, softcap=x), 0.5),
    "eps": (lambda x: rms_norm(np.ones((2, 3)), np.ones(3), eps=x), 0.5),
    "base": (lambda x: rotate(np.ones((2, 4)), [0, 1], base=x), 2.0),
    "dtype_bytes": (lambda x: costs.stored_bytes(3, x), 0.5),
    "flops": (lambda x: costs.arithmetic_intensity(x, 2.0), 0.5),
    "n_bytes": (lambda x: float(Cost(1, x).n_bytes), 0.5),
    "width": (lambda x: figure(x, 2.0)[0].get_figwidth(), 0.5),
}
WRONG = ["1", None, True, np.True_, float("nan"), 10**400, 1j, [0.5], np.array([0.5]), {}]


@pytest.mark.parametrize("name", TAKES)
def test_numbers_of_numpy_are_numbers(name, untyped):
    call, number = TAKES[name]
    right = call(number)
    for kind in (np.float64, np.float32, np.float16, Fraction):
        np.testing.assert_allclose(call(kind(number)), right, atol=0, rtol=1e-12)
    whole = {"base": 2}.get(name, 1)
    np.testing.assert_array_equal(call(np.int8(whole)), call(whole))


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda x: repr(x)[:12])
def test_other_things_are_named(name, wrong, untyped):
    if wrong is None and ("scale" in name or name == "softcap"):
        return  # their default
    with pytest.raises(ValueError, match=rf"^{name.split(',')[0].split(' in')[0]}( is|=)"):
        TAKES[name][0](wrong)


def test_checks_of_numbers():
    assert [is_number(x) for x in (1, 0.5, np.float16(2), np.uint8(3))] == [True] * 4
    assert not any(map(is_number, [*WRONG, float("inf"), np.float32("nan"), torch.tensor(1.0)]))
    assert check_number(np.float32(0.5), "x", above=0, below=1) == 0.5
    for bad in (0, 1, -1.0):
        with pytest.raises(ValueError, match=r"x is .*; it should be a finite number above 0"):
            check_number(bad, "x", above=0, below=1)


# Functions with a right call: each of the first arguments is then replaced.
CALLS = {
    "attention in NumPy": (attention.attention, (ARRAY, ARRAY, ARRAY), 3),
    "attention": (layer.attention, (Q, Q, Q), 3),
    "attention_lse": (layer.attention_lse, (Q, Q), 2),
    "linear_attention": (linear.linear_attention, (Q, Q, Q), 3),
    "rotate": (rope.rotate, (Q, [0, 1, 2]), 2),
    "apply_rotation": (rope.apply_rotation, (Q, Q, torch.ones(3, 2), torch.ones(3, 2)), 4),
    "decode": (kvcache.decode, (ARRAY[:, :, :1], ARRAY, ARRAY), 3),
    "dequantize": (kvcache.dequantize_asymmetric, (np.ones((2, 3), np.uint8), 1.0, 0.5), 3),
    "unpack_int4": (kvcache.unpack_int4, (np.ones((2, 2), np.uint8), 4), 2),
    "contributions": (maps.contributions, (np.ones((3, 3)), np.ones(3)), 2),
    "to_additive": (masks.to_additive, (np.ones((2, 2), bool), np.float32), 2),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [None, "x", {}, 3.5j], ids=repr)
def test_no_array_at_all(name, wrong, untyped):
    f, arguments, n = CALLS[name]
    f(*arguments)
    for i in range(n):
        with pytest.raises(ValueError, match=r"(is|has|have|holds) "):
            f(*arguments[:i], wrong, *arguments[i + 1 :])


def test_only_what_is_optional_may_be_none(untyped):
    check_tensors(optional=("z",), x=Q, z=None)
    with pytest.raises(ValueError, match="z is a NoneType; it should be a torch tensor"):
        check_tensors(x=Q, z=None)
