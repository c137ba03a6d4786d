"""Run with TRITON_INTERPRET=0, prints JSON: what is said of small kernels, and of the table's rows.

Its argument is a folder for the kernels that it writes.
"""

import importlib.util
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import create_function_from_signature

from attention_src.triton_support.compile import (
    _TYPES,
    argument_types,
    compile_code,
    compile_launch,
)
from attention_src.triton_support.digest import launch_digest
from attention_src.triton_support.launch import Launch
from benchmarks import static
from benchmarks.static import widths
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
    return argument_types(launch.kernel, launch.arguments)


def every_launch():
    for dtype in _TYPES:
        yield str(dtype), arguments_launch(*tensors(1, 3, dtype=dtype))
    for topic in static.topics():
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


CODE = """
from attention_src.triton_support.launch import tl, triton

FACTOR = tl.constexpr(2)

@triton.jit
def doubled(x):
    return x * FACTOR

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + n, doubled(n) + BLOCK)
"""
EDITS = {
    "comment": ("return x", "# as in\n    return x"),
    "docstring": ("return x", "'As in.'\n    return x"),
    "layout": ("x_ptr, n,", "x_ptr,\n    n,"),
    "kernel": ("+ BLOCK", "- BLOCK"),
    "callee": ("x * FACTOR", "x + FACTOR"),
    "global": ("constexpr(2)", "constexpr(3)"),
    "parameter": ("BLOCK: tl.constexpr", "BLOCK"),
    "impure": ("FACTOR = tl.constexpr(2)", "FACTOR = object()"),
}


def digest(folder, edit=("", ""), *, dtype=torch.float32, n=16, block=16, chip=90, **options):
    """Of a launch of the kernel in CODE, edited."""
    path = folder / f"edited_{len(list(folder.iterdir()))}.py"
    path.write_text(CODE.replace(*edit))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = dict(x_ptr=torch.empty(3, dtype=dtype, device="meta"), n=n, BLOCK=block)
    try:
        return launch_digest(Launch(module.kernel, (1,), arguments, **options), chip)
    except ValueError as error:
        return str(error)


def digests(folder):
    changes = dict(
        same={},
        size=dict(n=32),
        dtype=dict(dtype=torch.float16),
        divisible=dict(n=17),
        wide=dict(n=2**31),
        tile=dict(block=32),
        chip=dict(chip=100),
        warps=dict(num_warps=8),
        stages=dict(num_stages=3),
    )
    found = {name: digest(folder, **change) for name, change in changes.items()}
    return found | {name: digest(folder, edit) for name, edit in EDITS.items()}


def sample(described):
    """The launches to compile: each kernel once, chips and dtypes in turn."""
    kernels = sorted({row["kernel"] for row in described.values()})
    for index, kernel in enumerate(kernels):
        chip = static.CHIPS[index % len(static.CHIPS)]
        dtype = static.DTYPES[index % len(static.DTYPES)]
        cases = [case for case, row in described.items() if row["kernel"] == kernel]
        wanted = [case for case in cases if (case.chip, case.dtype) == (chip, dtype)]
        yield (wanted or cases)[0]  # some kernels are for one chip only


def delta(stages):
    """The machine code of the delta rule, for a launch of so many stages."""
    launch = static.launches_of("linear", "bfloat16", 64, 90)["delta_forward"]
    return [str(x) for x in compile_code(replace(launch, num_stages=stages), 90)]


products = {
    f"{dtype} {chip}": product(dtype, chip)
    for chip in (75, 80, 90, 100)
    for dtype in (torch.float16, torch.float32)
}
scale = scale_launch(*tensors(2, 64), 3.0)
described = static.describe(static.topics())
report = dict(
    products=products,
    scale=asdict(compile_launch(scale, 90)),
    crowded=product(torch.float32, 75, num_warps=1),
    refusal=refusal(scale, 70),
    unlike=[name for name, launch in every_launch() if by_us(launch) != by_triton(launch)],
    delta_is_the_same=delta(1) == delta(4),
    types=by_us(arguments_launch(torch.empty(3, device="meta")))[0],
    digests=digests(Path(sys.argv[1])),
    described=list(described.values()),
    widths=list(widths.describe(static.topics()).values()),
    compiled=[described[case] | static.compile_case(case) for case in sample(described)],
)
print(json.dumps(report))
