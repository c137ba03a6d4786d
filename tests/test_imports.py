"""A file's name says what it may import; fresh processes show what really gets imported.

import-linter checks which topic may use which, and that there are no cycles; its contracts are in
pyproject.toml.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attention_src"
FILES = sorted(PACKAGE.rglob("*.py"))
NUMPY = {"numpy", "jaxtyping", "attention_src"} | sys.stdlib_module_names
# Rooms that hold no topic; their files have no role.
NOT_TOPICS = {"models", "exercises", "explorables", "figures", "triton_support", "costs", "judge"}


def role(path):
    """What the name of a topic's file, or of its folder, begins with; None outside the topics."""
    room, *names = path.relative_to(PACKAGE).with_suffix("").parts
    if not names or room in NOT_TOPICS:
        return None
    beginnings = [r for r in ("layer", "cache", "kernel") for n in names if n.startswith(r)]
    return beginnings[0] if beginnings else "main" if names == ["__main__"] else "reference"


def in_role(*roles):
    files = [path for path in FILES if role(path) in roles]
    return pytest.mark.parametrize("path", files, ids=lambda path: str(path.relative_to(PACKAGE)))


def imports(path, *, top_level_only=False):
    """Dotted names of a file's imports; `from a.b import c` gives a.b.c."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        child
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        if top_level_only and node in inside:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import; write it out"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def roots(path):
    return {name.split(".")[0] for name in imports(path)}


def own(names):
    """The files of attention_src among these imports."""
    files = []
    for name in names:
        if name.split(".")[0] == "attention_src":
            parents = [ROOT.joinpath(*name.split(".")[:n]) for n in range(1, name.count(".") + 2)]
            found = [f for p in parents for f in (p.with_suffix(".py"), p / "__init__.py")]
            files.append([f for f in found if f.is_file()][-1])
    return files


def test_the_rules_see_files():
    named = {role(path): path.relative_to(PACKAGE).as_posix() for path in FILES}
    assert named.keys() == {None, "reference", "layer", "cache", "kernel", "main"}
    assert role(PACKAGE / "flash" / "kernel" / "config.py") == "kernel"
    assert own(["attention_src.flash.kernel.flash_forward"]) == [
        PACKAGE / "flash/kernel/__init__.py"
    ]


@in_role("reference")
def test_references_need_numpy_only(path):
    assert roots(path) <= NUMPY
    assert {role(file) for file in own(imports(path))} <= {"reference", None}


@in_role("layer", "cache", "main")
def test_layers_reach_kernels_inside_functions_only(path):
    assert "triton" not in roots(path)
    assert "kernel" not in {role(file) for file in own(imports(path, top_level_only=True))}


@in_role("kernel")
def test_kernels_share_nothing_with_references(path):
    assert not [f for f in own(imports(path)) if f.stem.startswith("reference")]


@in_role(None)
def test_triton_is_imported_in_one_room(path):
    assert "triton" not in roots(path) or path.parent.name == "triton_support"


ONE_EACH = ("drawings", "exercises", "explorables")  # a file for each figure or chapter


@pytest.mark.parametrize("room", sorted({path.parent for path in FILES}), ids=lambda p: p.name)
def test_no_room_is_crowded(room):
    files = [path for path in room.glob("*.py") if path.stem != "__init__"]
    assert len(files) <= 13 or room.name in ONE_EACH


def test_the_order_of_topics():
    """The contracts of pyproject.toml hold; a failure names the import that breaks one."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run(code):
    """Run code in a fresh interpreter; its output, or its error as an AssertionError."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules(files):
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in files]
    return [".".join(p).removesuffix(".__init__") for p in parts]


def without_torch():
    """Every module that should work where neither torch nor triton is installed."""
    rooms = ("models/cities", "models/copyist", "models/phone_book", "models/smollm2")
    rooms += ("models/recall",)
    rooms += ("triton_support",)
    torch_rooms = {PACKAGE / room for room in rooms}
    return modules(
        path
        for path in FILES
        if role(path) in ("reference", None)
        and (not torch_rooms & set(path.parents) or path.parent.name == "in_numpy")
        and path.stem != "tensors"
    )


def test_references_work_with_neither_torch_nor_triton():
    wanted = without_torch()
    assert "attention_src.attention.reference" in wanted and "attention_src.timing" in wanted
    run(
        "import sys\n"
        "sys.modules['torch'] = sys.modules['triton'] = None  # any import of them now fails\n"
        "import importlib, pathlib\n"
        f"for name in {wanted}: importlib.import_module(name)\n"
        "import numpy as np\n"
        "from attention_src.attention.reference import attention\n"
        "from attention_src.attention.masks import to_additive, causal_mask\n"
        "from attention_src.testing import make_qkv, probe_mask\n"
        "from attention_src.timing import measure\n"
        "assert attention(*make_qkv(), causal=True).shape == (2, 3, 7, 5)\n"
        "probe_mask(lambda q, k, v: attention(q, k, v, causal=True), causal_mask(5))\n"
        "assert to_additive(causal_mask(2), np.float32).tolist() == [[0, -np.inf], [0, 0]]\n"
        "measure(lambda: None, repeats=2)\n"
    )


def test_shapes_as_types_do_not_pull_in_torch():
    wanted = modules([path for path in FILES if role(path) == "reference"])
    out = run(
        "import sys, importlib\n"
        f"for name in {wanted}: importlib.import_module(name)\n"
        "print(sorted({'torch', 'triton', 'matplotlib', 'beartype'} & set(sys.modules)))"
    )
    assert out.strip() == "[]"


def test_importing_the_package_costs_nothing():
    out = run(
        "import sys; before = set(sys.modules)\nimport attention_src\n"
        "print(sorted(n for n in set(sys.modules) - before if not n.startswith('__editable__')))"
    )
    assert out.strip() == "['attention_src']"
