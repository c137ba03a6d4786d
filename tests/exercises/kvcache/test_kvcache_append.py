"""Append and read: right answers pass and may be kept, wrong ones do not and are named."""

import numpy as np
import pytest
from append_answers import KEPT, WRONG, append_and_read, checked
from worked import assert_rejected, assert_worked

from attention_src.exercises.engine.checking import passed
from attention_src.exercises.kvcache import append, check_append_and_read


def test_worked_solution_and_stub():
    assert_worked("kvcache", check_append_and_read, append_and_read)


def test_it_is_kept_under_its_own_name():
    assert check_append_and_read(append_and_read)
    assert passed[append_and_read] == "append_and_read"


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="should be a function"):
        check_append_and_read(3)


# --- right -------------------------------------------------------------------------------------


def token_by_token(keys, values, length, k_new, v_new):
    for i in range(k_new.shape[-2]):
        keys[..., length + i, :] = k_new[..., i, :]
        values[..., length + i, :] = v_new[..., i, :]
    n = length + k_new.shape[-2]
    return keys[..., :n, :], values[..., :n, :]


def by_axes(keys, values, length, k_new, v_new):
    """Tokens in front, by swapped axes, which are views."""
    n = k_new.shape[-2]
    for room, new in ((keys, k_new), (values, v_new)):
        room.swapaxes(0, -2)[length : length + n] = new.swapaxes(0, -2)
    return [x.swapaxes(0, -2)[: length + n].swapaxes(0, -2) for x in (keys, values)]


def by_copyto(keys, values, length, k_new, v_new):
    end = length + k_new.shape[-2]
    views = keys[..., :end, :], values[..., :end, :]
    for view, new in zip(views, (k_new, v_new), strict=True):
        np.copyto(view[..., length:, :], new)
    return views


def by_put(keys, values, length, k_new, v_new):
    at = np.arange(length, length + k_new.shape[-2])
    keys[..., at, :], values[..., at, :] = k_new, v_new
    return keys[..., : at[-1] + 1, :], values[..., : at[-1] + 1, :]


def in_torch(keys, values, length, k_new, v_new):
    torch = pytest.importorskip("torch")
    end, views = length + k_new.shape[-2], []
    for room, new in ((keys, k_new), (values, v_new)):
        x = torch.from_numpy(room)
        x.narrow(-2, length, end - length).copy_(torch.from_numpy(new))
        views.append(x.narrow(-2, 0, end).numpy())
    return tuple(views)


RIGHT = {
    "worked solution": append_and_read,
    "token by token": checked(token_by_token),
    "swapped axes": checked(by_axes),
    "copyto": checked(by_copyto),
    "indices": checked(by_put),
    "torch": checked(in_torch),
    "a list": lambda *x: list(append_and_read(*x)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_append_and_read(RIGHT[name]).status == "passed"


# --- wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    KEPT.clear()
    answer, spoken_of = WRONG[name]
    assert_rejected(check_append_and_read, answer, spoken_of)


@pytest.mark.parametrize("name", ["unchecked", "refuses an exact fit", "writes before it raises"])
def test_what_fails_at_the_full_cache_is_neither_praised_nor_kept(name, capsys):
    answer = WRONG[name][0]
    check_append_and_read(answer)
    assert "passed" not in capsys.readouterr().out
    assert answer not in passed


def test_a_right_answer_is_praised_once(capsys):
    check_append_and_read(append_and_read)
    assert capsys.readouterr().out.count("passed") == 1


@pytest.mark.parametrize("what", ["hangs", "exits"])
def test_what_never_ends_or_exits_at_the_full_cache_is_stopped(what, monkeypatch):
    monkeypatch.setattr(append.attempt, "__kwdefaults__", {"max_bytes": None, "seconds": 0.2})

    def answer(keys, values, length, k_new, v_new):
        while length + k_new.shape[-2] > keys.shape[-2]:
            if what == "exits":
                raise SystemExit
        return append_and_read(keys, values, length, k_new, v_new)

    result = check_append_and_read(answer)
    assert result.status == {"hangs": "too slow", "exits": "wrong"}[what]
    assert "ith 0 free and 1 new" in result.message and answer not in passed
