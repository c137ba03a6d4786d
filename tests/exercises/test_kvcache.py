"""Caches that a learner's test meets, what happens at a full cache, the ladder."""

import pytest
from answers.kvcache import PORTIONS, draw, feed, whole

from attention_src.exercises.engine import running
from attention_src.exercises.engine.checking import passed
from attention_src.exercises.kvcache import (
    append_and_read,
    check_append_and_read,
    check_cache_test,
    check_token_ladder,
)


@pytest.mark.parametrize("one", check_cache_test.right, ids=lambda one: one.name)
@pytest.mark.parametrize("portions", [PORTIONS, (1,) * 32, (32,), (3, 29)])
def test_right_caches_are_right(one, portions):
    texts = draw(seed=1)
    for rows, text in zip(feed(one.function, texts, portions), texts, strict=True):
        assert abs(rows - whole(text)).max() < 5e-6


@pytest.mark.parametrize("one", check_cache_test.wrong, ids=lambda one: one.name)
def test_wrong_caches_are_wrong(one):
    texts = draw()
    found = feed(one.function, texts, PORTIONS)
    assert max(abs(x - whole(text)).max() for x, text in zip(found, texts, strict=True)) > 1e-2


def test_a_right_answer_is_praised_once_and_may_be_kept(capsys):
    assert check_append_and_read(append_and_read)
    assert capsys.readouterr().out.count("passed") == 1
    assert passed[append_and_read] == "append_and_read"


def unchecked(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    keys[..., length:end, :], values[..., length:end, :] = k_new, v_new
    return keys[..., :end, :], values[..., :end, :]


def hangs(keys, values, length, k_new, v_new):
    while length + k_new.shape[-2] > keys.shape[-2]:
        pass
    return append_and_read(keys, values, length, k_new, v_new)


def exits(keys, values, length, k_new, v_new):
    if length + k_new.shape[-2] > keys.shape[-2]:
        raise SystemExit
    return append_and_read(keys, values, length, k_new, v_new)


@pytest.mark.parametrize("answer", [unchecked, hangs, exits])
def test_what_fails_at_the_full_cache_is_neither_praised_nor_kept(answer, capsys, monkeypatch):
    monkeypatch.setattr(running.attempt, "__kwdefaults__", {"max_bytes": None, "seconds": 0.2})
    result = check_append_and_read(answer)
    assert result.status == ("too slow" if answer is hangs else "wrong")
    assert "ith 0 free and 1 new" in result.message
    assert "passed" not in capsys.readouterr().out and answer not in passed


def test_an_error_shows_the_line_of_the_answer():
    def stumbles(keys, values, length, k_new, v_new):
        return keys[99_999], values

    assert "return keys[99_999], values" in check_append_and_read(stumbles).message


def test_three_digits_are_enough_and_near_misses_are_refused():
    right = {r.letter: float(f"{r.value:.3g}") for r in check_token_ladder.rungs if r.rtol}
    assert check_token_ladder(**right, b=131_072).status == "passed"
    for letter, answer in dict(a=4.5, b=131_071, c=124_000, d=16, e=4200, f=8716).items():
        assert check_token_ladder(**{letter: answer}).status == "wrong", letter
