"""The checks of the chapter on scores."""

from attention_src.exercises.scores.additive import check_additive_scores
from attention_src.exercises.scores.bump import check_bump
from attention_src.exercises.scores.dot import check_dot_scores
from attention_src.exercises.scores.graded import check_score_test
from attention_src.exercises.scores.ladder import check_lengths

__all__ = [
    "check_additive_scores",
    "check_bump",
    "check_dot_scores",
    "check_lengths",
    "check_score_test",
]
