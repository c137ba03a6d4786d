"""The check of a learner's own test: does it tell attentions that leak from those that do not?"""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.masking import attentions

LEAK_TEST = TestCheck(
    "my_leak_test",
    right=[
        Implementation("table", attentions.by_table, "it hides the future before the softmax"),
        Implementation(
            "another order",
            attentions.from_the_last_key,
            "it adds up the keys from the last to the first, so it rounds differently",
        ),
        Implementation("einsum", attentions.by_einsum, "an additive mask of 0 and -inf hides too"),
        Implementation("query by query", attentions.by_query, "each query meets its past only"),
        Implementation("tiles", attentions.in_tiles, "a running softmax over tiles is exact"),
        Implementation(
            "float32",
            attentions.in_float32,
            "it computes in float32, so its seventh digit is its last: allow for 1e-5",
        ),
        Implementation(
            "centred and back",
            attentions.centred_and_back,
            "it takes the mean of all values away and adds it again, in float32: later tokens "
            "move its last digits and nothing else, so allow for 1e-5",
        ),
    ],
    wrong=[
        Implementation("no mask", attentions.no_mask, "every query sees every key"),
        Implementation(
            "reversed polarity",
            attentions.reversed_polarity,
            "it shows the future and hides the past",
        ),
        Implementation("transposed", attentions.transposed, "each query sees what follows it"),
        Implementation(
            "one key too many",
            attentions.one_key_too_many,
            "each query sees one token too many, its next. Do you change that one, and look at "
            "every output before it?",
        ),
        Implementation(
            "zeroed after softmax",
            attentions.zeroed_after_softmax,
            "a hidden token reaches it through the sum in the softmax, that is through its key. "
            "Do you change later keys, or only values?",
        ),
        Implementation(
            "-5 for -inf",
            attentions.minus_five,
            "it hides the future badly, so that a hidden key keeps about 1/150 of its weight. Is "
            "your tolerance small enough?",
        ),
        Implementation(
            "centred values",
            attentions.centred_values,
            "it subtracts the mean of all values, later ones included. Do you change later values?",
        ),
        Implementation(
            "centred queries",
            attentions.centred_queries,
            "it subtracts the mean of all queries, later ones included. A token is its query, key "
            "and value: do you change all three?",
        ),
        Implementation(
            "scaled keys",
            attentions.scaled_keys,
            "it divides by the mean size of all keys, later ones included. Do you change later "
            "keys, and their size?",
        ),
        Implementation(
            "up to the block's end",
            attentions.up_to_the_block_s_end,
            "it leaks within blocks of four tokens, so some outputs are right. Do you look at "
            "every output, after every prefix?",
        ),
        Implementation(
            "early rows",
            attentions.early_rows,
            "the first seven outputs see one token too many, all others are right. Do you try "
            "short prefixes as well as long ones?",
        ),
        Implementation(
            "faint",
            attentions.faint,
            "it adds a little of the mean of all values, so its outputs move by a few "
            "thousandths. Is your tolerance small enough?",
        ),
        Implementation(
            "last but one",
            attentions.last_but_one,
            "one output leaks, the last but one. Do you look at every output?",
        ),
        Implementation(
            "round the corner",
            attentions.round_the_corner,
            "output 0 depends on the last value, as v[-1] comes before v[0] in Python. Do you "
            "look at the first output, and change the last token?",
        ),
        Implementation(
            "far ahead",
            attentions.far_ahead,
            "the next eight tokens are hidden well, those behind them are not. Do you change "
            "tokens that lie far ahead?",
        ),
        Implementation(
            "beyond 32",
            attentions.blind_beyond_32,
            "it is right for the first 32 tokens. How long is your text?",
        ),
        Implementation(
            "scaled by length",
            attentions.scaled_by_length,
            "how sharply a query looks depends on how many tokens the text has, later ones "
            "included. Changing them leaves their number alone: do you cut them off?",
        ),
    ],
    hints=[
        "Call it, cut all tokens after i off, and call it again. Which outputs may not have moved?",
        "Take 40 tokens, each i from 0 to 38, and pass q[: i + 1], k[: i + 1] and v[: i + 1].",
        "assert np.allclose(whole[: i + 1], cut, atol=1e-5)",
    ],
)


def check_leak_test(test: Any) -> Result:
    """Check test(attention), which raises AssertionError if attention(q, k, v) sees the future.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return LEAK_TEST.run(test)
