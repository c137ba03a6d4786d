"""What SmolLM2 computes besides attention: norms, projections and the feed-forward part."""

import functools
import platform
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from attention_src.models.smollm2.int4 import PackedMatrix


def rms_norm(
    x: Float[Tensor, "*rows d"], weight: Float[Tensor, "d"], epsilon: float
) -> Float[Tensor, "*rows d"]:
    """Divide each row by its root mean square, computed in float32, and weight it.

        y = weight * x / sqrt(mean(x²) + epsilon)

    Args:
        x: [..., d]
        weight: [d]
        epsilon: keeps a row of zeros finite
    Returns: [..., d] in x's dtype
    Source: Zhang & Sennrich 2019, arXiv:1910.07467, Eq. 4.
    """
    d = x.shape[-1]
    if x.numel() != d or x.dtype != torch.float32 or not x.is_cpu or torch.is_grad_enabled():
        return F.rms_norm(x, (d,), weight, epsilon)
    row = x.view(d)  # one row: twice as fast as torch's function, which takes ten small steps
    return (x * weight).mul_((float(row.dot(row)) / d + epsilon) ** -0.5)


def project(
    x: Float[Tensor, "*rows d_in"], w: Float[Tensor, "d_in d_out"] | PackedMatrix
) -> Float[Tensor, "*rows d_out"]:
    """Compute x @ w, with gradients; in float32 on a CPU, in the fastest way.

    One row uses each weight once, so the time is the time to read the weights. torch's
    matrix–vector product reaches a fraction of the bandwidth of two cores; two half sums, one per
    core, come near it. For several rows torch uses MKL, which is the fastest on Intel's processors;
    on others oneDNN's product, which torch uses for other dtypes and for convolutions, beats it.
    `benchmarks/smollm2.py` compares.

    Args:
        x: [..., d_in]
        w: [d_in, d_out], of x's dtype, or packed; or float32 where a packed one made x
    Returns: [..., d_out]; of a packed matrix in bfloat16, and without gradients
    """
    if isinstance(w, PackedMatrix):
        return w.multiply(x)
    if x.dtype == torch.bfloat16 and w.dtype == torch.float32:
        x = x.float()  # a packed matrix made it
    d_in, d_out = w.shape
    if x.device.type != "cpu" or w.dtype != torch.float32:
        return x @ w
    if x.numel() == d_in and d_in % 2 == 0:
        halves = torch.bmm(x.reshape(2, 1, d_in // 2), w.view(2, d_in // 2, d_out))  # [2, 1, d_out]
        return halves.sum(0).view(*x.shape[:-1], d_out)
    # oneDNN's operator has no gradient.
    learns = torch.is_grad_enabled() and (x.requires_grad or w.requires_grad)
    if torch.backends.mkldnn.is_available() and not learns and not made_by_intel():
        return torch.ops.mkldnn._linear_pointwise(x, w.T, None, "none", [], "")
    return x @ w


@functools.cache
def made_by_intel() -> bool:
    """Whether the processor says that Intel made it.

    Returns: False where the system does not say
    """
    linux = Path("/proc/cpuinfo")
    return "GenuineIntel" in (linux.read_text() if linux.exists() else platform.processor())


def feed_forward(
    x: Float[Tensor, "*rows d_model"],
    gate_up: Float[Tensor, "d_model two_d_ffn"] | PackedMatrix,
    down: Float[Tensor, "d_ffn d_model"] | PackedMatrix,
) -> Float[Tensor, "*rows d_model"]:
    """The feed-forward part, SwiGLU, on each token by itself.

        y = (silu(x W_gate) * (x W_up)) W_down,  silu(a) = a / (1 + exp(-a))

    Args:
        x: [..., d_model]
        gate_up: [d_model, 2 d_ffn]  W_gate and W_up side by side
        down: [d_ffn, d_model]  W_down
    Returns: [..., d_model]
    Source: Shazeer 2020, arXiv:2002.05202, Eq. 6.
    """
    gate, up = project(x, gate_up).chunk(2, dim=-1)
    return project(F.silu(gate) * up, down)
