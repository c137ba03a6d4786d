"""The product by blocks that pages load: its bytes, its numbers, and the model that runs on it."""

from pathlib import Path

import built_wasm
import numpy as np
import pytest
from python_in_page import in_python
from smollm2_support import CLOSE, model, text_ids, weights_file

from attention_src.models.formats.gguf_blocks import BLOCKS
from attention_src.models.smollm2.in_numpy import blocks

pytestmark = pytest.mark.slow

HERE = Path(blocks.__file__).parents[4] / "tools" / "page" / "models" / "blocks"
WASM = "/home/pyodide/blocks.wasm"
N = 9  # tokens


def test_the_files_are_those_that_were_built():
    built_wasm.assert_files_are_those_that_were_built(HERE, "blocks.c", "blocks.wasm")


def test_the_same_compiler_gives_the_same_bytes(tmp_path):
    made = tmp_path / "blocks.wasm"
    built_wasm.assert_the_same_compiler_gives_the_same_bytes(HERE, made.name, made)


# Each product beside float64, relative to the sum of |x| |w|; one or a few rows of x, and several.
NUMBERS = """
import numpy as np
from attention_src.models.smollm2.in_numpy import blocks
blocks.use("/home/pyodide/blocks.wasm")
rng, answer = np.random.default_rng(0), {"errors": [], "as an array": []}
for name, block in blocks.KINDS.items():
    sizes = (1, 96, 5), (3, 32, 7), (4, 96, 6), (11, 160, 3), (1, 1536, 2), (2, 64, 1)
    for n, d_in, d_out in sizes:
        rows = rng.integers(0, 256, (d_out, d_in // 32 * block.n_bytes), np.uint8)
        halves = rows.reshape(-1, block.n_bytes)[:, : 4 if name == "Q4_1" else 2]
        size = rng.normal(size=(len(halves), halves.shape[1] // 2)) * 10.0 ** rng.integers(-7, 3)
        halves[:] = size.astype("<f2").view(np.uint8)
        w, x = blocks.Blocks(block, rows), rng.normal(size=(n, d_in)).astype(np.float32)
        x[:, ::3] *= 10.0 ** rng.integers(-6, 6)
        x[0, :32] *= rng.integers(0, 2)
        exact, a = np.float64(x) @ np.float64(w), np.abs(np.float64(x)) @ np.abs(np.float64(w))
        answer["errors"].append(float((np.abs(x @ w - exact) / (a + 1e-30)).max()))
        floats = np.asarray(w)
        ways = (
            lambda w: np.dot(x, w), lambda w: np.einsum("ij,jk->ik", x, w), lambda w: x @ w[:, :1],
            lambda w: x[None] @ w, lambda w: w.T @ x.T, lambda w: 2 * w, lambda w: x[0] @ w,
            lambda w: np.matmul(x, w), lambda w: np.float64(x) @ w, lambda w: x[:, ::1][::-1] @ w,
        )
        for way in ways:
            found, wanted = way(w), way(floats)
            same = np.allclose(found, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())
            answer["as an array"].append(bool(same and found.shape == wanted.shape))
x = np.ones((5, 32), np.float32)
one = np.zeros((1, 20), np.uint8)
one[0, :2] = np.float16(1).reshape(1).view(np.uint8)
one[0, 4:] = 0x21  # codes 1 and 2
w = blocks.Blocks(blocks.KINDS["Q4_1"], one)
answer["known"] = [(x[:n] @ w).tolist() for n in (1, 5)]
x[:, 3] = np.inf
answer["infinite"] = [bool(np.isfinite(x[:n] @ w).any()) for n in (1, 5)]
x[:, 3] = np.nan
answer["not a number"] = [bool(np.isnan(x[:n] @ w).all()) for n in (1, 5)]
try:
    x[:, :31] @ w
except ValueError as error:
    answer["refused"] = str(error)
"""
# The model on the product.
MODEL = """
from attention_src.models.smollm2.in_numpy.listing import Storage, forward
from attention_src.models.smollm2.in_numpy.weights import load
raw = np.fromfile("/home/pyodide/raw", np.uint8)
model = load(raw)
storage = Storage.empty(model.config, len(ids) + 1)
every = forward(model, ids, storage)
after = forward(model, [ids[0]], storage)
kept = all(type(w) is blocks.Blocks for l in model.layers for w in (l.q, l.gate, l.down))
answer |= dict(every=every[:, ::97].tolist(), best=every.argmax(-1).tolist(), kept=kept)
answer |= dict(after=after[0, ::97].tolist(), heap=heap())
"""


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """What both say; Python is started once, since that takes seconds."""
    files = {HERE / "blocks.wasm": WASM, weights_file(): "/home/pyodide/raw"}
    code = f"{NUMBERS}\nids = {text_ids(N).tolist()}\n{MODEL}"
    return in_python(code, files, tmp_path_factory.mktemp("numbers"))


def test_a_product_is_as_exact_as_float32_can_be(numbers):
    assert len(numbers["errors"]) == 12 and max(numbers["errors"]) < 3e-7
    assert numbers["known"] == [[[48.0]], [[48.0]] * 5]


def test_what_is_not_finite_stays_so(numbers):
    assert numbers["infinite"] == [False, False]
    assert numbers["not a number"] == [True, True]


def test_blocks_behave_as_an_array(numbers):
    assert len(numbers["as an array"]) == 120 and all(numbers["as an array"])
    assert numbers["refused"] == "x has shape [5, 31]; it should be [..., 32]"


def test_the_model_in_a_page_gives_the_logits_of_the_torch_path(numbers):
    ids = text_ids(N)
    assert numbers["kept"], "not one matrix became float32"
    wanted = model().logits([*ids.tolist(), int(ids[0])]).numpy()
    np.testing.assert_allclose(numbers["every"], wanted[:-1, ::97], **CLOSE)
    assert numbers["best"] == wanted[:-1].argmax(-1).tolist()
    np.testing.assert_allclose(numbers["after"], wanted[-1, ::97], **CLOSE)
    assert 100e6 < numbers["heap"] < 400e6, "the file twice, in this test, no float32"


def test_without_the_product_a_matrix_is_float32():
    rows = np.zeros((3, 40), np.uint8)
    w = blocks.matrix(BLOCKS[3], rows)
    assert type(w) is np.ndarray and w.shape == (64, 3) and w.dtype == np.float32
    with pytest.raises(OSError):
        blocks.use(str(HERE / "no_such_file.wasm"))
