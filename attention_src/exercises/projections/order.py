"""The check of a learner's own test: does a layer know the order of its tokens?"""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.projections import layers

ORDER_TEST = TestCheck(
    "my_order_test",
    right=[
        Implementation("self-attention", layers.plain, "it has no positions"),
        Implementation("with a residual", layers.with_residual, "each token is added to its own"),
        Implementation(
            "float32",
            layers.in_float32,
            "it computes in float32, and sums in another order round differently: allow for 1e-5",
        ),
        Implementation("two layers", layers.two_layers, "two such layers are one"),
        Implementation(
            "token by token", layers.token_by_token, "what each token does alone needs no order"
        ),
        Implementation(
            "a mean for all", layers.mean_for_all, "shuffled equal rows are equal rows still"
        ),
        Implementation(
            "sorted and back",
            layers.sorted_and_back,
            "it sorts by what the tokens say, not by where they stand, and undoes it",
        ),
    ],
    wrong=[
        Implementation(
            "positions", layers.positions_added, "a vector for each place is added to the tokens"
        ),
        Implementation(
            "early keys first", layers.positions_on_keys, "keys that stand early score higher"
        ),
        Implementation("causal", layers.causal, "no token sees those after it"),
        Implementation("window", layers.window, "each token sees its neighbours only"),
        Implementation(
            "by distance",
            layers.by_distance,
            "far keys score lower. Reversed tokens give reversed outputs there: do you shuffle in "
            "other ways?",
        ),
        Implementation(
            "round a table",
            layers.round_a_table,
            "it adds the left neighbour's output, and the first's left neighbour is the last. "
            "Tokens moved round in a circle give outputs moved round: shuffle otherwise too.",
        ),
        Implementation(
            "blocks of 8",
            layers.blocks_of_8,
            "tokens see their own block of eight only. Is your text longer than that, and are "
            "tokens exchanged between blocks?",
        ),
        Implementation(
            "pairs",
            layers.pairs,
            "tokens 0 and 1 share an output, and 2 and 3. Do you do more than exchange neighbours?",
        ),
        Implementation(
            "reversed outputs",
            layers.outputs_reversed,
            "the outputs come back from the last to the first. Does your shuffle look the same "
            "from both ends?",
        ),
        Implementation(
            "sorted outputs",
            layers.outputs_sorted,
            "the outputs come back in an order of their own. Do you compare them one by one, "
            "output with its token?",
        ),
        Implementation(
            "the first is special",
            layers.first_is_special,
            "the token that stands first keeps its own value. Do you move the first token, and "
            "look at all outputs?",
        ),
        Implementation(
            "the last is hidden",
            layers.last_is_hidden,
            "nobody sees the token that stands last. Do you move the last token?",
        ),
        Implementation(
            "one row", layers.one_row, "one output is that of another. Do you look at all?"
        ),
        Implementation(
            "one number",
            layers.one_feature,
            "the last number of each output grows with the place. Do you look at all numbers?",
        ),
        Implementation(
            "faint",
            layers.faint,
            "its positions are small, and move outputs by little more than 0.001. Is your "
            "tolerance small enough?",
        ),
        Implementation(
            "all up",
            layers.all_up,
            "one number, which depends on who stands where, is added to all outputs. Do you "
            "look at differences of both signs?",
        ),
        Implementation(
            "all down",
            layers.all_down,
            "one number, which depends on who stands where, is taken from all outputs. Do you "
            "look at differences of both signs?",
        ),
        Implementation(
            "beyond 32",
            layers.beyond_32,
            "tokens beyond the 32nd are not seen. How long is your text?",
        ),
    ],
    hints=[
        "Shuffle the tokens, call it, and shuffle the first outputs in the same way. Compare.",
        "order = rng.permutation(40), and x[order] are the shuffled tokens.",
        "assert np.allclose(layer(x[order]), layer(x)[order], atol=1e-5)",
    ],
)


def check_order_test(test: Any) -> Result:
    """Check test(layer), which raises AssertionError if layer(x) knows the order of its tokens.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return ORDER_TEST.run(test)
