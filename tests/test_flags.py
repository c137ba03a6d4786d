"""What should be True or False is refused otherwise, where it is given: a text counts as true."""

import inspect

import numpy as np
import pytest
import torch

from attention_src.attention import layer as attention
from attention_src.attention import reference
from attention_src.flash import layer as flash
from attention_src.flash import reference as flash_reference
from attention_src.linear import layer as linear
from attention_src.linear import reference as linear_reference
from attention_src.linear import reference_delta, reference_gated
from attention_src.multihead import layer as multihead
from attention_src.multihead import reference as multihead_reference
from attention_src.multihead import reference_latent
from attention_src.ring import reference as ring
from attention_src.rope import layer as rope
from attention_src.rope import reference as rope_reference
from attention_src.ssm import layer as ssm
from attention_src.ssm import reference as ssm_reference
from attention_src.ssm.layer_mamba import MambaBlock

X = torch.ones(1, 2, 4, 8)
N = X.numpy()
ROW = torch.zeros(1, 2, 4)
SCAN = [torch.ones(1, 4, 2), torch.ones(1, 4, 2), -torch.ones(2, 3), *torch.ones(2, 1, 4, 3)]
SSD = [X, ROW, -torch.ones(2), *torch.ones(2, 1, 4, 3)]
MHA = multihead.MultiHeadAttention(8, 2)
MLA = multihead.MultiHeadLatentAttention(8, 2, d_latent=4)
TOKENS = torch.ones(1, 4, 8)
SQUARE = np.eye(8)
POSITIONS = np.arange(4)


def numpy_of(tensors):
    return [x.numpy() for x in tensors]


CALLS = [
    (reference.attention, (N, N, N)),
    (reference.attention_weights, (N, N)),
    (reference.attention_lse, (N, N)),
    (reference.attention_backward, (N, N, N, N)),
    (attention.attention, (X, X, X)),
    (attention.attention_scores, (X, X)),
    (attention.attention_weights, (X, X)),
    (attention.attention_lse, (X, X)),
    (flash_reference.flash_attention, (N, N, N)),
    (flash.flash_attention, (X, X, X)),
    (flash.flash_attention_with_lse, (X, X, X)),
    (multihead_reference.multihead_attention, (np.ones((4, 8)), *[SQUARE] * 4)),
    (multihead_reference.multihead_attention_by_head, (np.ones((4, 8)), *[SQUARE] * 4)),
    (
        reference_latent.latent_attention,
        (np.ones((4, 8)), SQUARE, SQUARE, np.ones((8, 0)), SQUARE, SQUARE, SQUARE),
    ),
    (MHA.forward, (TOKENS,)),
    (MLA.forward, (TOKENS,)),
    (multihead.MultiHeadAttention, (8,)),
    (multihead.MultiHeadLatentAttention, (8,)),
    (multihead.Rotary, ()),
    (linear.linear_attention, (X, X, X)),
    (linear.gated_linear_attention, (X, X, X, ROW[..., None])),
    (linear.delta_rule, (X, X, X, ROW)),
    (linear.gated_delta_rule, (X, X, X, ROW, ROW)),
    (linear_reference.linear_attention, (N, N, N)),
    (reference_gated.gated_linear_attention, (N, N, N, ROW[..., None].numpy())),
    (reference_delta.delta_rule, (N, N, N, ROW.numpy())),
    (reference_delta.gated_delta_rule, (N, N, N, ROW.numpy(), ROW.numpy())),
    (ssm.selective_scan, SCAN),
    (ssm.ssd, SSD),
    (ssm_reference.selective_scan, numpy_of(SCAN)),
    (ssm_reference.ssd, numpy_of(SSD)),
    (ring.ring_attention, (N, N, N)),
    (rope.rotate_qk, (X, X, POSITIONS)),
    (rope.rotate, (X, POSITIONS)),
    (rope.apply_rotation, (X, X, *rope.cos_sin(POSITIONS, 8))),
    (rope_reference.rotate, (N, POSITIONS)),
    (rope_reference.rotate_backward, (N, POSITIONS)),
]
NEEDED = dict(n_heads=2, d_latent=4, n_ranks=2)


def flags_of(function):
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if isinstance(p.default, bool) and p.name != "rope"]


pytestmark = pytest.mark.usefixtures("untyped")
CASES = [(f, given, flag) for f, given in CALLS for flag in flags_of(f)]


@pytest.mark.parametrize("value", ["false", 0, None, "rms"], ids=repr)
@pytest.mark.parametrize(
    ("function", "given", "flag"), CASES, ids=lambda x: getattr(x, "__qualname__", None)
)
def test_other_values_are_refused(function, given, flag, value):
    parameters = inspect.signature(function).parameters
    needed = {name: x for name, x in NEEDED.items() if name in parameters}
    needed = {name: x for name, x in needed.items() if parameters[name].default is not None}
    function(*given, **needed)  # all else is right
    function(*given, **needed, **{flag: np.bool_(parameters[flag].default)})
    with pytest.raises(ValueError, match=f"^{flag} is {value!r}; it should be True or False$"):
        function(*given, **needed, **{flag: value})


def test_every_function_has_a_flag_to_check():
    assert all(flags_of(function) for function, _ in CALLS)


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("base", "large", "base is 'large'; it should be a finite number above 1"),
        ("scaling", 2.0, "scaling"),
        ("impl", "dense", "impl is 'dense'; it should be one of"),
    ],
)
def test_a_rotary_is_checked_when_it_is_made(argument, value, says):
    with pytest.raises(ValueError, match=says):
        multihead.Rotary(**{argument: value})


def test_a_block_takes_no_form_that_it_cannot_compute():
    with pytest.raises(ValueError, match="form is 'chunk'; it should be one of 'recurrent'"):
        MambaBlock(8, form="chunk")
