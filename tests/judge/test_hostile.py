"""Input that was not meant to be judged: a clear word, exit code 2, and soon."""

import json
import re
import subprocess
import sys
import time

import pytest
from hostile import HOSTILE

SECONDS = 8


def run(path, *more):
    """The command line on a file: what it says, its exit code, seconds."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "attention_src.judge", f"{path}", "--json", *more]
    command += ["--seconds", str(SECONDS), "--memory", "2"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    return done, time.perf_counter() - begin


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_gets_a_clear_word(name, tmp_path):
    text, words = HOSTILE[name]
    path = tmp_path / "theirs.py"
    path.write_text(text)
    done, _ = run(path)
    said = json.loads(done.stdout)
    assert said["verdict"] != "right" and done.returncode in (1, 2)
    assert re.search(words, said["words"]), said["words"]
    assert len(said["words"]) < 2000 and "Traceback" not in done.stderr


def test_a_clear_word_for_what_raises(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(HOSTILE["raises"][0])
    done, _ = run(path)
    assert done.returncode == 2 and "not today" in json.loads(done.stdout)["words"]
