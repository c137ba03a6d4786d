"""The check of a learner's own test: does it tell right attentions from wrong ones?"""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.equation import attentions

ATTENTION_TEST = TestCheck(
    "my_attention_test",
    right=[
        Implementation("the line", attentions.by_line, "it is the line of the chapter"),
        Implementation("einsum", attentions.by_einsum, "it scales the queries instead of scores"),
        Implementation("query by query", attentions.by_query, "queries do not need each other"),
        Implementation(
            "powers of 2",
            attentions.divided_at_the_end,
            "it takes powers of 2 of scores divided by ln 2, and divides at the end",
        ),
        Implementation("tiles", attentions.in_tiles, "a running softmax is exact"),
        Implementation(
            "float32",
            attentions.in_float32,
            "it computes in float32: allow for 1e-5, and for 0.01 where scores are in the "
            "thousands",
        ),
    ],
    wrong=[
        Implementation(
            "over queries", attentions.over_queries, "its columns of weights sum to 1, not its rows"
        ),
        Implementation(
            "one softmax for the table", attentions.over_the_table, "all queries share one sum"
        ),
        Implementation("not scaled", attentions.not_scaled, "its scores are plain dot products"),
        Implementation(
            "scaled twice", attentions.scaled_twice, "it divides by the root of d_k two times"
        ),
        Implementation(
            "always by 8",
            attentions.scaled_by_64,
            "it divides by 8, whatever d_k is. Do you try a d_k other than 64?",
        ),
        Implementation(
            "by the values' width",
            attentions.scaled_by_d_v,
            "it divides by the root of d_v. Do d_k and d_v differ in your test?",
        ),
        Implementation("causal", attentions.always_causal, "it hides later keys, unasked"),
        Implementation("hardmax", attentions.hardest, "its best key takes all"),
        Implementation(
            "roles swapped",
            attentions.roles_swapped,
            "where q and k have one shape, keys ask and queries answer. Is n_q = n_k in one of "
            "your cases?",
        ),
        Implementation(
            "weights transposed",
            attentions.weights_transposed,
            "where the table of weights is square, it is transposed. Is n_q = n_k in one of your "
            "cases?",
        ),
        Implementation("last key lost", attentions.last_key_lost, "it never looks at the last key"),
        Implementation(
            "first 16 keys",
            attentions.first_keys,
            "it is blind beyond the 16th key. How many keys have you?",
        ),
        Implementation(
            "no maximum",
            attentions.no_maximum,
            "large scores overflow. Do you try scores in the thousands?",
        ),
        Implementation(
            "one maximum",
            attentions.one_maximum,
            "it subtracts one maximum from all rows, so that a row of much lower scores underflows "
            "to 0 / 0. Do your rows lie far apart?",
        ),
        Implementation(
            "small weights dropped",
            attentions.rounded_weights,
            "it drops weights below 0.01. Are there enough keys for weights to be small, and is "
            "your tolerance small enough?",
        ),
        Implementation(
            "k.T",
            attentions.keys_by_t,
            "k.T turns all axes. With two axes that is right; with more it shows where all are "
            "equally long. Do you try 4 texts of 4 tokens of width 4?",
        ),
        Implementation(
            "first text",
            attentions.first_text_only,
            "in a batch, all texts look into the first one. Do you try a batch?",
        ),
        Implementation(
            "queries changed",
            attentions.scaled_in_place,
            "it divides the caller's queries in place. Do you look at q after the call?",
        ),
    ],
    hints=[
        "Write attention once more, slowly, with loops, and compare. A slow oracle is a good one.",
        "Shapes: n_q = n_k and not, d_k and d_v that differ, 20 keys, and (4, 4, 4) for all three.",
        "Sizes: numbers from a normal distribution, and queries 1,000 times larger.",
    ],
)


def check_attention_test(test: Any) -> Result:
    """Check test(attention), which raises AssertionError if attention(q, k, v) is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return ATTENTION_TEST.run(test)
