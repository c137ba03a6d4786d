"""Measure the kernels on this machine's GPU, print the tables, keep the results.

python -m benchmarks                 every topic
python -m benchmarks flash kvcache   some of them
python -m benchmarks --seconds 60    begin no new size after so many seconds of a topic
python -m benchmarks --smoke         run every script at tiny sizes, anywhere; measures nothing
"""

import argparse
import importlib
import sys
import time

import torch

from attention_src.costs.measured import FOLDER as MEASURED
from attention_src.triton_support import interpreter
from benchmarks.record import format_table, provenance, save
from benchmarks.running import Bench

TOPICS = ("softmax", "rope", "flash", "kvcache", "linear", "ssm")


def main() -> int:
    """Returns: 0; 1 if a kernel of ours failed; 2 if there is no GPU to measure on."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("topics", nargs="*", help=f"some of: {', '.join(TOPICS)}; none = all")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing is measured")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of each topic")
    options = parser.parse_args()
    if unknown := set(options.topics) - set(TOPICS):
        parser.error(f"topic is {min(unknown)!r}; it should be one of {', '.join(TOPICS)}")
    topics = options.topics or TOPICS
    why_not = _why_not()
    if why_not and not options.smoke:
        print(f"{why_not} Nothing was measured or recorded.", file=sys.stderr)
        return 2
    source = provenance()
    if not options.smoke:
        print("\n".join(f"{name:15}{value}" for name, value in source.items()))
    results = {topic: _run(topic, _bench(options), source) for topic in topics}
    failed = [row for rows in results.values() for row in rows if row["impl"] == "triton"]
    return int(any(row["error"] for row in failed))


def _bench(options: argparse.Namespace) -> Bench:
    return Bench(options.smoke, until=time.monotonic() + options.seconds)


def _run(topic: str, bench: Bench, source: dict) -> list[dict]:
    """Run one topic's script, print its table, and record it unless this is a smoke test."""
    rows = importlib.import_module(f"benchmarks.topics.{topic}").run(bench)
    if bench.smoke:
        # Show what was tried; times, and all that is derived from them, are missing.
        tried = [{k: v for k, v in row.items() if v is not None} for row in rows]
        tried = [row | {"error": row.get("error", "ran")} for row in tried]
        print(f"\n{topic}: tried at tiny sizes, not measured\n{format_table(tried)}")
    else:
        print(f"\n{topic}\n{format_table(rows)}")
        print(f"kept in {save(topic, rows, source, MEASURED)}")
    return rows


def _why_not() -> str:
    """Why nothing can be measured here; "" if it can."""
    if not torch.cuda.is_available():
        return "No CUDA GPU here, so there is nothing to measure on."
    if interpreter.interpreted():
        return "TRITON_INTERPRET is set, so kernels would be interpreted; unset it to measure."
    return ""


if __name__ == "__main__":
    sys.exit(main())
