"""Every kernel compiled for every chip, with none of them here; and the recorded table is fresh."""

import ast
import json
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from attention_src.triton_support.compile import (
    SHARED_BYTES,
    Compiled,
    blocks_per_multiprocessor,
    compile_launch,
)
from attention_src.triton_support.launch import INTERPRETED
from benchmarks import static
from benchmarks.static import widths
from triton_support.toy import ROOT, afresh, scale_launch

TABLE = json.loads(static.TABLE.read_text(encoding="utf-8"))
FIX = "the table is stale; run: python -m benchmarks.static"
same_triton = pytest.mark.skipif(
    TABLE["triton"] != version("triton"),
    reason=f"recorded with triton {TABLE['triton']}, here is {version('triton')}",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What is said of small kernels whose compiled form is known, and of the launches today."""
    code, folder = Path(__file__).parent / "report.py", tmp_path_factory.mktemp("kernels")
    done = afresh(None, str(code), str(folder), TRITON_INTERPRET="0")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def rows(report):
    """The recorded rows, and those compiled now, which are the only ones if Triton is another."""
    return TABLE["rows"] * (TABLE["triton"] == version("triton")) + report["compiled"]


def name(row):
    return " ".join(str(row[key]) for key in static.Case._fields)


def test_every_topic_dtype_and_chip_is_there():
    topics = set(static.topics())
    assert {"softmax", "rope", "flash", "kvcache"} <= topics
    assert tuple(SHARED_BYTES) == static.CHIPS
    wanted = {(t, d, c) for t in topics for d in static.DTYPES for c in static.CHIPS}
    assert {(row["topic"], row["dtype"], row["chip"]) for row in TABLE["rows"]} == wanted
    assert {row["d"] for row in TABLE["rows"] if row["topic"] == "flash"} == {64, 128}


@pytest.mark.slow
def test_the_table_describes_the_launches_of_today(report):
    """In its digests too, so that what it says of compiled code still holds."""
    described = report["described"]
    assert [name(row) for row in TABLE["rows"]] == [name(row) for row in described], FIX
    pairs = zip(TABLE["rows"], described, strict=True)
    assert not [name(now) for then, now in pairs if not then.items() >= now.items()], FIX


def test_the_table_of_widths_describes_the_launches_of_today(report):
    rows = json.loads(widths.TABLE.read_text(encoding="utf-8"))["rows"]
    now = report["widths"]
    assert [name(row) for row in rows] == [name(row) for row in now], FIX
    assert not [name(b) for a, b in zip(rows, now, strict=True) if not a.items() >= b.items()], FIX


def test_where_flash_attention_spills():
    """As flash/kernel/tiles.py says."""
    rows = json.loads(widths.TABLE.read_text(encoding="utf-8"))["rows"]
    assert {(row["chip"], row["d"]) for row in rows} == {
        (chip, d) for chip in (75, 80, 90, 100) for d in range(16, 257, 8)
    }
    spills = {(r["launch"], r["chip"], r["d"]): r["spill_bytes"] for r in rows if r["spill_bytes"]}
    narrow = {at: size for at, size in spills.items() if at[2] <= 128}
    assert narrow == {("flash_dq", 75, 24): 8, ("flash_dq", 75, 32): 8}
    wide = {("flash_dkdv", 90): 192, ("flash_dkdv", 75): 912, ("flash_dq", 75): 320}  # the most
    assert spills.keys() - narrow.keys() == {(*at, d) for at in wide for d in range(136, 257, 8)}
    for at, most in wide.items():
        assert max(spills[(*at, d)] for d in range(136, 257, 8)) == most


@same_triton
def test_what_is_compiled_now_is_what_was_recorded(report):
    compiled = report["compiled"]
    assert {row["kernel"] for row in compiled} == {row["kernel"] for row in TABLE["rows"]}
    assert {row["chip"] for row in compiled} == set(static.CHIPS)
    assert {row["dtype"] for row in compiled} == set(static.DTYPES)
    assert not [name(row) for row in compiled if row not in TABLE["rows"]], FIX


def test_a_digest_changes_with_the_code_and_with_nothing_else(report):
    digests = report["digests"]
    impure = digests.pop("impure")
    assert impure == (
        "doubled uses FACTOR, a object; kernels should use jit functions and constants only"
    )
    unchanged = [key for key in digests if digests[key] == digests["same"]]
    assert unchanged == ["same", "size", "comment", "docstring", "layout"]
    assert len(set(digests.values())) == len(digests) - len(unchanged) + 1


def test_all_compile(rows):
    failed = {name(row): row["error"] for row in rows if "error" in row}
    assert not failed


def test_all_fit_shared_memory(rows):
    large = {
        name(r): r["shared_bytes"] for r in rows if r["shared_bytes"] > SHARED_BYTES[r["chip"]]
    }
    assert not large


def test_none_spills(rows):
    spilling = {name(row): row["spill_bytes"] for row in rows if row["spill_bytes"]}
    assert not spilling


def test_matrix_products_use_the_matrix_units(rows):
    with_products = [row for row in rows if row["dots"]]
    assert {row["topic"] for row in with_products} >= {"flash", "kvcache"}
    # Triton has no way to those of sm_75.
    idle = [name(row) for row in with_products if row["chip"] >= 80 and not row["matrix"]]
    assert not idle


def jit_functions():
    """Every function under @triton.jit in attention_src: (module, name), and whom it may call."""
    found = {}
    for path in (ROOT / "attention_src").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        homes = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in nodes:
            decorators = getattr(node, "decorator_list", [])
            if any("triton.jit" in ast.unparse(decorator) for decorator in decorators):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                found[module, node.name] = {homes.get(n, (module, n)) for n in names}
    return found


def test_no_kernel_escapes(rows):
    functions = jit_functions()
    assert ("attention_src.softmax.kernel", "softmax_forward_kernel") in functions
    launched = {row["kernel"] for row in rows}
    reached, more = set(), {key for key in functions if key[1] in launched}
    assert len(more) == len(launched), "two kernels have one name"
    while more:  # a kernel, what it calls, what that calls
        reached |= more
        more = {callee for key in more for callee in functions[key] & functions.keys()} - reached
    escaped = functions.keys() - reached
    assert not escaped, "no launch in benchmarks/launches/ compiles it"


def test_the_table_tells_matrix_units_from_none(report):
    matrix = {key: row["matrix"] for key, row in report["products"].items()}
    assert matrix["torch.float16 75"] == matrix["torch.float32 75"] == ""
    assert matrix["torch.float16 80"] == "mma.sync"
    assert matrix["torch.float16 90"] == "wgmma.mma_async"
    assert matrix["torch.float16 100"] == "tcgen05.mma"
    assert {row["dots"] for row in report["products"].values()} == {1}
    assert report["scale"]["dots"] == 0 and report["scale"]["matrix"] == ""


def test_the_table_sees_spills_and_sizes(report):
    assert report["crowded"]["registers"] == 255 and report["crowded"]["spill_bytes"] > 1000
    assert report["crowded"]["instructions"] > 10 * report["scale"]["instructions"] > 0
    assert report["products"]["torch.float16 90"]["shared_bytes"] >= 2 * 64 * 64 * 2
    assert (
        report["scale"]["spill_bytes"] == report["products"]["torch.float16 90"]["spill_bytes"] == 0
    )


BLOCKS = [  # chip, registers, shared bytes, warps, programs on a multiprocessor: what limits them
    (90, 255, 0, 8, 1),  # registers: 8 warps of 8,192
    (90, 128, 0, 8, 2),
    (90, 129, 0, 8, 1),  # handed out to a warp in 256s: as 136 a thread
    (90, 16, 113 << 10, 4, 2),  # shared memory: 228 KiB, and a program takes 1 KiB more
    (90, 16, 114 << 10, 4, 1),
    (75, 16, 32 << 10, 4, 2),
    (75, 16, 0, 8, 4),  # warps: 32
    (80, 16, 0, 1, 32),  # programs
]


@pytest.mark.parametrize(("chip", "registers", "shared", "warps", "blocks"), BLOCKS)
def test_programs_share_a_multiprocessor(chip, registers, shared, warps, blocks):
    used = Compiled(chip, registers, 0, shared, "", 0, 0)
    assert blocks_per_multiprocessor(used, warps) == blocks


def test_types_and_hints_are_those_that_triton_would_use(report):
    assert report["unlike"] == []
    constants = dict.fromkeys(("one", "nothing"), "constexpr")
    integers = dict.fromkeys(("sixteen", "odd", "negative", "zero"), "i32")
    expected = dict(x_ptr="*fp32", **integers, **constants, large="i64", number="fp32", flag="u1")
    assert report["types"] == expected


def test_the_delta_rule_loads_no_state_early(report):
    """A load that a later stage began would not see what the chunk before stores."""
    assert report["delta_is_the_same"]


def test_refusals(report, untyped):
    assert report["refusal"] == "capability is 70; it should be one of [75, 80, 86, 90, 100]"
    if INTERPRETED:
        x = torch.empty(4, device="meta")
        with pytest.raises(ValueError, match="start it with TRITON_INTERPRET=0"):
            compile_launch(scale_launch(x, x, 1.0), 90)
