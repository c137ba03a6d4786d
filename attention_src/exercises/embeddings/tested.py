"""The check of a learner's own test of cosines."""

from typing import Any

from attention_src.exercises.embeddings import implementations as tried
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck

COSINE_TEST = TestCheck(
    "my_cosine_test",
    right=[
        Implementation("unit rows", tried.unit_rows, "it divides each row by its norm"),
        Implementation("divided after", tried.divided_after, "it divides the dot products"),
        Implementation("loops", tried.by_loops, "it takes one pair after another"),
        Implementation(
            "by distance",
            tried.by_distance,
            "unit vectors have the squared distance 2 - 2 cos, so it rounds a little differently",
        ),
        Implementation(
            "float32", tried.in_float32, "it computes in float32, so allow for an error of 1e-5"
        ),
        Implementation(
            "float32, clipped",
            tried.summed_in_float32,
            "it computes in float32 and clips to the range from -1 to 1, so allow for 1e-5",
        ),
    ],
    wrong=[
        Implementation("dot products", tried.dots, "it forgets the norms"),
        Implementation("root of 2", tried.root_two, "a vector has the cosine 0.5 with itself"),
        Implementation(
            "norms of x alone", tried.x_alone, "it forgets the norms of y. Are yours all 1?"
        ),
        Implementation(
            "norms of y alone", tried.y_alone, "it forgets the norms of x. Are yours all 1?"
        ),
        Implementation("squared norms", tried.squared_norms, "the root is missing"),
        Implementation(
            "one norm",
            tried.one_norm,
            "it divides all rows by one norm. Do your rows differ in length?",
        ),
        Implementation("absolute", tried.absolute, "it loses the sign"),
        Implementation(
            "clipped", tried.clipped, "negative cosines become 0. Are any of yours negative?"
        ),
        Implementation(
            "epsilon",
            tried.large_epsilon,
            "it adds 0.01 to each norm. Do you try short vectors?",
        ),
        Implementation(
            "centred",
            tried.centred,
            "it subtracts each row's mean, which makes a correlation of it",
        ),
        Implementation(
            "angle",
            tried.angle,
            "it is linear in the angle, and right at 1, 0 and -1. Do you try an angle between?",
        ),
        Implementation(
            "transposed",
            tried.transposed,
            "rows and columns have changed places. Do x and y differ, in number too?",
        ),
        Implementation(
            "in place",
            tried.in_place,
            "its answer is right, but your x and y are not what they were. Do you look?",
        ),
        Implementation(
            "the first 32",
            tried.first_32,
            "it reads the first 32 numbers of each vector. How long are yours?",
        ),
    ],
    hints=[
        "Compute the cosine of each pair in a plain loop, and compare.",
        "Take rows of unequal length, n, m and d all different, once with d = 40; keep copies.",
        "assert abs(answer[i, j] - x[i] @ y[j] / np.sqrt(x[i] @ x[i] * (y[j] @ y[j]))) < 1e-5",
    ],
)


def check_cosine_test(test: Any) -> Result:
    """Check test(cosines), which raises AssertionError if cosines(x, y) is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return COSINE_TEST.run(test)
