"""What a call of a kernel costs the CPU before the GPU has anything to do, measured without a GPU.

A stand-in for the driver compiles the kernels for an H100, finds them by their arguments as
Triton always does, and then starts nothing. So everything counts that Python does for a call:
torch's dispatcher, our checks and plans, and Triton's own code up to the driver. What CUDA takes to
put a kernel into its queue, a few microseconds, is missing.

python -m benchmarks.launch             measure, print the table, keep the result
python -m benchmarks.launch --smoke     a few calls of each, nothing is kept
"""

import argparse
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from benchmarks.linear_cpu import processor
from benchmarks.record import format_table, provenance, save

CALLS, REPEATS = 100, 60
H100 = SimpleNamespace(multi_processor_count=132, max_shared_mem=227 << 10, capability=(9, 0))
B, H, H_KV, N, D = 1, 9, 3, 1024, 64  # a token of SmolLM2


class Call(NamedTuple):
    """One operator and what to give it.

    Args:
        operator: as torch registered it
        planned: what it runs, once torch's dispatcher has found it
        arguments: of both
        more: arguments that only `planned` takes
    """

    operator: Callable
    planned: Any
    arguments: tuple
    more: tuple = ()


def pretend(start: Callable = lambda *_: None) -> None:
    """Let kernels take tensors of the CPU, and let Triton compile them for an H100 and not run.

    Args:
        start: called in place of the driver; what it is given ends with the kernel's arguments
    """
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    from attention_src.triton_support import launch

    launch.DEVICES = ("cpu",)
    torch.cuda.get_device_capability = lambda *_: H100.capability
    torch.cuda.get_device_properties = lambda *_: H100  # type: ignore[assignment, return-value]
    utils = SimpleNamespace(
        load_binary=lambda *_: (object(), 0, 0, 0, 1024),
        get_device_properties=lambda _: dict(max_shared_mem=H100.max_shared_mem),
    )
    driver.set_active(
        SimpleNamespace(
            get_current_device=lambda: 0,
            get_current_stream=lambda _: 0,
            get_current_target=lambda: GPUTarget("cuda", 90, 32),
            launcher_cls=lambda *_: start,
            utils=utils,
        )
    )


def calls() -> dict[str, Call]:
    """Every operator that a step of decoding may call, on the tensors of one token."""
    from attention_src.flash.kernel import operators as flash
    from attention_src.kvcache.kernel import operators as kvcache
    from attention_src.rope import kernel as rope
    from attention_src.softmax import kernel as softmax

    half: dict[str, Any] = dict(dtype=torch.float16)
    q, k = torch.randn(B, H, 1, D, **half), torch.randn(B, H_KV, N, D, **half)
    lengths = torch.full((B,), N, dtype=torch.int32)
    pages = k.reshape(B * N // 16, H_KV, 16, D)
    table = torch.arange(N // 16, dtype=torch.int32)[None]
    codes, scales = torch.zeros(B, H_KV, N, D, dtype=torch.int8), torch.ones(B, H_KV, N)
    new, turn = torch.randn(B, H_KV, 1, D, **half), torch.randn(1, D // 2)
    split = (lengths, D**-0.5, None)
    stored = dict(
        contiguous=(kvcache.decode_contiguous, kvcache._contiguous, (k, k)),
        paged=(kvcache.decode_paged, kvcache._paged, (pages, pages, table)),
        int8=(kvcache.decode_int8, kvcache._int8, (codes, scales, codes, scales)),
    )
    found = {
        f"decode_{name}": Call(operator, planned, (q, *cache, *split))
        for name, (operator, planned, cache) in stored.items()
    }
    rule = (None, True, 0, 0, D**-0.5, 0, 0.0, None)
    found["flash_forward"] = Call(flash.flash_forward, flash._forward, (q, k, k, *rule))
    turned = (q, new, turn, turn, False)
    found["rope_forward"] = Call(rope.rope_forward, rope._rotate, turned, (1.0,))
    found["softmax_forward"] = Call(softmax.softmax_forward, softmax._forward, (q,))
    return found


def microseconds(n_calls: int, *functions: Callable[[], Any]) -> list[float]:
    """Processor time of one call of each function: the least of several times many calls."""
    from attention_src.timing import fastest_ms

    def often(f: Callable[[], Any]) -> Callable[[], None]:
        def calls() -> None:
            for _ in range(n_calls):
                f()

        return calls

    steps = {index: often(f) for index, f in enumerate(functions)}
    least = fastest_ms(steps, REPEATS, clock="processor")
    return [round(least[index] / n_calls * 1e3, 1) for index in steps]


def row(name: str, call: Call, n_calls: int) -> dict[str, Any]:
    """What a call costs: in all, in torch's dispatcher, and if it were checked and described anew.

    Args:
        name: of the operator
        call: how to call it
        n_calls: to time at once
    Returns: microseconds of processor time
    """
    operator, planned, arguments, more = call

    def anew() -> None:
        _, launches = planned.__wrapped__(*arguments, *more)
        for launch in launches:
            launch.run()

    operator(*arguments)  # compiles
    us, planned_us, anew_us = microseconds(
        n_calls, lambda: operator(*arguments), lambda: planned(*arguments, *more), anew
    )
    dispatch_us = round(us - planned_us, 1)
    before_us = round(dispatch_us + anew_us, 1)
    return dict(operator=name, us=us, dispatch_us=dispatch_us, without_plan_us=before_us)


def main() -> int:
    """Returns: 0"""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.launch", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--smoke", action="store_true", help="a few calls, nothing is kept")
    smoke = parser.parse_args().smoke
    os.environ["TRITON_INTERPRET"] = "0"  # before Triton is imported
    torch.set_num_threads(1)
    pretend()
    with torch.no_grad():
        n_calls = 3 if smoke else CALLS
        rows = [row(name, call, n_calls) for name, call in calls().items()]
        x = torch.randn(B, H, 1, D)
        rows.append(dict(operator="aten::add", us=microseconds(n_calls, lambda: x + x)[0]))
    print(format_table(rows))
    if not smoke:
        source = provenance() | dict(chip="cpu", processor=processor(), threads=1)
        print(f"kept in {save('launch', rows, source)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
