"""The dated bugs of "It happened" that are about values are recognised by their names."""

import re

import pytest
from dated import DATED
from verdicts import verdict_of

NOT_TOLD = {"asking_changed_them"}  # the book has no box of it


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "kind", "key", "bug"), DATED, ids=[d[3].__name__ for d in DATED]
)
def test_a_dated_bug_is_recognised(source, kind, key, bug):
    verdict = verdict_of(bug.__name__, key, bug, kind)
    assert verdict.verdict in ("wrong", "fragile"), verdict.why
    assert any(re.search(key, k) for k in verdict.keys), verdict.keys
    assert source in verdict.happened or bug.__name__ in NOT_TOLD, verdict.happened
