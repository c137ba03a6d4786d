"""Forms that a learner's test meets are as right and wrong as the exercise says."""

from answers.linear import SIZES, draw, wanted

from attention_src.exercises.linear import check_chunk_test


def off(form):
    """The largest difference from the masked table, and the largest change of an input."""
    differences, changes = [], []
    for n, C in SIZES:
        given, before = draw(n, seed=n), draw(n, seed=n)
        differences.append(abs(form(*given, C) - wanted(*before)).max())
        changes += [abs(x - y).max() for x, y in zip(given, before, strict=True)]
    return max(differences), max(changes)


def test_forms_are_as_right_and_as_wrong_as_the_exercise_says():
    for one in check_chunk_test.right:
        difference, change = off(one.function)
        assert difference < 5e-5 and change == 0, one.name
    for one in check_chunk_test.wrong:
        assert max(off(one.function)) > 1e-2, one.name
