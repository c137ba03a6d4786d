"""What the flash kernels spill, by width: every multiple of 8, in bfloat16.

A spill is a number that left the registers for memory, and slows a kernel down. Tiles are chosen
for d = 64, 128 and 256; a width between them has the tile of the next, part of it empty.
"""

from typing import Any

from benchmarks.record import RESULTS
from benchmarks.static import table
from benchmarks.static.table import Case

DTYPE = "bfloat16"
WIDTHS = range(16, 257, 8)
CHIPS = (75, 80, 90, 100)
LAUNCHES = ("flash_dkdv", "flash_dq", "flash_forward causal")
TABLE = RESULTS / "widths.json"


def head() -> dict[str, str]:
    """What all rows depend on, and what is in them."""
    return table.head() | {"holds": "causal; d from 16 to 256"}


def describe(wanted: list[str]) -> dict[Case, dict[str, Any]]:
    """What is known of each launch without compiling it.

    Args:
        wanted: topics
    Returns: rows by case, in the table's order; none unless flash is wanted
    """
    from attention_src.triton_support.digest import launch_digest

    rows = {}
    cases = [(chip, d) for chip in CHIPS for d in WIDTHS]
    for chip, d in cases if "flash" in wanted else ():
        launches = table.launches_of("flash", DTYPE, d, chip)
        for name in LAUNCHES:
            case = Case("flash", name, DTYPE, d, chip)
            rows[case] = case._asdict() | dict(digest=launch_digest(launches[name], chip))
    return dict(sorted(rows.items()))


def compile_case(case: Case) -> dict[str, Any]:
    """What a launch spills; only an error if it does not compile."""
    used = table.compile_case(case)
    return used if "error" in used else dict(spill_bytes=used["spill_bytes"])


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """What is printed of a row."""
    return {name: x for name, x in row.items() if name != "digest"}
