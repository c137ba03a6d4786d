"""Counters that a learner's test meets are as right and wrong as the exercise says."""

import pytest

from attention_src.exercises.costs import check_flops_test

SIZES = (3, 5, 7, 2, 4)


def by_pairs(n_q, n_k, d_k, d_v, n_heads, causal):
    seen = [n_k - n_q + i + 1 if causal else n_k for i in range(n_q)]
    return 2 * n_heads * sum(seen) * (d_k + d_v)


@pytest.mark.parametrize("one", check_flops_test.right, ids=lambda one: one.name)
def test_right_counters_are_right(one):
    for sizes in (SIZES, (1, 9, 4, 4, 1), (6, 6, 2, 3, 2)):
        for causal in (False, True):
            assert one.function(*sizes, causal) == by_pairs(*sizes, causal)


@pytest.mark.parametrize("one", check_flops_test.wrong, ids=lambda one: one.name)
def test_wrong_counters_are_wrong(one):
    assert any(one.function(*SIZES, c) != by_pairs(*SIZES, c) for c in (False, True))
