"""Attentions leak, or don't, as the exercise says; what is said of a mask with few keys."""

import numpy as np
import pytest
from worked import run_exercise

from attention_src.exercises.masking import causal, check_few_keys, check_leak_test

N = 40
TOKENS = np.random.default_rng(0).normal(size=(3, N, 4))


def moved(attention):
    """What tokens 0 to i get, less what they got, for each i: later ones changed, and cut."""
    whole = attention(*TOKENS)
    for i in range(N - 1):
        other = TOKENS.copy()
        other[:, i + 1 :] = 2 * np.random.default_rng(1).normal(size=other[:, i + 1 :].shape)
        yield (
            abs(attention(*other)[: i + 1] - whole[: i + 1]).max(),
            abs(attention(*TOKENS[:, : i + 1]) - whole[: i + 1]).max(),
        )


def test_leaks_are_as_large_as_the_exercise_says():
    for one in check_leak_test.wrong:
        changed, cut = np.max(list(moved(one.function)), axis=0)
        by_length = one.name == "scaled by length"  # which no change of numbers shows
        assert cut > 1e-3 and (changed > 1e-3) != by_length, one.name


def test_right_attentions_move_by_rounding_at_most():
    for one in check_leak_test.right:
        changed, cut = np.max(list(moved(one.function)), axis=0)
        assert max(changed, cut) < 1e-6 and (changed == 0) == (one.name != "centred and back")
        np.testing.assert_allclose(one.function(*TOKENS), causal(*TOKENS), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my_few_keys", "6 keys a query. 5 are possible"),
        ("my_few_keys_by_search", "5 keys a query. These are the fewest"),
    ],
)
def test_the_number_of_keys_is_praised(name, words):
    result = check_few_keys(run_exercise("labs/masking", "ex:masking-reach")[name])
    assert result.status == "passed" and words in " ".join(result.message.split())
