"""The check of a learner's test of softmax kernels."""

from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.gpu import softmaxes

KERNEL_TEST = TestCheck(
    "my_kernel_test",
    right=[
        Implementation("row by row", softmaxes.by_rows, "one program for each row"),
        Implementation(
            "float32",
            softmaxes.in_float32,
            "it computes in float32, so its seventh digit is its last: allow for 1e-5",
        ),
        Implementation("in blocks", softmaxes.in_blocks, "a running maximum and sum are exact"),
        Implementation(
            "base 2",
            softmaxes.in_base_2,
            "powers of 2 do as well, and a GPU has them",
        ),
        Implementation("backwards", softmaxes.backwards, "it adds up from the right"),
        Implementation("by columns", softmaxes.by_columns, "its result lies column by column"),
    ],
    wrong=[
        Implementation(
            "last block lost",
            softmaxes.last_block_lost,
            "it handles full blocks of four columns only. Is your n no multiple of four?",
        ),
        Implementation(
            "last row lost",
            softmaxes.last_rows_lost,
            "its programs take two rows each. Do you try an odd number of rows?",
        ),
        Implementation(
            "unmasked load",
            softmaxes.unmasked,
            "it reads into the next row where n is no power of two",
        ),
        Implementation(
            "padded by zero",
            softmaxes.padded_by_zero,
            "it loads places behind the row as 0, which get weight",
        ),
        Implementation(
            "as it lies",
            softmaxes.as_it_lies,
            "it does not look at strides. Do you pass a transposed table?",
        ),
        Implementation(
            "no maximum", softmaxes.unshifted, "exp overflows. Do you try scores of some hundreds?"
        ),
        Implementation(
            "one maximum",
            softmaxes.one_maximum,
            "its rows share one maximum. Is one of your rows far below its neighbours?",
        ),
        Implementation("one sum", softmaxes.one_sum, "its rows share one sum"),
        Implementation(
            "NaN if hidden",
            softmaxes.nan_if_hidden,
            "a row of -inf becomes NaN. Do you have such a row, and does NaN fail your comparison?",
        ),
        Implementation(
            "mean if hidden",
            softmaxes.uniform_if_hidden,
            "a row of -inf gets even weights instead of 0",
        ),
        Implementation(
            "float16", softmaxes.in_float16, "it sums in 16 bits. Is your tolerance small enough?"
        ),
        Implementation(
            "in place", softmaxes.in_place, "it overwrites the scores, which the caller still needs"
        ),
        Implementation("no sum", softmaxes.never_divided, "its rows do not sum to 1"),
        Implementation(
            "not rescaled",
            softmaxes.not_rescaled,
            "its running sum is wrong when the maximum grows after column 16. Are your rows long?",
        ),
    ],
    hints=[
        "Try several shapes: (1, 1), (3, 7), (13, 37). Which are no multiples of anything?",
        "Four tables of each shape: plain, transposed, one row 200 lower than the next, -inf.",
        "Compare with reference.softmax by np.allclose(..., rtol=0, atol=1e-5), and the input "
        "with a copy that you made before.",
    ],
)


def check_kernel_test(test: Any) -> Result:
    """Check test(softmax), which should raise AssertionError for a wrong softmax.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return KERNEL_TEST.run(test)
