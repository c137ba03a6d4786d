"""Run with TRITON_INTERPRET=0: what triton_support.compile says of small kernels, as JSON."""

import importlib
import json
from dataclasses import asdict

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import create_function_from_signature

from attention_src.triton_support.compile import _TYPES, _signature, compile_launch
from benchmarks.static import topics
from triton_support.toy import arguments_launch, product_launch, scale_launch


def tensors(n, *shape, dtype=torch.float16):
    return [torch.empty(shape, dtype=dtype, device="meta") for _ in range(n)]


def by_triton(launch):
    """What Triton itself makes of a launch's arguments: types, constants, divisibility by 16."""
    kernel = launch.kernel
    backend = make_backend(GPUTarget("cuda", 90, 32))
    bind = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, specialization, _ = bind(**launch.arguments)
    _, types, constants, hints = kernel._pack_args(backend, {}, bound, specialization, {})
    names = [parameter.name for parameter in kernel.params]
    constants = {names[index]: value for (index,), value in constants.items()}
    return types, constants, {path: hint for path, hint in hints.items() if hint}


def by_us(launch):
    return _signature(launch.kernel, launch.arguments)


def every_launch():
    for dtype in _TYPES:
        yield str(dtype), arguments_launch(*tensors(1, 3, dtype=dtype))
    for topic in topics():
        module = importlib.import_module(f"benchmarks.launches.{topic}")
        yield from module.launches(torch.float16, 64, 90).items()


def refusal(launch, chip):
    try:
        compile_launch(launch, chip)
    except ValueError as error:
        return str(error)


def product(dtype, chip, **options):
    launch = product_launch(*tensors(3, 64, 64, dtype=dtype), 64, **options)
    return asdict(compile_launch(launch, chip))


products = {
    f"{dtype} {chip}": product(dtype, chip)
    for chip in (75, 80, 90, 100)
    for dtype in (torch.float16, torch.float32)
}
scale = scale_launch(*tensors(2, 64), 3.0)
report = dict(
    products=products,
    scale=asdict(compile_launch(scale, 90)),
    crowded=product(torch.float32, 75, num_warps=1),
    refusal=refusal(scale, 70),
    unlike=[name for name, launch in every_launch() if by_us(launch) != by_triton(launch)],
    signature=by_us(arguments_launch(torch.empty(3, device="meta")))[0],
)
print(json.dumps(report))
