"""Who may import whom, read from the sources; and what really gets imported, in a fresh process."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attention_src"
FILES = sorted(PACKAGE.rglob("*.py"))
HELPERS = {"shapes", "costs", "timing", "testing", "figures", "svg"}
HELPERS |= {"interpreter", "kernels", "kernel_compile"}
HELPERS |= {"roofline", "workloads", "workloads_flash"}

# A topic may use the topics named here, and itself. Tuple order plays no part.
TOPICS = {
    "scores": set(),
    "softmax": set(),
    "rope": set(),
    "linear": set(),
    "ssm": {"linear"},
    "attention": {"softmax"},
    "flash": {"attention", "softmax"},
    "kvcache": {"attention", "softmax"},
    "ring": {"attention", "softmax", "flash"},
    "multihead": {"attention", "softmax", "rope", "kvcache", "flash"},
    "models": {"attention", "softmax", "rope", "kvcache", "flash", "multihead"},
    "explorables": {"attention", "softmax", "rope", "flash", "kvcache"},
    "exercises": {"scores", "softmax", "attention", "multihead", "rope", "flash", "linear", "ssm"}
    | {"kvcache", "ring", "models"},
}
# Files of mathematics: NumPy only.
MATHEMATICS = {"reference", "masks", "alternatives", "shapes", "costs", "traffic", "scaling"}
MATHEMATICS |= {"roofline", "workloads", "workloads_flash"}
MATHEMATICS |= {"checks", "duality", "time_invariant", "reference_latent", "placement"}
MATHEMATICS |= {"quantization"}
MATHEMATICS |= {"feature_maps", "forms", "decays", "gated", "delta"}
# Besides layers and kernels, what stands on torch.
ON_TORCH = (
    "kernel",
    "layer",
    "smollm2",
    "interpreter",
    "cache",
    "paged",
    "quantized",
    "tiled",
    "__main__",
)


def imports(path, *, top_level_only=False):
    """Dotted names of everything that a file imports: `from a.b import c` counts as a.b.c."""
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


def own(names):
    """What is imported from attention_src, each as its parts: ["softmax", "layer", "softmax"]."""
    return [name.split(".")[1:] for name in names if name.split(".")[0] == "attention_src"]


def name_of(path):
    return str(path.relative_to(PACKAGE))


def parametrize(files):
    return pytest.mark.parametrize("path", files, ids=name_of)


def test_the_rules_see_files():
    assert {"softmax/reference.py", "attention/layer.py"} <= {name_of(path) for path in FILES}


@parametrize(FILES)
def test_the_package_never_looks_back_at_the_book(path):
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & {"book", "notebooks", "tests", "tools", "benchmarks"}


@parametrize([path for path in FILES if path.stem in MATHEMATICS])
def test_mathematics_needs_numpy_only(path):
    roots = {name.split(".")[0] for name in imports(path)}
    assert roots <= {"numpy", "jaxtyping", "attention_src"} | sys.stdlib_module_names
    for parts in own(imports(path)):
        assert set(parts) & MATHEMATICS, f"{parts} is not mathematics"


@parametrize([path for path in FILES if path.stem == "layer"])
def test_layers_import_kernels_inside_functions(path):
    assert "triton" not in {name.split(".")[0] for name in imports(path)}
    for parts in own(imports(path, top_level_only=True)):
        assert not [part for part in parts if part.startswith("kernel")]


@parametrize([path for path in FILES if path.stem.startswith("kernel") or path.stem in MATHEMATICS])
def test_kernels_and_references_never_meet(path):
    for parts in own(imports(path)):
        other = "reference" if path.stem.startswith("kernel") else "kernel"
        assert not [part for part in parts if part.startswith(other)]


@parametrize([path for path in FILES if not path.stem.startswith("kernel")])
def test_only_kernels_import_triton(path):
    assert "triton" not in {name.split(".")[0] for name in imports(path)}


@parametrize(FILES)
def test_topics_are_used_in_one_direction(path):
    topic = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    used = {parts[0] for parts in own(imports(path)) if parts}
    if topic in HELPERS:
        assert used <= HELPERS
    elif topic != "__init__":
        assert topic in TOPICS, f"{topic} is a new topic: say in this test what it may use"
        assert used <= TOPICS[topic] | HELPERS | {topic}
    else:
        assert not imports(path), "importing the package should cost nothing"


def test_the_declared_order_has_no_cycle():
    left = {topic: set(uses) for topic, uses in TOPICS.items()}
    while left:
        free = {topic for topic, uses in left.items() if not uses & left.keys()}
        assert free, f"a cycle among {sorted(left)}"
        left = {topic: uses for topic, uses in left.items() if topic not in free}


def run(code):
    """Run code in a fresh interpreter; its output, or its error as an AssertionError."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def module_of(path):
    return "attention_src." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def without_torch():
    """Every module that should work where neither torch nor triton is installed."""
    names = [module_of(path) for path in FILES if not path.stem.startswith((*ON_TORCH, "__init__"))]
    return [re.sub(r"\.__init__$", "", name) for name in names]


def test_references_work_with_neither_torch_nor_triton():
    modules = without_torch()
    assert "attention_src.attention.reference" in modules and "attention_src.timing" in modules
    run(
        "import sys\n"
        "sys.modules['torch'] = sys.modules['triton'] = None  # any import of them now fails\n"
        "import importlib, pathlib\n"
        f"for name in {modules}: importlib.import_module(name)\n"
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
    modules = [name for name in without_torch() if name.split(".")[-1] in MATHEMATICS]
    out = run(
        "import sys, importlib\n"
        f"for name in {modules}: importlib.import_module(name)\n"
        "print(sorted({'torch', 'triton', 'matplotlib', 'beartype'} & set(sys.modules)))"
    )
    assert out.strip() == "[]"


def test_importing_the_package_costs_nothing():
    out = run(
        "import sys; before = set(sys.modules)\nimport attention_src\n"
        "print(sorted(n for n in set(sys.modules) - before if not n.startswith('__editable__')))"
    )
    assert out.strip() == "['attention_src']"
