"""Judge a file in a process of its own, with a limit of time and memory."""

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from attention_src.judge.judging import KINDS, _check_choice
from attention_src.judge.source import _not_judged, judge_source


def judge_alone(
    path: str, name: str = "", kind: str | None = None, seconds: float = 120, memory: float = 8
) -> dict[str, Any]:
    """Judge a function in a file; whatever it does, this process goes on.

    Args:
        path: of the file
        name, kind: as in `judge_source`
        seconds: by the clock, after which it is ended
        memory: GiB that it may take, where the system can limit that
    Returns: what `Report.to_json` holds
    Raises:
        ValueError: an unknown kind
    """
    if kind is not None:
        _check_choice("kind", kind, KINDS)
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        command = [sys.executable, "-m", __name__, path, name, kind or "", str(answer), str(memory)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            why = f"It had not ended after {seconds:g} seconds."
        else:
            said = done.stderr.decode(errors="replace").strip().split("\n")[-1][:200]
            short = f" Does it need more than {memory:g} GiB of memory?" * (done.returncode < 0)
            why = f"It ended Python. {said}{short}"
        if answer.is_file():
            return json.loads(answer.read_text(encoding="utf-8"))
    return json.loads(_not_judged(name, kind, why).to_json())


def _limit(gib: float) -> None:
    """Refuse more memory to this process, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        most = int(gib * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _main(path: str, name: str, kind: str, answer: str, memory: str) -> None:
    _limit(float(memory))
    sys.path.insert(0, str(Path(path).resolve().parent))
    text = Path(path).read_text(encoding="utf-8")
    report = judge_source(text, name or None, kind or None)
    Path(answer).write_text(report.to_json(), encoding="utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:])
