"""What layers and kernels ask of their tensors, whatever the topic. Shapes are in `shapes`."""

import functools
import reprlib
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_src.shapes import check_dense

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
KERNEL_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
_KERNEL = 'impl is "triton", whose kernels have {}; it should be "{}"'


def check_tensors(
    *, one_dtype: bool = True, optional: Collection[str] = (), **tensors: Any
) -> None:
    """Check that all are dense tensors of floating-point numbers, on one device and of one dtype.

    Args:
        one_dtype: False = dtypes may differ: float32 parameters with float16 inputs
        optional: names of those that may be None
        tensors: by the names that a message should use
    Raises:
        ValueError: names the argument that does not fit, and says what it is
    """
    given = {n: x for n, x in tensors.items() if x is not None or n not in optional}
    for name, x in given.items():
        if not isinstance(x, Tensor):
            raise ValueError(f"{name} is a {type(x).__name__}; it should be a torch tensor")
        if x.dtype not in FLOATS:
            wanted = "floating point"
            if x.dtype.is_floating_point:  # with 8 bits or fewer, which nothing is computed in
                wanted = f"float16 at least: {name}.to(torch.float32)"
            raise ValueError(f"{name} has dtype {x.dtype}; it should be {wanted}")
        if x.layout is not torch.strided or x.is_nested:
            check_dense(x, name)
    (first, reference), *others = given.items()
    for name, x in others:
        if x.device != reference.device or (one_dtype and x.dtype != reference.dtype):
            raise ValueError(
                f"{name} is {x.dtype} on {x.device} but {first} is {reference.dtype} on "
                f"{reference.device}; they should agree: {name}.to({first})"
            )


def check_tokens(x: Any, name: str, dtype: torch.dtype, d_model: int) -> None:
    """Check that tokens are a tensor of a module's dtype and width.

    Under torch.autocast a layer before may have given another dtype, and the projections convert.

    Args:
        x: [B, n, d_model]
        name: of the argument
        dtype, d_model: of the module
    Raises:
        ValueError: names the argument, what it is and what it should be
    """
    if not isinstance(x, Tensor) or not (x.dtype == dtype or _is_cast(x, dtype)):
        what = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"{name} is {what}; it should be a tensor of this module's {dtype}")
    check_dense(x, name)
    if x.ndim != 3 or x.shape[-1] != d_model:
        raise ValueError(
            f"{name} has shape {list(x.shape)}; it should be [B, n, d_model={d_model}]"
        )


def _is_cast(x: Tensor, dtype: torch.dtype) -> bool:
    """Whether autocast converts x and parameters of this dtype; it leaves float64 as it is."""
    device = x.device.type
    active = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return active and x.dtype in KERNEL_DTYPES and dtype in KERNEL_DTYPES


def as_tensor(x: Any, name: str, what: str, **options: Any) -> Tensor:
    """torch.as_tensor with the usual ValueError.

    Args:
        x: a tensor, an array or nested lists
        name: of the argument
        what: it should be, for the message
        options: device and dtype of the tensor; None = x's
    Returns: the tensor, x itself if it is one already; a copy of an array whose strides or byte
        order torch does not take
    Raises:
        ValueError: no tensor can be made of x; as `shapes.check_dense`
    """
    check_dense(x, name)
    if isinstance(x, Tensor):
        return torch.as_tensor(x, **options)
    try:
        return torch.as_tensor(x, **options)
    except (TypeError, ValueError, RuntimeError):
        pass
    try:
        return torch.as_tensor(_copied(x), **options)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} is {reprlib.repr(x)}; it should be {what}") from None


def whole_numbers(x: Tensor, name: str) -> Tensor:
    """A tensor of whole numbers as int64: of the unsigned ones torch compares only uint8.

    Args:
        x: int or uint of any size; if it is empty, of any dtype, as an empty list has no own
        name: of the argument
    Returns: int64, x itself if it already is
    Raises:
        ValueError: not whole numbers
    """
    if x.numel() and (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool):
        raise ValueError(f"{name} has dtype {x.dtype}; it should hold whole numbers")
    return x.to(torch.int64)


def _copied(x: Any) -> np.ndarray:
    """An array that torch does not take as it is: mask[::-1], or bytes in another order."""
    rows = x if isinstance(x, list | tuple) else [x]
    if not any(isinstance(row, np.ndarray) for row in rows):
        raise TypeError
    array = np.asarray(x)
    wide = array.dtype.kind == "f" and array.dtype.itemsize > 8  # torch has nothing wider
    return array.astype(np.float64 if wide else array.dtype.newbyteorder("="), order="C")


def compute_dtype(x: Tensor) -> torch.dtype:
    """The dtype to compute in.

    Args:
        x: a tensor of any dtype
    Returns: x's dtype, or float32 if that is narrower
    """
    return torch.promote_types(x.dtype, torch.float32)


def kernel_takes(x: Tensor) -> bool:
    """Whether impl="auto" may choose a kernel.

    Args:
        x: a tensor of any dtype
    Returns: True if x is on a GPU and its dtype is one of KERNEL_DTYPES
    """
    return x.is_cuda and x.dtype in KERNEL_DTYPES


class _NoRule(torch.autograd.Function):
    """Copies of tensors, without a rule for torch.func or forward derivatives: both refuse it."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(x.view_as(x) for x in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return gradients


def call_kernel(operator: Callable, other: str, *arguments: Any) -> Any:
    """Call an operator whose kernels have derivatives by backward() only: a forward one would be 0.

    Args:
        operator: of torch.library
        other: the impl to choose instead
        arguments: of the operator
    Returns: what the operator does
    Raises:
        RuntimeError: under torch.func (vmap, grad, jvp, hessian), or forward derivatives
    """
    if not torch.compiler.is_compiling():
        try:
            _NoRule.apply(
                *(x for x in arguments if isinstance(x, Tensor) and x.is_floating_point())
            )
        except RuntimeError as error:  # NotImplementedError is one, too
            missing = "no derivatives by torch.func (grad, jvp, hessian, vmap) and no forward ones"
            raise RuntimeError(_KERNEL.format(missing, other)) from error
    return operator(*arguments)


def refuse_derivatives(
    operator: Any,
    other: str,
    has: str = "first derivatives only, no second ones (create_graph=True)",
) -> None:
    """Let an operator refuse a derivative of its own: most compute gradients themselves.

    Args:
        operator: of torch.library
        other: the impl to choose instead
        has: what its kernels have, for the message
    Raises:
        RuntimeError: not here, but where that derivative is asked for
    """

    def refuse(ctx: Any, *gradients: Any) -> None:
        raise RuntimeError(_KERNEL.format(has, other))

    operator.register_autograd(refuse)


def without_autocast(function: Callable) -> Any:
    """Decorator: compute in the dtypes that the function chooses, also under torch.autocast.

    Autocast would replace the products of a function by bfloat16 ones, whatever dtype its tensors
    have been converted to.

    Args:
        function: takes at least one tensor
    Returns: the same function, with autocast off on the device of its first tensor
    """

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        first = next(filter(torch.is_tensor, (*arguments, *options.values())), None)
        device = "cpu" if first is None else first.device.type
        # "meta", for example, has no autocast.
        if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
            return function(*arguments, **options)
        with torch.autocast(device, enabled=False):
            return function(*arguments, **options)

    return run
