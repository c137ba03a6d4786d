"""Hints grow with each failure, so each test begins as a first try."""

import pytest
from worked import every_check


@pytest.fixture(autouse=True)
def first_try():
    for check in every_check():
        check.failures = 0
