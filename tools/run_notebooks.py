"""Run notebooks from their first cell to their last with this Python, comparing nothing.

    python tools/run_notebooks.py notebooks

Needs nbclient and ipykernel only, so that it also runs where nothing of the course is installed
yet: each notebook's own set-up cell must see to that.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


def run(path: Path) -> str | None:
    """Execute one notebook in its own folder; return the error text, or None if it ran through."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return str(error)
    return None


def main(folder: str) -> int:
    failures = 0
    for path in sorted(Path(folder).glob("*.ipynb")):
        start = time.perf_counter()
        error = run(path)
        seconds = time.perf_counter() - start
        print(f"{path.name}: {'failed' if error else 'ran'} in {seconds:.0f} s", flush=True)
        if error:
            print(error)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
