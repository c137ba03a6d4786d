"""A fresh environment with Colab's versions, and a repository that stands in for the public one."""

import json
import os
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools.book import Book

ROOT = Path(__file__).parents[2]
# Colab's image, as far as these versions have wheels for every Python that the course supports.
# jaxtyping is not there, and of course not attention_src.
COLAB = {
    "numpy": "2.1.3",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "matplotlib": "3.10.0",
    "tokenizers": "0.22.2",
}


class Colab:
    """The environment: run Python in it, start kernels in it."""

    def __init__(self, folder):
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.python = folder / "venv/bin/python"
        self.run("-m", "pip", "install", "-q", *(f"{n}=={v}" for n, v in COLAB.items()))
        self._lend_torch()
        self.environment = self._redirect(Book(ROOT))

    def run(self, *arguments):
        ran = subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, cwd=self.folder
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout.strip()

    def versions(self):
        """What must stay as it is: numpy and torch, and whatever else Colab brings."""
        code = "from importlib.metadata import version as v; print(*map(v, {!r}))"
        return self.run("-c", code.format([*COLAB, "torch"]))

    def has(self, module):
        code = f"from importlib.util import find_spec; print(find_spec({module!r}) is not None)"
        return self.run("-c", code) == "True"

    def forget(self, *packages):
        self.run("-m", "pip", "uninstall", "-q", "-y", *packages)

    def _lend_torch(self):
        """Link this environment's torch, and what it needs, into the fresh one: no download."""
        site = Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
        todo, done = ["torch"], set()
        while todo:
            name = todo.pop()
            if name in done or name in COLAB:
                continue
            done.add(name)
            distribution = metadata.distribution(name)
            tops = {f.parts[0] for f in distribution.files or [] if f.parts[0] != ".."}
            for top in tops - {"__pycache__", "bin"}:
                if not (site / top).exists():
                    (site / top).symlink_to(Path(distribution.locate_file(top)).resolve())
            for line in distribution.requires or []:
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    todo.append(needed.name)

    def _redirect(self, book):
        """A kernel's environment in which git finds the course's address on this disk."""
        copy = self.folder / "repository"
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, copy / name)
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        for step in (
            ["init", "-q", "-b", book.branch],
            ["add", "-A"],
            [*identity, "commit", "-q", "-m", "x"],
        ):
            subprocess.run(["git", *step], cwd=copy, check=True)
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.file://{copy}.insteadOf",
            "GIT_CONFIG_VALUE_0": book.repository,
            "PYTHONPATH": "",
            "MPLBACKEND": "",
        }

    def kernel(self):
        """Describe a kernel of this environment to Jupyter; return the folder to look in."""
        place = self.folder / "jupyter/kernels/colab"
        place.mkdir(parents=True, exist_ok=True)
        argv = [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {
            "argv": argv,
            "display_name": "Colab",
            "language": "python",
            "env": self.environment,
        }
        (place / "kernel.json").write_text(json.dumps(spec))
        return place.parents[1]


@pytest.fixture(scope="session")
def colab(tmp_path_factory):
    if sys.platform == "win32":
        pytest.skip("Colab is Linux: the environment is made with links")
    made = Colab(tmp_path_factory.mktemp("colab"))
    os.environ["JUPYTER_PATH"] = str(made.kernel())
    yield made
    del os.environ["JUPYTER_PATH"]
