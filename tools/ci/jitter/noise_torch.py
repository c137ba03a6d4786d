"""Noise as between processors, in what torch computes: below autograd, so backward passes have it.

A product of 16-bit numbers is summed in float32 and rounded once, as matrix units do.
"""

from __future__ import annotations

from typing import Any

from tools.ci.jitter import noise

# What each operator multiplies with; addmm is mm and a sum.
PRODUCTS = dict(mm="mm", bmm="bmm", mv="mv", dot="dot", addmm="mm", addmv="mv", baddbmm="bmm")
_ROUNDED = """exp exp2 expm1 log log2 log1p sin cos tanh erf sigmoid silu gelu softplus elu std var
    var_mean norm linalg_vector_norm _softmax _log_softmax log_sigmoid_forward nll_loss_forward
    native_layer_norm _fused_rms_norm _linalg_svd _linalg_eigh linalg_lstsq
    _scaled_dot_product_flash_attention_for_cpu"""
ROUNDED = set(_ROUNDED.split())  # and all *_backward*


def enter(torch: Any) -> None:
    """Change what this thread computes with torch from now on."""
    mode(torch).__enter__()


def mode(torch: Any) -> Any:
    """A mode of torch in which each operator is `noisy`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    # Not in a class statement: there torch would look whether to compile it, and import triton.
    kind: Any = type("Noise", (TorchDispatchMode,), {})
    kind.__torch_dispatch__ = lambda self, f, types, arguments=(), options=None: noisy(
        torch, f, arguments, options or {}
    )
    return kind()


def noisy(torch: Any, f: Any, arguments: Any, options: dict[str, Any]) -> Any:
    """What operator f gives on the imaginary processor."""
    if noise.quiet():
        return f(*arguments, **options)
    name = f.name().removeprefix("aten::").partition(".")[0]
    tensors = [x for x in arguments if isinstance(x, torch.Tensor)]
    if name in PRODUCTS and not options and all(x.is_cpu for x in tensors):
        return _product(torch, PRODUCTS[name], *arguments)
    if (
        name in ("sum", "mean")
        and not options
        and arguments[0].ndim
        and _is_rounded(torch, arguments[0])
    ):
        return _sum(torch, *arguments, mean=name == "mean")
    y = f(*arguments, **options)
    if name.rstrip("_") in ROUNDED or "_backward" in name:
        for x in y if isinstance(y, (tuple, list)) else [y]:
            if _is_rounded(torch, x):
                integers = torch.int32 if x.dtype == torch.float32 else torch.int64
                noise.shake(x.detach().view(integers), x.itemsize)
    return y


def _is_rounded(torch: Any, x: Any) -> bool:
    """Whether this is a float32 or float64 of torch, on the CPU."""
    return isinstance(x, torch.Tensor) and x.is_cpu and x.dtype in (torch.float32, torch.float64)


def _product(torch: Any, name: str, *arguments: Any) -> Any:
    """A product of the last two arguments, plus the first if there are three."""
    dtype = arguments[0].dtype
    short = dtype in (torch.float16, torch.bfloat16)
    *first, a, b = (x.float() for x in arguments) if short else arguments
    y = noise.product(getattr(torch, name), a, b)
    return sum(first, y).to(dtype)


def _sum(torch: Any, x: Any, axes: Any = None, *others: Any, mean: bool) -> Any:
    """torch's sum or mean of a tensor that has axes."""
    axes = axes or tuple(range(x.ndim))
    return noise.total(lambda x: torch.sum(x, axes, *others), x, axes, mean)
