"""The command: see benchmarks/static/__init__.py."""

import argparse
import os
import sys

from benchmarks.record import as_json, format_table
from benchmarks.static import table, widths


def main() -> int:
    """Returns: 0; 1 if a launch does not compile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.static")
    parser.add_argument("topics", nargs="*", help="compile only these, and keep no table")
    parser.add_argument("--all", action="store_true", help="compile what has not changed, too")
    options = parser.parse_args()
    if unknown := set(options.topics) - set(table.topics()):
        parser.error(f"topic is {min(unknown)!r}; it should be one of {', '.join(table.topics())}")
    os.environ["TRITON_INTERPRET"] = "0"  # before Triton is imported
    failed = False
    for part in (table, widths):
        described = part.describe(options.topics or table.topics())
        known = {} if options.all else table.recorded(part.TABLE, part.head())
        rows = table.compile_changed(described, known, part.compile_case)
        print(format_table([part.shown(row) for row in rows]))
        failed |= any("error" in row for row in rows)
        if not options.topics:
            part.TABLE.parent.mkdir(parents=True, exist_ok=True)
            part.TABLE.write_text(as_json(part.head(), rows), encoding="utf-8")
            print(f"kept in {part.TABLE}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
