"""The exercises of the chapter on masking with numbers or a design for an answer."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.masking import check_few_keys, check_odds

# --- the ladder --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rung", "answer", "words"),
    [
        ("a", [0.1, 0.2, 0.3], "no longer sum to 1"),
        ("a", [0.7 / 3, 1 / 3, 1.3 / 3], "shared the lost weight out equally"),
        ("a", 0.5, "Expected shape (3,)"),
        ("b", 3, "This is the old output"),
        ("b", 1.4, "must be divided too"),
        ("b", 2, "plain mean"),
        ("c", 1 / 0.99, "divides by the hidden share"),
        ("c", -100, "Yours: -100"),
        ("d", 18, "rounds before that"),
        ("d", 38, "float64's"),
        ("e", 17, "still there"),
        ("e", 88, "loses digits"),
        ("e", 746, "float64's"),
        ("e", 103, "one of the two is 0"),
        ("e", 105, "Yours: 105"),
    ],
)
def test_a_wrong_rung_gets_its_reply(rung, answer, words):
    assert_rejected(lambda value: check_odds(**{rung: value}), answer, words)


# --- few keys ----------------------------------------------------------------------------------


def rows(text):
    keys = [[int(key, 16) for key in row] for row in text.split("|")]
    return np.array([[j in seen for j in range(len(keys))] for seen in keys])


FIVE = "0|01|012|0123|234|02345|13456|34567|01578|26789|6789A|789AB|126BC|45BCD|03ADE|BCDEF"
TRI = np.tri(16, dtype=bool)
TOKEN = np.arange(16)
BLOCKS = TRI & ((TOKEN[:, None] // 4 == TOKEN // 4) | (TOKEN % 4 == 3))
STEPS = TRI & ((TOKEN[:, None] - TOKEN < 4) | ((TOKEN[:, None] - TOKEN) % 4 == 0))

RIGHT_MASKS = {
    "five keys": (rows(FIVE), "5 keys a query. These are the fewest"),
    "blocks of four": (BLOCKS, "7 keys a query. 5 are possible"),
    "four back, and every fourth": (STEPS, "7 keys"),
    "a list": (rows(FIVE).tolist(), "5 keys"),
    "blocks that shrink": (None, "6 keys"),
    "found by search": (None, "5 keys"),
}


@pytest.mark.parametrize("name", RIGHT_MASKS)
def test_masks_that_serve_pass(name):
    mask, words = RIGHT_MASKS[name]
    solution = run_exercise("masking", "ex:masking-reach")
    solved = {"blocks that shrink": "my_few_keys", "found by search": "my_few_keys_by_search"}
    result = check_few_keys(solution[solved[name]] if mask is None else lambda: mask)
    assert result.status == "passed"
    assert words in " ".join(result.message.split())


WRONG_MASKS = {
    "all of the past": (TRI, "query 15 sees 16 keys; 7 are allowed"),
    "everything": (TRI | True, "key 1, which lies ahead"),
    "transposed": (rows(FIVE).T, "lies ahead"),
    "itself alone": (TRI & ~np.tri(16, k=-1, dtype=bool), "token 1 to token 0: query 1 sees 1,"),
    "nothing": (TRI & False, "Query 0 sees no key at all"),
    "a window": (TRI & ~np.tri(16, k=-7, dtype=bool), "token 13 to token 0"),
    "one's own key left out": (BLOCKS & np.tri(16, k=-1, dtype=bool), "Query 0 sees no key at all"),
    "one link lost": (rows(FIVE.replace("|BCDEF", "|CDEF")), "do not connect token 15"),
    "nine keys": (BLOCKS | (TRI & (TOKEN == 0)) | (TRI & (TOKEN == 1)), "sees 9 keys"),
    "numbers": (rows(FIVE) * 1, "expected dtype bool"),
    "15 tokens": (rows(FIVE)[:15, :15], "shape (15, 15)"),
    "a table of text": (FIVE.split("|"), "it returned"),
    "a number": (5, "shape ()"),
    "two masks": (np.stack([rows(FIVE)] * 2), "shape (2, 16, 16)"),
}


@pytest.mark.parametrize("name", WRONG_MASKS)
def test_masks_that_do_not_serve_fail(name):
    mask, words = WRONG_MASKS[name]
    assert_rejected(lambda answer: check_few_keys(lambda: answer), mask, words)


def test_a_mask_that_is_not_there():
    assert check_few_keys(lambda: None).status == "not started"
    assert check_few_keys(lambda: 1 / 0).status == "wrong"
    with pytest.raises(ValueError, match="f is ndarray, it should be a function"):
        check_few_keys(TRI)
