"""What compiled kernels use, for chips that are not here: no GPU is needed.

python -m benchmarks.static           bring the tables up to date
python -m benchmarks.static --all     compile everything again
python -m benchmarks.static flash     compile and print some topics, and keep no table

Two tables are kept in benchmarks/results:
    static.json    what each launch uses on each chip: registers, shared memory, spills
    widths.json    what flash attention's kernels spill, by width
Each row has a digest of all that its compiled code depends on, so that only what has changed since
is compiled again.
"""

from benchmarks.static.table import (
    CHIPS,
    DTYPES,
    TABLE,
    Case,
    compile_case,
    describe,
    launches_of,
    topics,
)

__all__ = [
    "CHIPS",
    "DTYPES",
    "TABLE",
    "Case",
    "compile_case",
    "describe",
    "launches_of",
    "topics",
]
