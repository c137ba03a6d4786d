"""What happens at a full cache."""

import sys

import numpy as np
import pytest

from attention_src.attention.reference import attention
from attention_src.exercises import kvcache as ex
from attention_src.exercises.engine import running
from attention_src.exercises.engine.checking import passed
from attention_src.rope.reference import rotate


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


def compares(start, rows=lambda q, k, v, n: attention(*_turned(q, k), v, causal=True)[n:], **how):
    """A learner's test: one text in pieces, against `rows` of the tokens so far."""
    text = np.random.default_rng(0).normal(size=(3, 12, 8))
    go_on, n = start(), 0
    for n_new in (5, 1, 1, 4, 1):
        begin = 0 if how.get("again") else n
        o = go_on(*text[:, begin : n + n_new].copy())[-n_new:]
        right = rows(*text[:, : n + n_new], n)
        if how.get("exact"):
            assert (o == right).all()
        assert np.allclose(o, right, atol=1e-5)
        n += n_new


def _turned(*arrays):
    return (rotate(x, np.arange(len(x))) for x in arrays)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"rows": lambda q, k, v, n: attention(q, k, v, causal=True)[n:]}, "never rotates"),
        ({"rows": lambda q, k, v, n: attention(*_turned(q, k), v)[n:]}, "without a causal mask"),
        (
            {"rows": lambda q, k, v, n: attention(*_turned(q[n:], k[n:]), v[n:], causal=True)},
            "keeps nothing",
        ),
        ({"again": True}, "old tokens again"),
        ({"exact": True}, "with a tolerance"),
        ({"rows": lambda q, k, v, n: v[n:] + 1}, "may lack the causal mask"),
    ],
)
def test_a_test_that_refuses_right_caches_hears_why(how, said):
    message = ex.check_cache_test(lambda start: compares(start, **how)).message
    assert "refuses a right" in message and said in " ".join(message.split())
    assert "Likely cause" in message


@pytest.mark.parametrize(
    ("e", "f", "said"),
    [
        (4270, 6460, "passed"),
        (4.257, 6460, "in a millisecond"),
        (4257, 8500, "Only the caches shrink"),
    ],
)
def test_tokens_a_second_may_follow_from_rounded_rungs(e, f, said):
    message = ex.check_token_ladder(4.78, 131072, 122_000, 15.0, e, f).message
    assert said in " ".join(message.split())
