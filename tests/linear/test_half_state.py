"""A state may be kept in half precision: it is converted, so the result is that of its numbers."""

import pytest
import torch

from attention_src.linear.layer import (
    delta_rule,
    gated_delta_rule,
    gated_linear_attention,
    linear_attention,
)
from attention_src.ssm.layer import selective_scan, ssd

Q, K, V = torch.randn(3, 1, 2, 5, 4, generator=torch.Generator().manual_seed(0))
ROW = torch.rand(1, 2, 5, generator=torch.Generator().manual_seed(1))
B, C = torch.randn(2, 1, 5, 3, generator=torch.Generator().manual_seed(2))
X, DT = Q[:, 0], ROW[0, 0, None, :, None].expand(1, 5, 4)
CALLS = {
    "linear": (linear_attention, (Q, K, V)),
    "gated": (gated_linear_attention, (Q, K, V, -ROW[..., None])),
    "delta": (delta_rule, (Q, K, V, ROW)),
    "gated delta": (gated_delta_rule, (Q, K, V, ROW, -ROW)),
    "scan": (selective_scan, (X, DT, -torch.ones(4, 3), B, C)),
    "ssd": (ssd, (Q, ROW, -torch.ones(2), B, C)),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("impl", ["torch", "triton"])
@pytest.mark.parametrize("name", CALLS)
def test_a_half_state_counts_as_its_numbers(name, impl, dtype):
    function, given = CALLS[name]
    _, state = function(*given, return_state=True)
    half = state.to(dtype).requires_grad_()
    o, last = function(*given, initial_state=half, return_state=True, impl=impl)
    wide = half.detach().float().requires_grad_()
    expected = function(*given, initial_state=wide, return_state=True, impl=impl)
    assert last.dtype == torch.float32
    torch.testing.assert_close((o, last), expected, rtol=0, atol=0)
    (gradient,) = torch.autograd.grad(o.sum(), half)
    assert gradient.dtype == dtype
    (wanted,) = torch.autograd.grad(expected[0].sum(), wide)
    torch.testing.assert_close(gradient, wanted.to(dtype), rtol=0, atol=0)


@pytest.mark.parametrize("name", CALLS)
def test_a_wider_state_is_refused(name, untyped):
    function, given = CALLS[name]
    _, state = function(*given, return_state=True)
    with pytest.raises(ValueError, match=r"initial_state is torch.float64; .*would be rounded"):
        function(*given, initial_state=state.double())
