"""make jitter finds what rounding turns, and nothing else; what passed is not tried again."""

import ast
import builtins
import contextlib
import io
import json
import subprocess
import sys

import nbformat
import numpy as np
import pytest
import torch

from tools.ci.jitter import __main__ as jitter
from tools.ci.jitter import install, moves, noise, noise_torch

RNG = np.random.default_rng(0)
WIDE, TALL = RNG.normal(size=(7, 11)), RNG.normal(size=(11, 5))
COUNTS = RNG.integers(-9, 9, size=(7, 11)).astype(float)
CALLS = {
    "@": (WIDE, TALL),
    "matmul": (RNG.normal(size=(2, 7, 11)), TALL),
    "dot": (WIDE[0], TALL[:, 0]),
    ".dot": (WIDE, TALL),
    "einsum": ("...qd,kd->...qk", WIDE, TALL.T),
    "sum": (WIDE, 1),
    ".sum": (WIDE,),
    "mean": (WIDE, (0, 1)),
    ".mean": (WIDE, -1),
    "exp": (WIDE,),
    ".std": (WIDE,),
    "linalg.norm": (WIDE,),
}


@pytest.fixture
def seed(monkeypatch):
    def choose(number):
        monkeypatch.setattr(noise, "SEED", number)

    return choose


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CALLS)
def test_a_seed_moves_last_bits_alike_each_time(name, dtype, seed):
    arguments = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in CALLS[name]]
    seed(0)
    plain = noise.in_numpy(name)(*arguments)
    found = []
    for number in (1, *range(1, 9)):
        seed(number)
        found.append(noise.in_numpy(name)(*arguments))
        assert type(found[-1]) is type(plain) and found[-1].dtype == plain.dtype
        np.testing.assert_allclose(found[-1], plain, rtol=0, atol=40 * np.finfo(dtype).eps)
    assert np.array_equal(found[0], found[1])
    assert len({x.tobytes() for x in [plain, *found]}) > 1


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_is_exact_stays_exact(number, seed):
    seed(number)
    call = noise.in_numpy
    assert np.array_equal(call("@")(COUNTS, COUNTS.T), COUNTS @ COUNTS.T)
    assert call(".sum")(COUNTS) == COUNTS.sum()
    assert np.array_equal(call(".mean")(np.ones((3, 7)), axis=0), np.ones(7))
    assert np.array_equal(call("exp")(np.array([0.0, -np.inf])), [1, 0])
    assert call("log")(np.float64(1)) == 0
    assert call(".mean")(np.array([1, 2])) == 1.5 and call(".sum")(np.zeros((0, 3))) == 0
    assert call("sum")([1, 2]) == 3 and call("dot")(2.0, 3.0) == 6
    with pytest.raises(ValueError, match="matmul"):
        call("@")(WIDE, WIDE)


def in_torch(f):
    """What f gives within the mode that noise_torch enters."""
    mode = noise_torch.mode(torch)
    with mode:
        return f()


def trained(dtype=torch.float32):
    """A weight after a step, a forward and a backward pass behind it."""
    torch.manual_seed(0)
    x, w = torch.randn(5, 13, dtype=dtype), torch.randn(13, 3, dtype=dtype, requires_grad=True)
    (x @ w).softmax(-1)[:, 0].log().mean().backward()
    return w.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_torch_moves_below_autograd(dtype, seed):
    plain = trained(dtype)
    seed(0)
    assert torch.equal(in_torch(lambda: trained(dtype)), plain)
    seed(1)
    first, again = (in_torch(lambda: trained(dtype)) for _ in range(2))
    assert torch.equal(first, again) and first.dtype == dtype
    torch.testing.assert_close(first, plain, rtol=0, atol=20 * torch.finfo(dtype).eps)
    assert dtype == torch.bfloat16 or not torch.equal(first, plain)


def test_torch_keeps_what_is_exact(seed):
    seed(2)
    x = torch.from_numpy(COUNTS)
    assert torch.equal(in_torch(lambda: x @ x.T), x @ x.T)
    assert torch.equal(in_torch(lambda: x.bfloat16() @ x.T.bfloat16()), (x @ x.T).bfloat16())
    assert torch.equal(in_torch(lambda: x.sum((0, 1))), x.sum())
    assert in_torch(lambda: torch.tensor(3.0).sum() + torch.zeros(0).sum()) == 3
    y = torch.ones(2, 3)
    in_torch(lambda: y.addmm_(torch.ones(2, 4), torch.ones(4, 3)))
    assert (y == 5).all()


def test_programs_are_rewritten_where_they_round():
    code = "a @ b\nnp.exp(x).sum(axis=0)\nsum(x)\nx.reshape(3)\nx * y"
    assert ast.unparse(install.rewrite(ast.parse(code))).splitlines() == [
        "__jitter__('@')(a, b)",
        "__jitter__('.sum')(__jitter__('exp')(x), axis=0)",
        "sum(x)",
        "x.reshape(3)",
        "x * y",
    ]


def test_a_table_says_between_what_a_number_moves():
    cell, old = "tiny.ipynb Cell 3", "loss  9.9 ± 0.20"
    one, other = (cell, old, "loss 10.1 ± 0.20"), (cell, old, "loss  9.8 ± 0.21")
    assert moves.table([one, (cell, "a b", "a c"), other]) == [
        "tiny.ipynb Cell 3 | loss  9.9 ± 0.20 | loss 9.8 to 10.1 ± 0.20 to 0.21",
        "tiny.ipynb Cell 3 | a b | a c",
    ]
    assert moves.different("x", ["a\nb", "c"], ["a\nx", "c"]) == [("x", "b", "x")]
    assert moves.different("x", ["a"], ["a\nb"]) == [("x", "a", "a\nb")]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of two notebooks, of which one has passed; what a run finds is in `results`."""
    (tmp_path / "notebooks").mkdir()
    for slug in ("flash", "rope"):
        (tmp_path / "notebooks" / f"{slug}.ipynb").write_text(json.dumps(f"{slug}-new"))
    monkeypatch.setattr(jitter, "digest", lambda notebook: notebook)
    monkeypatch.setattr(jitter, "ROOT", tmp_path)
    monkeypatch.setattr(jitter, "PASSED", tmp_path / "passed.json")
    jitter.PASSED.write_text('{"flash": "flash-new", "rope": "rope-old"}')
    tried, results = [], {}

    def run(slug, seed):
        tried.append((slug, seed))
        return results.get((slug, seed), jitter.Run([], []))

    monkeypatch.setattr(jitter, "run", run)
    return tried, results


def test_a_digest_is_of_code_and_of_what_is_printed():
    def digest(code="print(1)", prose="One.", **output):
        cells = [
            {"cell_type": "markdown", "source": prose},
            {"cell_type": "code", "source": code, "outputs": [output or {"text": ["1\n"]}]},
        ]
        return jitter.digest({"cells": cells})

    assert digest() == digest(prose="Two.") == digest(text="1\n")
    three, four = (digest(text=f"1\n[time] once: {n} ms\n") for n in (3, 4))
    assert three == four
    shown, other = (digest(data={"text/plain": "2", "image/png": x}) for x in ("iVBO", "AAAA"))
    assert shown == other, "a picture is not compared"
    assert len({digest(), digest(code="print(2)"), digest(text="2\n"), shown}) == 4


MOVED = [("rope.ipynb Cell 1", "0.10", "0.11")]


def test_only_what_has_not_passed_is_tried_and_then_recorded(course, capsys):
    tried, _ = course
    assert jitter.main(["--changed", "--seeds", "4,5"]) == 0
    assert tried == [("rope", 4), ("rope", 5)]
    assert capsys.readouterr().out == "Seeds 4,5: 1 notebooks passed, 0 failed\n"
    assert jitter.main(["--changed"]) == 0 and len(tried) == 2
    assert capsys.readouterr().out.endswith(" 0 notebooks passed, 0 failed\n")


def test_one_seed_is_too_few_to_record(course):
    assert jitter.main(["--seeds", "0,1"]) == 0
    assert jitter.recorded()["rope"] == "rope-old"


def test_a_number_that_moves_starts_six_more_seeds_for_its_notebook(course, capsys):
    tried, results = course
    results["rope", 2] = jitter.Run([], MOVED)
    assert jitter.main([]) == 0
    flash, rope = ([seed for slug, seed in tried if slug == name] for name in ("flash", "rope"))
    assert flash == [1, 2, 3] and rope == list(range(1, 10))
    assert "rope.ipynb Cell 1 | 0.10 | 0.10 to 0.11\n" in capsys.readouterr().out
    assert jitter.recorded()["rope"] == "rope-new"


def test_what_fails_is_named_and_not_recorded(course, capsys):
    tried, results = course
    results["rope", 3] = jitter.Run(["rope.ipynb Cell 1"], MOVED)
    assert jitter.main([]) == 1 and len(tried) == 6
    assert jitter.recorded() == {"flash": "flash-new", "rope": "rope-old"}
    said = capsys.readouterr().out
    assert said.endswith("FAILED rope.ipynb Cell 1\nSeeds 1,2,3: 1 notebooks passed, 1 failed\n")


CODES = (
    "import numpy as np\nx = np.exp(np.random.default_rng(0).normal(size=9))\nprint(x.round(6))",
    "y = x % 1\nfor _ in range(99):\n    y = 3.9 * y * (1 - y)  # chaos\nprint(y.round(3))",
)


def printed(code, names):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(install.rewrite(ast.parse(code)), "cell", "exec"), names)
    return said.getvalue()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_magnified_number_turns_and_a_stable_one_does_not(number, seed, monkeypatch):
    monkeypatch.setattr(builtins, "__jitter__", noise.in_numpy, raising=False)
    found = []
    for chosen in (0, number):
        seed(chosen)
        names = {}
        found.append([printed(code, names) for code in CODES])
    assert found[0][0] == found[1][0] and found[0][1] != found[1][1]


@pytest.mark.weekly
def test_a_run_of_a_notebook_finds_the_same(tmp_path, monkeypatch):
    cells, names = [], {"__jitter__": noise.in_numpy}
    for count, code in enumerate(CODES, 1):
        said = printed(code, names)
        cell = nbformat.v4.new_code_cell(code, execution_count=count)
        cell.outputs = [nbformat.v4.new_output("stream", text=said)]
        cells.append(cell)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    (tmp_path / "notebooks").mkdir()
    nbformat.write(notebook, tmp_path / "notebooks/tiny.ipynb")
    monkeypatch.setattr(jitter, "ROOT", tmp_path)
    assert jitter.run("tiny", 0) == jitter.Run([], [])
    found = jitter.run("tiny", 1)
    assert found.failed == [cell for cell, _, _ in found.moved] == ["tiny.ipynb Cell 1"]


@pytest.mark.slow
def test_every_notebook_has_passed_with_other_roundings():
    """Tries those whose code or output changed; make jitter ONLY=--changed records that."""
    ran = subprocess.run(
        [sys.executable, "-m", "tools.ci.jitter", "--changed"],
        cwd=jitter.ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
