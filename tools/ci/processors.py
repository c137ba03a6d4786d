"""Run the notebooks and the numerical tests as on other processors (make elsewhere).

    python -m tools.ci.processors [Haswell …]

NumPy, OpenBLAS, torch, oneMKL and oneDNN choose their code by the processor; each has a variable
that makes it choose as on an older one. Another order of the same sums, other roundings: an output
or a test that does not survive this would fail on a reader's machine. Before each run, one line
says what the libraries chose, since a variable that a library ignores switches nothing:

- OPENBLAS_CORETYPE: the matrix products of NumPy. Zen has the code of Haswell there.
- NPY_DISABLE_CPU_FEATURES: NumPy's own loops (sums, exponentials).
- ATEN_CPU_CAPABILITY: torch's own loops (softmax, sums, attention); `default` turns oneMKL down
  too.
- MKL_CBWR (its state is CNR), MKL_ENABLE_INSTRUCTIONS: torch's products in float32 and float64. On
  a processor that is not Intel's the first obeys COMPATIBLE alone, and the second does nothing.
- ONEDNN_MAX_CPU_ISA: torch's products in bfloat16. Below AVX512_CORE torch takes another way.

Not shown by this: matrix units (AMX), which no variable can add, and processors of other makers.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tools.ci.run_tests import NOTEBOOKS, run_pytest

# Less than AVX2, AVX2, AVX2 beside the most careful oneMKL, AVX-512 without what came after 2017.
PROCESSORS = {
    "Sandybridge": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "AVX",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",  # with AVX, MKL prints a warning
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
    "Haswell": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "Zen": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_CBWR": "COMPATIBLE",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "SkylakeX": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        "NPY_DISABLE_CPU_FEATURES": "AVX512_ICL AVX512_SPR",
    },
}
NEEDS = {"Sandybridge": "avx", "Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512vl"}
# What is left out computes no numbers, or computes them in a browser.
COMMAND = (
    f"-q -n 2 --dist loadfile --no-loadscope-reorder {NOTEBOOKS} tests/sanitize.cfg notebooks "
    "tests --ignore=tests/site --ignore=tests/pipeline --ignore=tests/colab"
)
PROBE = """
import numpy, torch
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
x = torch.ones(64, 64)
x @ x, x.bfloat16() @ x.bfloat16()
print("NumPy:", " ".join(f for f in __cpu_dispatch__ if __cpu_features__[f]) or "X86_V2")
print("torch:", torch.backends.cpu.get_cpu_capability())
"""
SAID = {
    "OpenBLAS": r"^Core: (\w+)",
    "NumPy": r"^NumPy: (.+)",
    "torch": r"^torch: (\w+)",
    "oneMKL with CNR": r"^MKL_VERBOSE SGEMM.* CNR:(\S+)",
    "oneMKL for": r"^MKL_VERBOSE oneMKL .* architecture (.*?), \w+ ",
    "oneDNN": r"^onednn_verbose.*,cpu,matmul,([^,]+),",
}


def main(arguments: list[str] | None = None) -> int:
    """Run all on each processor, or on those named, and print the sum in the last line."""
    names = sys.argv[1:] if arguments is None else arguments
    total: Counter[str] = Counter()
    for name in names or PROCESSORS:
        if not can_pretend(name):
            print(f"{name}: not tried, this processor has no {NEEDS[name]}", flush=True)
            total += Counter(skipped=1)
            continue
        environment = {**os.environ, **PROCESSORS[name], "OPENBLAS_CORETYPE": name}
        print(f"As on {name}: {chosen(environment)}", flush=True)
        found = run(environment)
        print(f"As on {name}: {found['passed']} passed, {found['failed']} failed", flush=True)
        total += found
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return int(total["failed"] > 0)


def can_pretend(name: str) -> bool:
    """Whether this processor has that one's instructions; without them a program crashes."""
    cpuinfo = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        return False
    return NEEDS[name] in cpuinfo.read_text().split()


def chosen(environment: dict[str, str]) -> str:
    """A line that says which code each library chose."""
    loud = {"OPENBLAS_VERBOSE": "2", "MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"}
    command = [sys.executable, "-c", PROBE]
    ran = subprocess.run(command, env=environment | loud, capture_output=True, text=True)
    said = {
        library: found[1] if (found := re.search(line, ran.stdout + ran.stderr, re.M)) else "silent"
        for library, line in SAID.items()
    }
    return ", ".join(f"{library} {what}" for library, what in said.items())


def run(environment: dict[str, str]) -> Counter[str]:
    """Passed, failed and skipped tests of one run."""
    return run_pytest(COMMAND.split(), environment)


if __name__ == "__main__":
    sys.exit(main())
