"""A function is called by position, whichever way it takes its arguments."""

import functools

import numpy as np
import pytest

from attention_src.calls import positional
from attention_src.exercises.equation import check_attention
from attention_src.models.smollm2.learner.dispatch import Parts

attention = check_attention.reference
NAMES = ("q", "k", "v", "mask")


def by_name(q, k, v, *, mask=None):
    return attention(q, k, v, mask)


def all_by_name(*, mask=None, v, q, k):
    return attention(q, k, v, mask)


@functools.wraps(by_name)
def decorated(*args, **kwargs):
    return by_name(*args, **kwargs)


FORMS = [by_name, all_by_name, decorated, lambda q, *, k, v, mask=None: attention(q, k, v, mask)]


@pytest.mark.parametrize("f", FORMS)
def test_what_is_taken_by_name_only_is_passed_by_name(f):
    q, k, v = np.random.default_rng(0).normal(size=(3, 4, 5))
    mask = np.tri(4, dtype=bool)
    called = positional(f, NAMES)
    np.testing.assert_array_equal(called(q, k, v, mask), attention(q, k, v, mask))
    np.testing.assert_array_equal(called(q, k, v), attention(q, k, v))
    with pytest.raises(TypeError):
        called(q)


def test_others_stay_what_they_are():
    for f in (attention, len, np.add, max, lambda *args: args, lambda q, k, v, *, scale=1: q):
        assert positional(f, NAMES) is f


@pytest.mark.parametrize("f", FORMS)
def test_an_answer_may_take_arguments_by_name_only(f):
    assert check_attention(f).status == "passed"


def test_a_wrong_answer_that_takes_them_so_is_told_what_is_wrong():
    def unscaled(q, k, v, *, mask=None):
        return by_name(q * np.sqrt(q.shape[-1]), k, v, mask=mask)

    result = check_attention(unscaled)
    assert result.status == "wrong" and "raised" not in result.message

    def raises(q, k, v, *, mask=None):
        return q + mask

    assert "in line" in check_attention(raises).message
    other = check_attention(lambda q, k, v, *, visible=None: attention(q, k, v, visible))
    assert other.status == "wrong"


def test_a_kept_function_may_take_them_so_too():
    q = np.random.default_rng(0).normal(size=(2, 3, 4))
    mask = np.tri(3, dtype=bool)
    mine, plain = Parts({"attention": by_name}), Parts({"attention": attention})
    np.testing.assert_array_equal(mine.attention(q, q, q, mask), plain.attention(q, q, q, mask))
    assert mine.whose()["attention"] == "yours, by_name"
