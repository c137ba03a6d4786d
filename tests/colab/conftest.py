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
from packaging.utils import canonicalize_name

from tools.book.chapters import Book

ROOT = Path(__file__).parents[2]
# Colab's image, as far as these versions have wheels for every Python that the course supports.
# jaxtyping is not there, and of course not attention_src.
COLAB = {
    "numpy": "2.1.3",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "matplotlib": "3.10.0",
    "safetensors": "0.7.0",
    "tokenizers": "0.22.2",
}
# Needed by these old versions, in this form by nothing else here.
OLD = ("backcall", "decorator", "huggingface_hub<2", "nest_asyncio", "pickleshare")
# Nothing of this checkout; bytecode is kept, because pip does not compile.
PYTHON = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": ""}
# Bytecode of modules that are never imported takes half of pip's time.
QUICK = ("-q", "--no-deps", "--no-compile")


class Colab:
    """The environment: run Python in it, start kernels in it."""

    def __init__(self, folder):
        self.folder = folder
        venv.create(folder / "venv")
        self.python = folder / "venv/bin/python"
        self.environment = PYTHON
        purelib = self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        self.site = Path(purelib)
        self._lend("pip")
        self.run("-m", "pip", "install", *QUICK, *(f"{n}=={v}" for n, v in COLAB.items()), *OLD)
        # Colab brings triton with a GPU; without one a set-up cell fetches it, which takes long.
        self._lend("torch", "triton", "numba", *COLAB)
        self.environment = self._redirect(Book(ROOT))

    def run(self, *arguments):
        ran = subprocess.run(
            [self.python, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**os.environ, **self.environment},
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

    def _lend(self, *names):
        """Link packages of this environment, and all that they need, into the fresh one."""
        own = {canonicalize_name(d.name): d for d in metadata.distributions(path=[str(self.site)])}
        todo, done = [Requirement(name) for name in names], set()
        while todo:
            needed = todo.pop()
            name = canonicalize_name(needed.name)
            distribution = own.get(name) or metadata.distribution(name)
            assert needed.specifier.contains(distribution.version, prereleases=True), (
                f"an old version asks for {needed}: add it to OLD"
            )
            if name in done:
                continue
            done.add(name)
            if name not in own:
                self._link(distribution)
            requires = map(Requirement, distribution.requires or [])
            todo += [r for r in requires if not r.marker or r.marker.evaluate({"extra": ""})]

    def _link(self, distribution):
        tops = {f.parts[0] for f in distribution.files or [] if f.parts[0] != ".."}
        for top in tops - {"__pycache__", "bin"}:
            if not (self.site / top).exists():
                (self.site / top).symlink_to(Path(distribution.locate_file(top)).resolve())

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
            ["init", "-q"],
            ["add", "-A"],
            [*identity, "commit", "-q", "-m", "x"],
            ["tag", book.release],
        ):
            subprocess.run(["git", *step], cwd=copy, check=True)
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.file://{copy}.insteadOf",
            "GIT_CONFIG_VALUE_0": book.repository,
            **PYTHON,
            "PIP_COMPILE": "0",
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
