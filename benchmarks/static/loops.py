"""What an iteration of each kernel's hot loop holds, and how fast a model says that it is.

Ours beside FlexAttention's and fla's, which the same compiler compiles. The model is
attention_src/triton_support/cycle_model.py, which says what it cannot see. It is for the flash
kernels, whose matrix units should be busy; what waits for memory it does not predict.
"""

from dataclasses import asdict
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import torch

from benchmarks.record import RESULTS
from benchmarks.static import table
from benchmarks.static.table import Case

CHIPS, DTYPE = (80, 90), "bfloat16"
TOPICS = ("flash", "kvcache", "linear", "softmax", "ssm")  # those with loops
TABLE = RESULTS / "loops.json"


def head() -> dict[str, str]:
    """What all rows depend on: the compiler, and the code that reads and models its output."""
    from attention_src.triton_support import cycle_model, inner_loop
    from attention_src.triton_support.digest import source_digest

    paths = (Path(module.__file__ or "") for module in (inner_loop, cycle_model))
    digests = (source_digest(path.read_text(encoding="utf-8")) for path in paths)
    return table.head() | {"reader": " ".join(digests)}


def describe(wanted: list[str]) -> dict[Case, dict[str, Any]]:
    """What is known of each launch without compiling it.

    Args:
        wanted: topics
    Returns: rows by case, in the table's order
    """
    from attention_src.triton_support.digest import launch_digest
    from benchmarks.static.peers import PEERS

    rows = {}
    for topic, d, chip in product(set(wanted) & {*TOPICS}, table.HEAD_SIZES, CHIPS):
        found = {
            name: dict(kernel=launch.kernel.__name__, digest=launch_digest(launch, chip))
            for name, launch in table.launches_of(topic, DTYPE, d, chip).items()
        }
        for (its_topic, name), peer in PEERS.items():
            if its_topic == topic and peer.package:
                found[name] = dict(digest=f"{peer.package} {version(peer.package)}")
            elif its_topic == topic and (d, chip) == (128, 90):
                found[name] = dict(digest=launch_digest(peer.launch(torch.bfloat16, d, chip), chip))
        for name, row in found.items():
            case = Case(topic, name, DTYPE, d, chip)
            rows[case] = case._asdict() | row
    return dict(sorted(rows.items()))


def compile_case(case: Case) -> dict[str, Any]:
    """What a launch's hot loop holds; only an error if it does not compile."""
    from attention_src.triton_support import cycle_model
    from attention_src.triton_support.compile import (
        blocks_per_multiprocessor,
        compile_code,
        compile_launch,
    )
    from attention_src.triton_support.inner_loop import count, hot_loop
    from benchmarks.static.peers import PEERS

    try:
        launch = _launch(case)
        used = compile_launch(launch, case.chip)
        loop = hot_loop(compile_code(launch, case.chip))
    except Exception as error:  # the table says so, and the test that reads it fails
        return dict(error=table.error_text(error))
    blocks = blocks_per_multiprocessor(used, launch.num_warps)
    row: dict[str, Any] = dict(
        registers=used.registers, spill_bytes=used.spill_bytes, blocks=blocks
    )
    row |= launch.options()
    if case.topic == "linear":  # some loops are unrolled: then there is all of the code instead
        row["code"] = used.instructions
    if not loop:
        return row
    row |= asdict(count(loop, launch.num_warps))
    if case.topic == "flash":
        peer = PEERS.get((case.topic, case.launch))
        tma = dict(tma_bytes=peer.tma_bytes, stages=launch.num_stages) if peer else {}
        placed = dict(num_warps=launch.num_warps, blocks=blocks)
        speed = cycle_model.tflop_per_s(loop, case.chip, **placed, **tma)
        row["tflop_per_s"] = round(speed, 1)
    return row


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """What is printed of a row."""
    return {name: x for name, x in row.items() if name not in ("topic", "kernel", "digest")}


def _launch(case: Case) -> Any:
    from benchmarks.static.peers import PEERS

    if peer := PEERS.get((case.topic, case.launch)):
        return peer.launch(getattr(torch, case.dtype), case.d, case.chip)
    return table.launches_of(case.topic, case.dtype, case.d, case.chip)[case.launch]
