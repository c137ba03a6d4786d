"""The ladder on what goes over the wire: right values hold, wrong ones are told why."""

import inspect

import pytest
from worked import BOOK

from attention_src.exercises.longcontext import check_ring_ladder
from attention_src.exercises.longcontext.ladder import RING

PAGE = (BOOK / "longcontext.md").read_text(encoding="utf-8")


def test_the_worked_ladder():
    code = PAGE.split("a = 2 * 131_072")[1].split("check_ring_ladder")[0]
    names = {}
    exec("a = 2 * 131_072" + code, names)
    answers = [names[letter] for letter in "abcdef"]
    assert check_ring_ladder(*answers).status == "passed"
    assert check_ring_ladder().status == "not started"
    assert list(inspect.signature(check_ring_ladder).parameters) == list("abcdef")


def test_every_wrong_value_of_the_ladder_is_answered():
    for rung in RING.rungs:
        for reply in rung.replies:
            result = check_ring_ladder(**{rung.letter: reply.value()})
            words = " ".join(result.message.split())
            assert reply.message[:25] in words, (rung.letter, words)
            assert "0 of 6 rungs hold" in words


@pytest.mark.parametrize(
    "given",
    [dict(a=1), dict(b=2**26), dict(c=0), dict(d=8), dict(e=8000), dict(f=0.47), dict(f=1.0)],
)
def test_other_wrong_values_do_not_hold(given):
    assert "0 of 6 rungs hold" in " ".join(check_ring_ladder(**given).message.split())
