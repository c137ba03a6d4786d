"""What the tests of the layer and of the kernel share: the exact result, and a plain one."""

import numpy as np
import torch

from attention_src.rope import reference

NAMES = ("q", "k", "dq", "dk")


def exact(q, k, dq_out, dk_out, positions, **options):
    """q, k, dq, dk from the reference, in float64, for exactly these inputs."""
    positions = np.asarray(positions)
    if positions.ndim == 2:
        positions = positions[:, None]  # the same for all heads
    forward, backward = reference.rotate, reference.rotate_backward
    rotated = [forward(float64(x), positions, **options) for x in (q, k)]
    return rotated + [backward(float64(x), positions, **options) for x in (dq_out, dk_out)]


def plain(q, k, dq_out, dk_out, cos, sin, interleaved):
    """The same by the equation, in the inputs' own dtype, rounded after every step."""
    cos, sin = (x.to(q.dtype) if x.ndim == 2 else x.to(q.dtype)[:, None] for x in (cos, sin))

    def rotate(x, sin):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        d = x.shape[-1]
        first = slice(0, d, 2) if interleaved else slice(0, d // 2)
        second = slice(1, d, 2) if interleaved else slice(d // 2, d)
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., first] * sin + x[..., second] * cos
        return y

    return [rotate(q, sin), rotate(k, sin), rotate(dq_out, -sin), rotate(dk_out, -sin)]


def results(function, q, k, dq_out, dk_out):
    """q, k, dq, dk of a function of q and k, by autograd."""
    leaves = [x.detach().requires_grad_() for x in (q, k)]
    rotated = function(*leaves)
    gradients = torch.autograd.grad(rotated, leaves, [dq_out, dk_out])
    return [x.detach() for x in (*rotated, *gradients)]


def tensors(B, H, H_kv, n, d, dtype, device="cpu", seed=0):
    """Random q and k, and gradients by the rotated q and k."""
    generator = torch.Generator().manual_seed(seed)
    shapes = 2 * [(B, H, n, d), (B, H_kv, n, d)]
    return [torch.randn(s, generator=generator).to(dtype).to(device) for s in shapes]


def float64(x):
    return x.detach().double().cpu().numpy()
