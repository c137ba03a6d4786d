"""The checks of the chapter on scaling."""

from attention_src.exercises.scaling.graded import check_scale_test
from attention_src.exercises.scaling.normed import check_qk_norm_scores
from attention_src.exercises.scaling.spread import check_row_spread
from attention_src.exercises.scaling.variance import check_variance

__all__ = ["check_qk_norm_scores", "check_row_spread", "check_scale_test", "check_variance"]
