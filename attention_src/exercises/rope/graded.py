"""The exercise in which the learner writes a test of a rotation."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.messages import Result
from attention_src.exercises.rope import rotations
from attention_src.exercises.rope.rotations import moved
from attention_src.rope.reference import rotate

ROTATION_TEST = TestCheck(
    "my_rotation_test",
    right=[
        Implementation("half-split pairs", rotate, "it is this chapter's own"),
        Implementation(
            "complex numbers", rotations.complex_numbers, "its pairs are neighbours, for q and k"
        ),
        Implementation(
            "clockwise", moved(lambda m: -m), "it turns the other way, queries and keys alike"
        ),
        Implementation(
            "counting from 1", moved(lambda m: m + 1), "a step more for both changes no distance"
        ),
        Implementation("a quarter as fast", rotations.interpolated, "a slower turn is a turn"),
        Implementation(
            "half of the pairs", rotations.partial, "pairs that never turn keep their scores"
        ),
        Implementation(
            "mixed first", rotations.mixed, "an orthogonal matrix before it keeps dot products"
        ),
        Implementation(
            "a reflection",
            lambda x, positions: rotations.turn(x, rotations.angles(x, positions), "reflection"),
            "two reflections, of q and of k, make one rotation by the difference",
        ),
        Implementation(
            "float32 inside",
            rotations.float32_inside,
            "it keeps seven digits, so allow for a difference of 1e-4",
        ),
    ],
    wrong=[
        Implementation(
            "nothing", lambda x, positions: np.array(x), "it does nothing. Should a step matter?"
        ),
        Implementation(
            "counts tokens",
            lambda x, positions: rotate(x, np.arange(len(x))),
            "it counts the tokens of a call and never looks at positions",
        ),
        Implementation(
            "counts from the first",
            moved(lambda m: m - m[0]),
            "it counts from the first position of each call. Do you move one side alone?",
        ),
        Implementation("sinusoids", rotations.added, "it adds sinusoids"),
        Implementation(
            "longer by a tenth",
            lambda x, positions: 1.1 * rotate(x, positions),
            "it makes every vector longer. Do you look at lengths?",
        ),
        Implementation(
            "longer by a hundredth",
            lambda x, positions: 1.01 * rotate(x, positions),
            "it makes every vector longer, by one per cent. How far off do you allow?",
        ),
        Implementation("grows", rotations.grows, "vectors grow with their position"),
        Implementation(
            "both sines plus",
            lambda x, positions: rotations.turn(x, rotations.angles(x, positions), "plus"),
            "both sines have a plus, so lengths change",
        ),
        Implementation(
            "bfloat16 positions",
            moved(rotations.bfloat16),
            "its positions are rounded to 8 bits: right up to 256. How far do you go?",
        ),
        Implementation(
            "float16 positions",
            moved(lambda m: m.astype(np.float16).astype(np.float64)),
            "its positions are rounded to 11 bits: right up to 2,048. How far do you go?",
        ),
        Implementation(
            "bfloat16 angles",
            lambda x, m: rotations.turn(x, rotations.bfloat16(rotations.angles(x, m))),
            "its angles are rounded to 8 bits",
        ),
        Implementation(
            "begins again",
            moved(lambda m: m % rotations.WRAP),
            "it begins again at position 512. Do you move pairs across such a border?",
        ),
        Implementation(
            "stops",
            moved(lambda m: np.minimum(m, rotations.CLIP)),
            "it treats all positions beyond 4,096 alike",
        ),
        Implementation(
            "table too short",
            rotations.short_table,
            "beyond position 3,000 it leaves vectors alone",
        ),
        Implementation(
            "every second",
            moved(lambda m: m // 2),
            "two neighbours share an angle. Do you move by 1?",
        ),
        Implementation("square root", moved(np.sqrt), "its angle grows with the root of m"),
        Implementation(
            "share of the text",
            moved(lambda m: 100 * m / (1 + m.max())),
            "it divides by the largest position of a call",
        ),
    ],
    hints=[
        "score(m, n) = (rotate(q, m) * rotate(k, n)).sum(axis=1), for many q, k, m and n at once.",
        "Lengths; scores after moving both by 1, by 100, by 5000; scores after moving one by 1.",
        "Draw m and n from 0 to 5000; allow 1e-4; a step of one side should change some score by "
        "more than 0.01.",
    ],
)


def check_rotation_test(test: Any) -> Result:
    """Check test(rotate), which raises AssertionError if rotate is no relative rotation.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return ROTATION_TEST.run(test)
