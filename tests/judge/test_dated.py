"""The dated bugs of "It happened" that are about values are recognised by their names."""

import re

import pytest
from dated import DATED
from verdicts import verdict_of

MISSED = {  # what the judge does not recognise yet
    "positions_in_bfloat16",
    "never_looks",
    "RolledTooEarly",
    "size_of_a_group_for_their_number",
    "asking_changed_them",
    "a_bias_that_switched_the_mask_off",
    "window_of_one_more",
}
NOT_TOLD = {  # recognised, but it is not said to whom it happened
    "lse_in_the_wrong_base",
    "by_the_book",
    "attention_by_the_book",
    "multiplied_not_divided",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "kind", "key", "bug"), DATED, ids=[d[3].__name__ for d in DATED]
)
def test_a_dated_bug_is_recognised(source, kind, key, bug):
    if bug.__name__ in MISSED:
        pytest.xfail("not recognised")
    verdict = verdict_of(bug.__name__, key, bug, kind)
    assert verdict.verdict in ("wrong", "fragile"), verdict.why
    assert any(re.search(key, k) for k in verdict.keys), verdict.keys
    assert source in verdict.happened or bug.__name__ in NOT_TOLD, verdict.happened
