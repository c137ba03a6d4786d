"""What pip installs: every file of the package, and the package needs nothing else to run.

The wheel is built without a network, unpacked, and used by processes that find neither the checkout
nor its tools. The editable installation of .venv would hide that a file is missing.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from attention_src.models import install

ROOT = Path(__file__).parents[1]
backend = pytest.importorskip("flit_core.buildapi")  # what pip calls, see pyproject.toml

# First in every process: of the course, it finds nothing but the wheel.
ALONE = """
import importlib, importlib.util, runpy, sys
from pathlib import Path
wheel = sys.argv.pop(1)
sys.path = [wheel, *(p for p in sys.path if not (Path(p) / "attention_src").exists())]
import attention_src
assert Path(attention_src.__file__).is_relative_to(wheel), attention_src.__file__
assert importlib.util.find_spec("tools") is None
"""

# Triton is not there on every system, and numba is asked for by name.
IMPORT_ALL = """
for file in sorted(Path(wheel).glob("attention_src/**/*.py")):
    if file.name == "__main__.py":
        continue
    try:
        importlib.import_module(".".join(file.relative_to(wheel).with_suffix("").parts))
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] not in ("triton", "numba"):
            raise
"""

READ_ALL = """
from attention_src.explorables import NAMES, explorable_html
from attention_src.models import corpus
from attention_src.models.minilm.golden import load_recorded
for name in NAMES:
    assert explorable_html(name).startswith("<div")
assert all(map(corpus.load_text, corpus.TEXTS))
assert load_recorded().hidden.any()
"""

WRITE = "runpy.run_module('attention_src.models.smollm2', run_name='__main__', alter_sys=True)"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the unpacked wheel, and the names of the files in the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        wheel, sdist = backend.build_wheel(folder), backend.build_sdist(folder)
    with zipfile.ZipFile(folder / wheel) as file:
        in_wheel = set(file.namelist())
        file.extractall(folder / "wheel")
    with tarfile.open(folder / sdist) as file:
        in_sdist = {name.partition("/")[2] for name in file.getnames()}
    return SimpleNamespace(folder=folder, wheel=in_wheel, sdist=in_sdist)


def tracked():
    """The package's files, as git knows them; new ones too, unless they are ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        [*command, "attention_src"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    if listed.returncode != 0:
        pytest.skip("git does not know this folder")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def run(built, code, *arguments):
    """Run code in a new process that has the wheel; return what it printed."""
    command = [sys.executable, "-c", ALONE + code, str(built.folder / "wheel"), *arguments]
    done = subprocess.run(command, cwd=built.folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_every_file_of_the_package(built):
    assert {name for name in built.wheel if ".dist-info/" not in name} == tracked()


def test_the_sdist_has_all_that_a_wheel_is_built_from(built):
    assert {name for name in built.sdist if name.startswith("attention_src/")} == tracked()
    assert {"pyproject.toml", "README.md", "LICENSE"} <= built.sdist


@pytest.mark.slow
def test_every_module_is_imported_from_the_wheel(built):
    pytest.importorskip("torch")
    run(built, IMPORT_ALL)


def test_the_wheel_draws_and_reads_what_it_brings(built):
    run(built, READ_ALL)


@pytest.mark.slow
def test_the_wheel_writes_a_sentence(built):
    try:
        install.folder("smollm2")
    except ImportError as error:
        pytest.skip(str(error))
    said = run(built, WRITE, "The capital of France is", "--max-new-tokens", "5", "--threads", "1")
    assert said.startswith("The capital of France is Paris")
