"""Where a measurement comes from, the table to print, the file to keep."""

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"  # of a CPU, and of the compiled code
RESULT_FILES = (":!benchmarks/results", ":!attention_src/costs/measured/*.json")  # no sources
UNKNOWN = "unknown"


def provenance() -> dict[str, Any]:
    """What one needs to know to believe a number, or to measure it again.

    On a machine that has a copy of the files but not their history, the variable BENCHMARK_COMMIT
    names the commit that was copied; then `dirty` stays unknown, and the digest says if it is true.

    Returns: date, chip, driver and versions; the commit, and whether any file but results differed
        from it; a digest of the sources, which identifies them where there is no git
    """
    copied = os.environ.get("BENCHMARK_COMMIT")
    commit = copied or _output("git", "rev-parse", "HEAD")
    changes = None if copied else _output("git", "status", "--porcelain", "--", ".", *RESULT_FILES)
    return dict(
        date_utc=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"),
        chip=torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        driver=_driver(),
        cuda=torch.version.cuda or "none",
        torch=torch.__version__,
        triton=_version("triton"),
        python=platform.python_version(),
        commit=commit or UNKNOWN,
        dirty=UNKNOWN if copied or commit is None or changes is None else bool(changes),
        sources_sha256=sources_digest(),
    )


def sources_digest() -> str:
    """SHA-256 over the names and contents of all Python files that a benchmark can reach."""
    digest = hashlib.sha256()
    for folder in ("attention_src", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def save(topic: str, rows: list[dict], source: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Keep the rows of one topic, in place of those of an earlier run on the same chip.

    Args:
        topic: what was measured
        rows: its results
        source: from `provenance`
        folder: where to keep them
    Returns: the file, <chip>-<topic>.json
    """
    path = folder / f"{short_name(source['chip'])}-{topic}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json({"topic": topic, **source}, rows), encoding="utf-8")
    return path


def short_name(chip: str) -> str:
    """A chip as files are named after it: "NVIDIA H200" -> "nvidia-h200"."""
    return re.sub(r"[^a-z0-9]+", "-", chip.lower()).strip("-")


def as_json(head: dict[str, Any], rows: Iterable[dict]) -> str:
    """JSON with one line per row, so that a diff shows which rows changed.

    Args:
        head: what holds for all rows
        rows: the value of the last key, "rows"
    """
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    return "\n".join(["{", *lines, '  "rows": [', body, "  ]", "}", ""])


def format_table(rows: Sequence[dict]) -> str:
    """The rows as aligned text: a column for each key, and a dash where a row has no value.

    Args:
        rows: dicts, which need not have the same keys
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return " ".join(f"{name}={x}" for name, x in value.items()) or "–"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 100 else text[:99] + "…"  # a long error; the file has all of it


def _driver() -> str:
    """The version of NVIDIA's driver."""
    query = ("--query-gpu=driver_version", "--format=csv,noheader")
    return (_output("nvidia-smi", *query) or UNKNOWN).splitlines()[0]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _output(*command: str) -> str | None:
    """What a program prints; None if it is missing or fails."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
