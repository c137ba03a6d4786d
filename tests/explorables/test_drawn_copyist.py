"""What "copyist" says and draws: letters and shares are the recorded ones, wrong letters struck."""

import pytest
from drawn import box, figures, numbers, shade

from attention_src.models.copyist import LENGTHS, recorded, words

WORDS = words(attends=False)
SHARES = [run["whole"] for run in recorded(task="copy", attends=False, steps=700)]
COUNTS = ("none of the three", "one of the three", "two of the three", "all three")


@pytest.fixture(scope="module")
def every():
    return figures("copyist", [{"length": n} for n in LENGTHS])


def test_letters_and_slips_are_the_recorded_ones(every):
    for (word, found), one in zip(WORDS.items(), every, strict=True):
        for seen in one.seen:
            assert row(seen, "read", word) == word
            for i, text in enumerate(found["written"]):
                assert row(seen, f"row{i}", word) == text
                slips = [j for j, (a, b) in enumerate(zip(text, word, strict=True)) if a != b]
                assert [j for j in range(12) if f"row{i}-struck{j}" in seen] == slips


def test_the_strip_holds_as_many_numbers_for_each_word(every):
    for found, one in zip(WORDS.values(), every, strict=True):
        for seen in one.seen:
            cells = [shade(seen[f"cell{c}"]) for c in range(52)]
            assert cells == pytest.approx([0.15 + 0.85 * abs(x) for x in found["state"]], abs=0.01)
            assert "cell52" not in seen


def test_dots_stand_at_the_shares(every):
    for one in every:
        for seen in one.seen:
            (top,), (low,) = (numbers(seen[f"share{share}"], "y") - 4 for share in (100, 0))
            for i, shares in enumerate(SHARES):
                at = [numbers(seen[f"dot{i}-{n - 2}"], "cy")[0] for n in LENGTHS]
                right = [low + (top - low) * share / 100 for share in shares]
                assert at == pytest.approx(right, abs=0.05)
            now = box(seen["now"])
            middle = numbers(seen[f"length{one.now['length']}"], "x")[0]
            assert now[0] + now[2] / 2 == pytest.approx(middle, abs=0.05)


def test_what_is_said(every):
    assert every[5].said == (
        "“network”: one of the three came back right. "
        "Of 500 new strings of 7 letters they copied 20, 24 and 25 %."
    )
    for (word, found), one in zip(WORDS.items(), every, strict=True):
        count = COUNTS[found["written"].count(word)]
        assert one.said.startswith(f"“{word}”: {count} came back right.")
        assert one.said.endswith(f"they copied {copied([s[len(word) - 2] for s in SHARES])}.")
    assert every[0].said.startswith("“go”: all three came back right.")
    assert every[8].said.endswith("of 10 letters they copied less than 1 %.")
    assert every[9].said.endswith("of 11 letters they copied none.")


def copied(shares):
    if max(shares) < 0.5:
        return "less than 1 %" if max(shares) else "none"
    a, b, c = (f"{share:.0f}" for share in shares)
    return f"{a}, {b} and {c} %"


def row(seen, key, word):
    return "".join(seen[f"{key}-letter{j}"]["words"] for j in range(len(word)))
