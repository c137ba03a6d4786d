"""What "slower" says and draws: seconds on lines between those recorded, and their sum."""

import numpy as np
import pytest
from drawn import box, figures, points

from attention_src.explorables.slower import LENGTHS, recorded, seconds

TOKENS = [4, 5, 64, 65, 300, 560, 1023, 1024]


@pytest.fixture(scope="module")
def every():
    return figures("slower", [{"n": n} for n in TOKENS])


def test_seconds_are_those_recorded(every):
    took = seconds(recorded()[0])  # after 4, 5, ... tokens
    assert len(took) == 1021 and took[0] == recorded()[0][0]
    for n, one in zip(TOKENS, every, strict=True):
        i = n - LENGTHS[0]
        np.testing.assert_allclose(one.now["next"], took[i], rtol=1e-12)
        np.testing.assert_allclose(one.now["total"], took[:i].sum(), rtol=1e-12)


def test_what_is_drawn(every):
    """The curve ends above the marker, as high as its seconds, and the text is as long."""
    for n, one in zip(TOKENS, every, strict=True):
        for seen in one.seen:
            low, high = (points(seen[f"grid{s}"])[0, 1] for s in (0, 1))
            x, y = points(seen["curve"])[-1]
            assert y == pytest.approx(low + (high - low) * one.now["next"], abs=0.02)
            assert float(seen["marker"]["cx"]) == pytest.approx(x, abs=0.02)
            left, _, long, _ = box(seen["text"])
            assert left + long == pytest.approx(x, abs=0.02)
            _, _, whole, _ = box(seen["ribbon"])
            assert long == pytest.approx(whole * (n - 4) / 1020, abs=0.02)


def test_the_text_is_the_end_of_what_is_written(every):
    words = recorded()[1]
    assert len(words) == LENGTHS[-1] and not any("|" in word for word in words)
    for n, one in zip(TOKENS, every, strict=True):
        for seen in one.seen:
            shown = seen["words"]["words"].removeprefix("…")
            assert shown and "".join(words[:n]).endswith(shown)


def test_what_is_said(every):
    took = recorded()[0]
    each = seconds(took)
    assert every[0].said == f"After 4 tokens the next takes {took[0]:.2f} s."
    total = each[:60].sum()
    assert every[2].said == (
        f"After 64 tokens the next takes {took[3]:.2f} s; all but the 4 given took {total:.1f} s."
    )
    minutes = each[:-1].sum() / 60
    assert every[-1].said == (
        f"After 1,024 tokens the next takes {took[-1]:.2f} s; all but the 4 given took "
        f"{minutes:.1f} minutes."
    )
    clock = f"{int(minutes)}:{int(60 * minutes) % 60:02}"
    assert every[-1].seen[0]["watch"]["words"] == clock
