"""The open exercise's solution."""

from worked import run_exercise

from attention_src.attention import reference


def test_the_open_exercise_s_solution_runs():
    names = run_exercise("equation", "ex:equation-half", attention=reference.attention)
    parts = names["my_two_parts"](n=6, d=8, n_heads=2)
    assert parts["attention"]().shape == (2, 6, 4)
    assert [x.shape for x in parts["rest"]()] == [(4, 6, 8), (6, 8)]
