"""The command line, the plugin and the wheel: foreign code, and NumPy alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attention_src.judge.alone import judge_alone

ROOT = Path(__file__).parents[2]
GOOD = """
import numpy as np

def attention(q, k, v):
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
"""


def command(tmp_path, text, *options):
    file = tmp_path / "mine.py"
    file.write_text(text, encoding="utf-8")
    what = [sys.executable, "-m", "attention_src.judge", f"{file}:attention", *options]
    return subprocess.run(what, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)


@pytest.mark.slow
def test_the_command_says_so_by_its_exit(tmp_path):
    done = command(tmp_path, GOOD)
    assert done.returncode == 0 and done.stdout.startswith("attention: right"), done
    done = command(tmp_path, GOOD.replace(" / q.shape[-1] ** 0.5", ""), "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["cause"] == "not scaled"


@pytest.mark.slow
def test_foreign_code_is_limited(tmp_path):
    done = command(tmp_path, GOOD + "\nwhile True: pass", "--seconds", "5")
    assert done.returncode == 2 and "had not ended" in done.stdout, done
    done = command(tmp_path, GOOD + "\nimport os\nos._exit(0)")
    assert done.returncode == 2 and "ended Python" in done.stdout, done
    if sys.platform == "linux":
        done = command(tmp_path, GOOD + "\nx = np.ones(2**29)", "--memory", "1")
        assert done.returncode == 2 and "MemoryError" in done.stdout, done


@pytest.mark.slow
def test_a_call_that_never_returns(tmp_path):
    done = command(tmp_path, "def attention(q, k, v):\n    while True: pass")
    assert done.returncode == 2 and "a loop never stop" in done.stdout, done


def test_a_missing_file():
    done = subprocess.run(
        [sys.executable, "-m", "attention_src.judge", "nowhere.py:f"], cwd=ROOT, capture_output=True
    )
    assert done.returncode == 2 and b"no file nowhere.py" in done.stderr


def test_the_plugin(attention_judge):
    space = {}
    exec(GOOD, space)
    attention_judge(space["attention"])
    exec(GOOD.replace("** 0.5", ""), space)
    with pytest.raises(AssertionError, match="divided by d, not √d"):
        attention_judge(space["attention"])


def test_the_plugin_is_named_as_one():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'pytest11]\nattention_judge = "attention_src.judge.plugin"' in text


ALONE = """
import importlib.abc, sys
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("torch", "matplotlib", "jaxtyping", "jax", "scipy", "triton"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
from attention_src.judge import judge_source
print(judge_source(sys.argv[1]).verdict)
"""


def test_numpy_alone_is_enough():
    done = subprocess.run(
        [sys.executable, "-c", ALONE, GOOD], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.stdout == "right\n", done.stderr


def test_a_file_is_judged_in_a_process_of_its_own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GOOD + 'print("line\\n" * 10_000)\n', encoding="utf-8")
    assert judge_alone(str(file))["verdict"] == "right"
