"""The ladder on what goes over the wire: values beside the right ones do not hold."""

import pytest

from attention_src.exercises.longcontext import check_ring_ladder


@pytest.mark.parametrize(
    "given",
    [dict(a=1), dict(b=2**26), dict(c=0), dict(d=8), dict(e=8000), dict(f=0.47), dict(f=1.0)],
)
def test_other_wrong_values_do_not_hold(given):
    assert "0 of 6 rungs hold" in " ".join(check_ring_ladder(**given).message.split())
