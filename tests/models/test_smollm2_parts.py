"""The gradients of what SmolLM2 computes besides attention; needs no weights."""

import pytest
import torch

from attention_src.models.smollm2.operations import feed_forward, project, rms_norm


def leaves(rows, dtype, d=6, d_ffn=7):
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, rows, d), (d, 2 * d_ffn), (d_ffn, d))
    return [(torch.randn(s, generator=generator) / 2).to(dtype).requires_grad_() for s in shapes]


def plain_feed_forward(x, gate_up, down):
    gate, up = (x @ gate_up).tensor_split(2, dim=-1)
    return (gate / (1 + (-gate).exp()) * up) @ down


@pytest.mark.parametrize("rows", [1, 5])
def test_feed_forward_gradcheck(rows):
    assert torch.autograd.gradcheck(feed_forward, leaves(rows, torch.float64))


# float32 has ways of its own on a CPU: one for a single row, one for several.
@pytest.mark.parametrize("learns", [(True, True, True), (True, False, False), (False, True, False)])
@pytest.mark.parametrize("rows", [1, 5])
def test_feed_forward_gradients_in_float32(rows, learns):
    results = []
    for function, dtype in ((feed_forward, torch.float32), (plain_feed_forward, torch.float64)):
        inputs = leaves(rows, torch.float32)
        inputs = [
            x.detach().to(dtype).requires_grad_(l) for x, l in zip(inputs, learns, strict=True)
        ]
        y = function(*inputs)
        wanted = [x for x in inputs if x.requires_grad]
        results.append((y, *torch.autograd.grad(y.sin().sum(), wanted)))
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 5])
def test_feed_forward_changes_nothing_it_was_given(rows):
    inputs = leaves(rows, torch.float32)
    before = [x.detach().clone() for x in inputs]
    learning = feed_forward(*inputs)
    with torch.no_grad():
        torch.testing.assert_close(feed_forward(*inputs), learning, rtol=1e-5, atol=1e-6)
    assert all(torch.equal(x, b) for x, b in zip(inputs, before, strict=True))


def test_project_and_norm_gradients():
    x, w, _ = leaves(5, torch.float32)
    for function in (project, lambda x, w: rms_norm(x, w[:, 0], 1e-5)):
        gradients = torch.autograd.grad(function(x, w).sin().sum(), (x, w))
        wide = [t.detach().double().requires_grad_() for t in (x, w)]
        if function is project:
            y = wide[0] @ wide[1]
        else:
            y = wide[1][:, 0] * wide[0] / (wide[0].square().mean(-1, keepdim=True) + 1e-5).sqrt()
        expected = torch.autograd.grad(y.sin().sum(), wide)
        for a, e in zip(gradients, expected, strict=True):
            torch.testing.assert_close(a.double(), e, rtol=1e-5, atol=1e-5)
