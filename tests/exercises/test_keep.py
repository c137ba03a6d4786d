"""What is kept runs by itself, and nothing is kept that did not pass."""

import importlib
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import attention_src.exercises.keep as keeping
from attention_src.exercises.engine.checking import passed
from attention_src.exercises.keep import PARTS, keep, parts
from attention_src.exercises.masking import check_masked_softmax
from attention_src.exercises.scores import check_dot_scores
from attention_src.exercises.softmax import check_softmax, check_softmax_backward

TINY = 0.0


def exponentials(x):
    return np.exp(x - x.max(axis=-1, keepdims=True)) + TINY


def softmax(x):
    e = exponentials(np.asarray(x, dtype=np.float64))
    return e / e.sum(axis=-1, keepdims=True)


def with_another_name(x):
    def halves(e):
        return e / math.fsum([2.0]) / (e.sum(axis=-1, keepdims=True) / 2)

    return halves(exponentials(np.asarray(x, dtype=np.float64)))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_ATTENTION", str(tmp_path / "mine"))
    return tmp_path / "mine"


@pytest.mark.parametrize("f", [softmax, with_another_name])
def test_a_kept_function_runs_in_another_process(f, folder, capsys):
    assert check_softmax(f)
    keep(check_softmax, f)
    assert f"softmax: kept in {folder / 'softmax.py'}" in capsys.readouterr().out
    code = "from attention_src.exercises.keep import parts; print(parts()['softmax']([[0, 0.]]))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[[0.5 0.5]]\n"


def test_what_is_kept_passes_its_check_again():
    check_softmax(softmax)
    keep(check_softmax, softmax)
    assert list(parts()) == ["softmax"]
    assert check_softmax(parts()["softmax"])


def scale_by_name(q, k, *, scale=None):
    return q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)


def test_what_takes_an_argument_by_its_name_alone_is_kept_and_called_by_position():
    assert check_dot_scores(scale_by_name)
    keep(check_dot_scores, scale_by_name)
    q, k = np.eye(2), np.ones((3, 2))
    np.testing.assert_array_equal(parts()["dot_scores"](q, k, 3.0), 3 * np.ones((2, 3)))
    np.testing.assert_allclose(parts()["dot_scores"](q, k), np.ones((2, 3)) / 2**0.5)


def test_nothing_is_written_before_the_check_has_passed(folder, capsys):
    def stub(scores, mask):
        raise NotImplementedError

    for f in (stub, len, 3):
        keep(check_masked_softmax, f)
    check_softmax(lambda x: x)
    keep(check_softmax, lambda x: x)
    keep(check_masked_softmax, softmax)
    assert not folder.exists() and parts() == {}
    assert "masked_softmax: nothing to keep yet." in capsys.readouterr().out


def test_what_cannot_stand_alone_is_refused_with_its_reason(folder, capsys):
    def around(n):
        def softmax(x):
            e = np.exp(x - np.max(x, axis=-1, keepdims=True)) * n
            return (e / e.sum(axis=-1, keepdims=True)).astype(np.float64)

        return softmax

    inner, said = around(1), "variables of the function around it"
    for f, why in ((inner, said), (LAMBDA, "written with def"), (uses_a_table, "It uses TABLE")):
        passed[f] = "softmax"
        keep(check_softmax, f)
        assert why in capsys.readouterr().out
    assert not folder.exists()


LAMBDA = lambda x: softmax(x)  # noqa: E731
TABLE = {"one": 1}


def uses_a_table(x):
    return softmax(x) * TABLE["one"]


def test_only_a_part_can_be_kept():
    with pytest.raises(ValueError, match=r"check is softmax_backward, it should be one of check_"):
        keep(check_softmax_backward, softmax)


def test_a_damaged_file_is_named(folder):
    folder.mkdir()
    (folder / "softmax.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"softmax\.py defines no function softmax"):
        parts()
    (folder / "softmax.py").write_bytes("def softmax(é): ...".encode("latin-1"))
    with pytest.raises(ValueError, match=r"softmax\.py is not UTF-8, keep softmax again"):
        parts()


@pytest.mark.parametrize("part", PARTS)
def test_the_check_of_each_part_is_where_a_page_seeks_it(part):
    home = importlib.import_module(f"attention_src.exercises.{PARTS[part]}")
    assert getattr(home, f"check_{part}").name.removeprefix("my_") == part


@pytest.fixture
def in_page(monkeypatch):
    """As in a page; gives what was handed to the browser, as (part, code)."""
    given = []
    page = SimpleNamespace(keep=lambda part, code: given.append((part, code)))
    monkeypatch.setitem(sys.modules, "page", page)
    monkeypatch.setattr(keeping, "IN_PAGE", True)
    return given


def test_a_page_hands_the_function_to_the_browser(in_page, folder, capsys):
    assert check_softmax(softmax)
    capsys.readouterr()
    keep(check_softmax, softmax)
    assert in_page == [("softmax", (folder / "softmax.py").read_text())]
    assert capsys.readouterr().out == "", "the page says whether it was kept"
    assert check_softmax(parts()["softmax"])


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def softmax(x) return x", "does not run any more (SyntaxError: expected ':'"),
        ("x = 1", "does not run any more (ValueError: "),
        ("raise OSError('gone')", "does not run any more (OSError: gone)"),
        ("def softmax(x):\n    return x", "does not pass check_softmax any more"),
        ("def softmax(x):\n    return y", "does not pass check_softmax any more"),
    ],
)
def test_a_page_names_what_is_right_no_more_and_leaves_it_out(code, why, in_page, folder, capsys):
    folder.mkdir()
    (folder / "softmax.py").write_text(code)
    sound = "def split_heads(x, n):\n    return x.reshape(*x.shape[:-1], n, -1).swapaxes(-2, -3)\n"
    (folder / "split_heads.py").write_text(sound)
    assert list(parts()) == ["split_heads"]
    said = capsys.readouterr().out
    assert said.startswith(f"softmax: left out. What you kept {why}") and said.count("\n") == 1
