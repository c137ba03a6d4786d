"""Compiled or interpreted: decided once, before Triton is imported; too late is an error."""

import pytest
import torch

from attention_src.triton_support import interpreter
from triton_support.toy import afresh

ASK = "from attention_src.triton_support.launch import INTERPRETED; print(INTERPRETED)"


@pytest.mark.slow
def test_without_a_wish_the_machine_decides_before_anyone_else_imports_triton():
    done = afresh("import attention_src.softmax.layer, triton\n" + ASK)
    assert done.stdout.strip() == str(not torch.cuda.is_available()), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU this order is harmless")
def test_triton_imported_too_early_is_an_error():
    done = afresh("import triton\n" + ASK)
    assert done.returncode == 1 and done.stdout == ""
    assert "Triton was imported before attention_src could choose its interpreter" in done.stderr
    assert "Set TRITON_INTERPRET=1 before Python starts" in done.stderr


@pytest.mark.slow
def test_what_the_user_asks_for_is_honoured_in_any_order():
    done = afresh("import triton\n" + ASK, TRITON_INTERPRET="1")
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.slow
def test_without_triton_the_other_implementations_work():
    done = afresh(
        "import sys, torch\n"
        "sys.modules['triton'] = None  # any import of it now fails\n"
        "from attention_src.softmax.layer import softmax\n"
        "assert softmax(torch.zeros(2), impl='torch').tolist() == [0.5, 0.5]\n"
        "softmax(torch.zeros(2), impl='triton')"
    )
    assert done.returncode == 1
    assert "ImportError: Triton is missing, so the kernels cannot run; other impl" in done.stderr
    assert "pip install triton" in done.stderr


def test_the_ways_to_say_yes_and_no(monkeypatch):
    for value in ("1", "true", "ON", "Yes", "y", "0", "false", "off", ""):
        monkeypatch.setenv("TRITON_INTERPRET", value)
        assert interpreter.interpreted() == (value in ("1", "true", "ON", "Yes", "y"))
    monkeypatch.delenv("TRITON_INTERPRET")
    assert not interpreter.interpreted()
