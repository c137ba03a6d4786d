"""What ends a command: mistakes with one line and status 2, bugs with their traceback."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from attention_src.commands import run, size

ROOT = Path(__file__).parents[1]


def fail(error):
    raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("cache is 'x'"), "cache is 'x'"),
        (ImportError("tokenizers is not installed"), "tokenizers is not installed"),
        (FileNotFoundError(2, "No such file", "model.gguf"), "model.gguf: No such file"),
        (OSError(28, "No space left on device"), "standard output: No space left on device"),
        (FileNotFoundError("No such file: model"), "No such file: model"),  # of a library
        (MemoryError(), "there is not enough memory: "),
        (RuntimeError("can't allocate memory: 7 bytes\nand more"), "not enough memory: can't"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "no"), "takes ascii only; set PYTHONIOENCODING"),
    ],
)
def test_a_mistake_is_one_line(capsys, error, said):
    assert run(lambda: fail(error)) == 2
    out = capsys.readouterr()
    assert said in out.err and out.err.count("\n") == 1 and out.out == ""


@pytest.mark.parametrize(("error", "status"), [(BrokenPipeError(), 1), (KeyboardInterrupt(), 130)])
def test_who_reads_may_leave_and_who_waits_may_stop(capsys, error, status):
    assert run(lambda: fail(error)) == status
    assert capsys.readouterr() == ("", "")


def test_a_bug_keeps_its_traceback_and_a_status_is_passed_on():
    for error in (KeyError("x"), RuntimeError("x"), NotImplementedError("x")):
        with pytest.raises(type(error)):
            run(lambda error=error: fail(error))
    assert (run(lambda: None), run(lambda: 3)) == (0, 3)


def test_sizes_have_a_bound():
    read = size(100)
    assert (read("1"), read("100"), read("007")) == (1, 100, 7)
    for text in ("0", "101", "-1", "1.5", "", "x", "9" * 5000):
        with pytest.raises(argparse.ArgumentTypeError, match="a whole number from 1 to 100"):
            read(text)


# The command writes more than a pipe or a buffer holds, and then nothing, as a short one does.
WRITES = "from attention_src.commands import run; raise SystemExit(run(lambda: print({!r} * {})))"


@pytest.mark.parametrize("n", [1, 100_000])
@pytest.mark.parametrize(
    ("into", "status", "said"),
    [("head -c 1 >{}", 1, ""), (">/dev/full", 2, "standard output: No space left on device\n")],
)
def test_output_that_nobody_takes(tmp_path, n, into, status, said):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "command.py").write_text(WRITES.format("text", n))
    pipe = into.format(tmp_path / "head")
    line = f"{sys.executable} {tmp_path / 'command.py'} {'| ' if 'head' in pipe else ''}{pipe}"
    done = subprocess.run(
        ["bash", "-c", f"{line}; echo status ${{PIPESTATUS[0]}} >&2"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    ended = f"status {status}\n"
    # head may have left before a short text comes, or after it.
    assert done.stderr in (said + ended, "status 0\n" if n == 1 and not said else said + ended)
