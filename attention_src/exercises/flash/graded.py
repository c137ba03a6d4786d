"""The exercise in which the learner tests a tiled attention."""

from typing import Any

from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.messages import Result
from attention_src.exercises.flash import implementations as some
from attention_src.exercises.flash.implementations import with_bug

TILED_TEST = TestCheck(
    "my_tiled_test",
    right=[
        Implementation("package", some.package, "it is the course's own"),
        Implementation("dense", some.dense, "it takes no tiles, and nobody can tell from outside"),
        Implementation("plain loops", with_bug(), "it is this chapter's, with a mask"),
        Implementation("last key first", some.backwards, "the order of the keys is free"),
        Implementation("halves", some.halves, "it merges two halves by their log-sum-exp, base 2"),
        Implementation(
            "float32",
            some.in_float32,
            "it rounds to float32 and returns that: allow 1e-4 on normal numbers, and 0.02 where q "
            "is 1,000 times larger",
        ),
        Implementation("blocks swapped", some.swapped_blocks, "any tiles give the same output"),
    ],
    wrong=[
        Implementation(
            "l not rescaled", with_bug(keep_l=True), "it does not rescale l when the maximum rises"
        ),
        Implementation(
            "acc not rescaled", with_bug(keep_acc=True), "it does not rescale acc. Several tiles?"
        ),
        Implementation(
            "nothing rescaled", with_bug(keep_l=True, keep_acc=True), "it rescales nothing"
        ),
        Implementation(
            "tiles alone", with_bug(alone=True), "it averages tiles, each with its own softmax"
        ),
        Implementation(
            "last keys lost",
            with_bug(drop_keys=True),
            "it loses the last keys where block_k does not divide n_k",
        ),
        Implementation(
            "last queries lost",
            with_bug(drop_queries=True),
            "it loses the last queries where block_q does not divide n_q",
        ),
        Implementation(
            "zeros as keys",
            with_bug(pad_keys=True),
            "it fills the last block of keys with zeros, whose score is 0 and not −∞",
        ),
        Implementation(
            "keys twice",
            with_bug(shift_keys=True),
            "it moves the last block of keys back until it is full, and counts some keys twice. It "
            "shows where block_k does not divide n_k and is smaller",
        ),
        Implementation(
            "maximum starts at 0",
            with_bug(start=0.0),
            "its maximum starts at 0. Is there a row all of whose scores lie far below?",
        ),
        Implementation(
            "newest maximum",
            with_bug(newest=True),
            "it takes the newest tile's maximum. It overflows where scores fall by a thousand from "
            "tile to tile",
        ),
        Implementation("not scaled", with_bug(scale_by="none"), "its scores are not scaled"),
        Implementation(
            "scaled by d_v", with_bug(scale_by="d_v"), "it divides by the root of d_v, not d_k"
        ),
        Implementation(
            "float16 sums",
            with_bug(half=True),
            "it keeps l and acc in float16: about three digits are right. How close do you look?",
        ),
        Implementation("mask ignored", with_bug(no_mask=True), "it ignores causal"),
        Implementation(
            "diagonal skipped",
            with_bug(no_diagonal=True),
            "it skips the tiles that the diagonal cuts, except for the first keys",
        ),
        Implementation(
            "top-left",
            with_bug(top_left=True),
            "its causal rule counts from the first query. It shows where n_q and n_k differ",
        ),
        Implementation(
            "cut tiles not masked",
            with_bug(equal_tiles=True),
            "it masks a tile only where it begins at the diagonal. Do you try causal with tiles "
            "that are not square?",
        ),
        Implementation(
            "NaN for a blind row",
            with_bug(unguarded=True),
            "a query that sees nothing gets NaN. Causal, with more queries than keys; and is your "
            "comparison false for NaN?",
        ),
        Implementation(
            "changes q", some.scaled_in_place, "it is right once, and leaves q scaled behind"
        ),
    ],
    hints=[
        "Compare with attention(q, k, v, causal=causal). np.allclose is False where there is NaN.",
        "n_q, n_k = (7, 11) and (11, 7), d_k = 4, d_v = 3, tiles (2, 3), (3, 2), (4, 4), (16, 16).",
        "Rows far below 0, and scores that fall: q all 1, k = [[0], [-1000], [-2000], ...].",
    ],
)


def check_tiled_test(test: Any) -> Result:
    """Check test(tiled), which raises AssertionError if a tiled attention is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return TILED_TEST.run(test)
