"""What happens at a full cache."""

import sys

import pytest

from attention_src.exercises import kvcache as ex
from attention_src.exercises.engine import running
from attention_src.exercises.engine.checking import passed


def test_a_right_answer_is_praised_once_and_may_be_kept(capsys):
    assert ex.check_append_and_read(ex.append_and_read)
    assert capsys.readouterr().out.count("passed") == 1
    assert passed[ex.append_and_read] == "append_and_read"


def goes_on():
    pass


def hangs():
    while True:
        pass


@pytest.mark.parametrize("full", [goes_on, hangs, sys.exit])
def test_what_fails_at_the_full_cache_is_neither_praised_nor_kept(full, capsys, monkeypatch):
    def answer(keys, values, length, k_new, v_new):
        no_room = length + k_new.shape[-2] > keys.shape[-2]
        return full() if no_room else ex.append_and_read(keys, values, length, k_new, v_new)

    monkeypatch.setattr(running.attempt, "__kwdefaults__", {"max_bytes": None, "seconds": 0.2})
    result = ex.check_append_and_read(answer)
    assert result.status == ("too slow" if full is hangs else "wrong")
    assert "ith 0 free and 1 new" in result.message
    assert "passed" not in capsys.readouterr().out and answer not in passed


def test_an_error_shows_the_line_of_the_answer():
    def stumbles(keys, values, length, k_new, v_new):
        return keys[99_999], values

    assert "return keys[99_999], values" in ex.check_append_and_read(stumbles).message
